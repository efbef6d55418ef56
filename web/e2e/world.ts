// The world of the tests: the simulated cluster and the server over it, each a process of its own, and what they said
// when they started. The server can be killed and started again, on the same address and the same data.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface World {
  url: string;
  link: string;
  folder: string;
  /** Ends the server as a power cut would. */
  kill: () => Promise<void>;
  /** Starts it again where it was. */
  again: () => Promise<void>;
  stop: () => Promise<void>;
}

/** What a test needs to be otherwise in the configuration: sections, and keys of them. */
export type Settings = Record<string, Record<string, unknown>>;

/** The models, by their scripts; each has a kind of alert that plays it. */
const SCRIPTS = ['restart', 'stream', 'file', 'forged'] as const;
export type Script = (typeof SCRIPTS)[number];

/** Starts a program and waits for the JSON document with which it says that it is ready. */
async function started(program: string, args: string[], env: Record<string, string>): Promise<{ child: ChildProcess; said: Record<string, unknown> }> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stderr.on('data', (chunk: Buffer) => {
    err = (err + chunk.toString()).slice(-4000);
  });
  const said = await new Promise<Record<string, unknown>>((resolve, reject) => {
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`\`${program} ${args.join(' ')}\` did not get ready within 60 s:\n${err}`));
    }, 60_000);
    child.on('exit', (code) => {
      clearTimeout(late);
      reject(new Error(`\`${program} ${args.join(' ')}\` ended with ${code}:\n${err}`));
    });
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      try {
        const document = JSON.parse(out) as Record<string, unknown>;
        clearTimeout(late);
        resolve(document);
      } catch {
        // Not all of it is there yet.
      }
    });
  });
  return { child, said };
}

async function stopped(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => { resolve(); }));
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(late);
}

/** `export NAME='value'` lines, as the lab writes them. */
function exported(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^export (\w+)='(.*)'$/gm)].map(([, name = '', value = '']) => [name, value]));
}

/** The lab's configuration with scripted models, one for each kind of alert that the tests submit. */
function configure(folder: string, labFolder: string, scripts: string, settings: Settings): string {
  const lab = JSON.parse(readFileSync(join(labFolder, 'interlock.yaml'), 'utf8').replace(/^#.*$/gm, '')) as Settings;
  const config: Settings = {
    ...lab,
    models: Object.fromEntries(SCRIPTS.map((name) => [name, { provider: 'scripted', script: join(scripts, `${name}.yaml`) }])),
    defaults: { model: 'stream' },
    agents: Object.fromEntries(SCRIPTS.map((name) => [`e2e-${name}`, { description: `Plays ${name}.`, model: name }])),
    chains: Object.fromEntries(
      SCRIPTS.map((name) => [
        `e2e-${name}`,
        { description: `Plays ${name}.`, alert_types: [`e2e-${name}`], stages: [{ name: 'investigate', agents: [`e2e-${name}`] }] },
      ]),
    ),
  };
  for (const [section, keys] of Object.entries(settings)) config[section] = { ...config[section], ...keys };
  const file = join(folder, 'interlock.yaml');
  writeFileSync(file, JSON.stringify(config, null, 2), { mode: 0o600 });
  return file;
}

/** The cluster, then the server over it. */
export async function begin(bin: string, folder: string, scripts: string, settings: Settings = {}): Promise<World> {
  mkdirSync(folder, { recursive: true });
  const home = { XDG_DATA_HOME: join(folder, 'data'), XDG_CONFIG_HOME: join(folder, 'config') };
  const lab = await started(bin, ['--json', 'lab', 'serve', '--speed', '20'], home);
  try {
    const labFolder = String(lab.said.folder);
    const config = configure(folder, labFolder, scripts, settings);
    const credentials = exported(readFileSync(join(labFolder, 'credentials.sh'), 'utf8'));
    const serve = (listen: string) =>
      started(
        bin,
        ['--json', '--config', config, '--store', `sqlite:${join(folder, 'interlock.db')}`, 'serve', '--listen', listen],
        { ...home, ...credentials },
      );
    let server = await serve('127.0.0.1:0');
    const url = String(server.said.url).replace(/\/$/, '');
    return {
      url,
      link: String(server.said.sign_in_link),
      folder,
      kill: () => stopped(server.child, 'SIGKILL'),
      again: async () => {
        server = await serve(new URL(url).host);
      },
      stop: async () => {
        await stopped(server.child);
        await stopped(lab.child);
      },
    };
  } catch (error) {
    await stopped(lab.child);
    throw error;
  }
}

// Starts the world once for all tests, signs the admin in, and makes the other people. Everything lives in a temporary
// folder that is removed afterwards.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { request } from '@playwright/test';

import { begin } from './world';

async function answer<T>(what: string, response: { ok: () => boolean; status: () => number; text: () => Promise<string> }): Promise<T> {
  const text = await response.text();
  if (!response.ok()) throw new Error(`${what}: ${response.status()} ${text}`);
  return JSON.parse(text) as T;
}

/** What stands behind `#link=`. */
function secret(link: string): string {
  return link.slice(link.indexOf('#link=') + '#link='.length);
}

export default async function setup(): Promise<() => Promise<void>> {
  const bin = resolve(process.env.INTERLOCK_BIN ?? '../target/debug/interlock');
  const folder = mkdtempSync(join(tmpdir(), 'interlock-e2e-'));
  const world = await begin(bin, folder, resolve('e2e/scripts'));
  try {
    const state = (name: string) => join(folder, `${name}.json`);
    const headers = { origin: world.url };
    const admin = await request.newContext({ baseURL: world.url, extraHTTPHeaders: headers });
    const me = await answer<{ csrf: string }>('signing in', await admin.post('/api/v1/auth/link', { data: { link: secret(world.link) } }));
    await admin.storageState({ path: state('admin') });
    const csrf = { 'x-csrf-token': me.csrf };
    const token = await answer<{ secret: string }>(
      'making a token',
      await admin.post('/api/v1/me/tokens', { headers: csrf, data: { name: 'e2e', scopes: ['read', 'operate', 'approve', 'admin'], days: 1 } }),
    );
    for (const [id, role] of [['mara', 'approver'], ['tom', 'viewer']] as const) {
      const made = await answer<{ link: string }>('making a user', await admin.post('/api/v1/users', { headers: csrf, data: { id, role } }));
      const theirs = await request.newContext({ baseURL: world.url, extraHTTPHeaders: headers });
      await answer('signing in', await theirs.post('/api/v1/auth/link', { data: { link: secret(made.link) } }));
      await theirs.storageState({ path: state(id) });
      await theirs.dispose();
    }
    await admin.dispose();
    writeFileSync(join(folder, 'token'), token.secret, { mode: 0o600 });
  } catch (error) {
    await world.stop();
    throw error;
  }
  process.env.E2E_URL = world.url;
  process.env.E2E_FOLDER = folder;
  return async () => {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}

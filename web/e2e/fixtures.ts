// What every test has: a page that is signed in, a second person with a browser of their own, and the API for what a
// test needs but is not about. Each worker has a world of its own, so that tests never meet each other's sessions.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { type Browser, type BrowserContext, type BrowserContextOptions, expect, type Page, test as base } from '@playwright/test';

import { Api, program } from './api';
import { type Person, settle, stateOf } from './people';
import { begin, type Settings, type World } from './world';

export { expect };

/** A browser of its own for somebody who is signed in. */
export async function browserOf(browser: Browser, world: World, person: Person, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({ baseURL: world.url, storageState: stateOf(world, person), ...options });
}

/** The card of an approval. */
export function card(page: Page, id: string) {
  return page.locator(`#approval-${id}`);
}

export type Settled = World & { token: string };

interface Shared {
  /** What the server's configuration has that is not as usual; a file that sets it gets a server of its own. */
  settings: Settings;
  world: Settled;
}

export const test = base.extend<{ api: Api; mara: Page }, Shared>({
  settings: [{}, { option: true, scope: 'worker' }],
  world: [
    async ({ settings }, give) => {
      const bin = resolve(process.env.INTERLOCK_BIN ?? '../target/debug/interlock');
      const folder = mkdtempSync(join(tmpdir(), 'interlock-e2e-'));
      const world = await begin(bin, folder, resolve('e2e/scripts'), settings);
      try {
        await give({ ...world, token: await settle(world) });
      } finally {
        await world.stop();
        rmSync(folder, { recursive: true, force: true });
      }
    },
    { scope: 'worker', timeout: 180_000 },
  ],
  baseURL: async ({ world }, give) => {
    await give(world.url);
  },
  storageState: async ({ world }, give) => {
    await give(stateOf(world, 'admin'));
  },
  api: async ({ playwright, world }, give) => {
    const request = await playwright.request.newContext({ ...program(world.token), baseURL: world.url });
    const api = new Api(request);
    await give(api);
    await api.clear();
    await request.dispose();
  },
  mara: async ({ browser, world }, give) => {
    const context = await browserOf(browser, world, 'mara');
    await give(await context.newPage());
    await context.close();
  },
});

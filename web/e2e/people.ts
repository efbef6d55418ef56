// Who there is: the admin, who came in by the link of the first start, two others, and a program with a token. What each
// needs to be let in lies in the folder of the world.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { request } from '@playwright/test';

import type { World } from './world';

export type Person = 'admin' | 'mara' | 'tom';

const OTHERS = [['mara', 'approver'], ['tom', 'viewer']] as const;

async function answer<T>(what: string, response: { ok: () => boolean; status: () => number; text: () => Promise<string> }): Promise<T> {
  const text = await response.text();
  if (!response.ok()) throw new Error(`${what}: ${response.status()} ${text}`);
  return JSON.parse(text) as T;
}

/** What stands behind `#link=`. */
function secret(link: string): string {
  return link.slice(link.indexOf('#link=') + '#link='.length);
}

/** Where the cookies of somebody are kept. */
export function stateOf(world: World, person: Person): string {
  return join(world.folder, `${person}.json`);
}

/** Signs everybody in, each in a browser of their own. The answer is the token of the program. */
export async function settle(world: World): Promise<string> {
  const headers = { origin: world.url };
  const admin = await request.newContext({ baseURL: world.url, extraHTTPHeaders: headers });
  const me = await answer<{ csrf: string }>('signing in', await admin.post('/api/v1/auth/link', { data: { link: secret(world.link) } }));
  await admin.storageState({ path: stateOf(world, 'admin') });
  const csrf = { 'x-csrf-token': me.csrf };
  const token = await answer<{ secret: string }>(
    'making a token',
    await admin.post('/api/v1/me/tokens', { headers: csrf, data: { name: 'e2e', scopes: ['read', 'operate', 'approve', 'admin'], days: 1 } }),
  );
  for (const [id, role] of OTHERS) {
    const made = await answer<{ link: string }>('making a user', await admin.post('/api/v1/users', { headers: csrf, data: { id, role } }));
    const theirs = await request.newContext({ baseURL: world.url, extraHTTPHeaders: headers });
    await answer('signing in', await theirs.post('/api/v1/auth/link', { data: { link: secret(made.link) } }));
    await theirs.storageState({ path: stateOf(world, id) });
    await theirs.dispose();
  }
  await admin.dispose();
  writeFileSync(join(world.folder, 'token'), token.secret, { mode: 0o600 });
  return token.secret;
}

// The page works with no network: all it needs comes from the server, and it asks for nothing else.

import type { BrowserContext, Page } from '@playwright/test';

import { browserOf, expect, test } from './fixtures';
import { PAGES, settled } from './look';

/** Lets nothing through that is not for the server. What was tried elsewhere, and what the server did not have. */
async function watched(context: BrowserContext, url: string): Promise<{ outside: string[]; missing: string[] }> {
  const seen = { outside: [] as string[], missing: [] as string[] };
  const inside = (asked: string) => new URL(asked).host === new URL(url).host;
  await context.route('**/*', async (route) => {
    const asked = route.request().url();
    if (inside(asked)) {
      await route.continue();
      return;
    }
    seen.outside.push(asked);
    await route.abort();
  });
  const watch = (page: Page) => {
    page.on('websocket', (socket) => {
      if (!inside(socket.url())) seen.outside.push(socket.url());
    });
    page.on('request', (request) => {
      // Also what the policy of the page forbids before it is sent.
      if (!inside(request.url()) && !/^(data|blob):/.test(request.url())) seen.outside.push(request.url());
    });
    page.on('response', (response) => {
      if (response.status() >= 400) seen.missing.push(`${response.status()} ${response.url()}`);
    });
    page.on('console', (message) => {
      if (message.type() === 'error') seen.missing.push(message.text());
    });
  };
  context.on('page', watch);
  return seen;
}

/** Whether everything on the page is there: pictures drawn, styles applied, every sheet from the server. */
async function whole(page: Page): Promise<void> {
  // Pictures may still be on their way.
  await expect.poll(() => page.evaluate(() => ({
    pictures: [...document.images].filter((image) => !image.complete || image.naturalWidth === 0).map((image) => image.src),
    styled: getComputedStyle(document.documentElement).getPropertyValue('--tone-plain') !== '',
    fonts: [...document.fonts].map((font) => font.family),
    elsewhere: performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => !name.startsWith(location.origin)),
  }))).toEqual({ pictures: [], styled: true, fonts: [], elsewhere: [] });
}

test('with everything but the server shut off, every page is whole and asks for nothing outside', async ({ browser, world, api }) => {
  test.setTimeout(480_000);
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  const context = await browserOf(browser, world, 'admin');
  const seen = await watched(context, world.url);
  const page = await context.newPage();
  const more: typeof PAGES = [['session', `/sessions/${session}`, ''], ['trace', `/sessions/${session}/trace`, ''], ['approval', `/approvals/${hold}`, '']];
  for (const [name, path, heading] of [...PAGES, ...more]) {
    await test.step(name, async () => {
      await page.goto(path);
      const title = page.getByRole('heading', { level: 1 });
      await expect(heading === '' ? title : title.filter({ hasText: heading })).toBeVisible();
      await settled(page);
      await whole(page);
    });
  }
  expect(seen).toEqual({ outside: [], missing: [] });
  await context.close();
});

test('signing in needs nothing from outside either', async ({ browser, world }) => {
  const context = await browser.newContext({ baseURL: world.url, storageState: { cookies: [], origins: [] } });
  const seen = await watched(context, world.url);
  const page = await context.newPage();
  await page.goto('/sign-in');
  await expect(page.getByRole('heading', { name: 'Interlock' })).toBeVisible();
  await whole(page);
  expect(seen.outside).toEqual([]);
  await context.close();
});

/** Addresses that stand in the built files as names or words, and are never loaded. */
const NAMES = /^https?:\/\/(www\.w3\.org\/|react\.dev\/errors\/|localhost\b|127\.0\.0\.1\b|\$|tanstack\.com\/|mantine\.dev\/|interlock\.example)/;

test('what is served refers to nothing outside, and no other file is needed to read it', async ({ request, world }) => {
  const read = async (path: string): Promise<string> => {
    const response = await request.get(path, { headers: { accept: path === '/' ? 'text/html' : '*/*' } });
    expect(response.status(), path).toBe(200);
    return response.text();
  };
  const index = await request.get('/', { headers: { accept: 'text/html' } });
  const policy = index.headers()['content-security-policy'] ?? '';
  expect(policy).toContain("default-src 'self'");
  const elsewhere = [...policy.matchAll(/(?:https?|wss?):\/\/[^\s;]+|https?:(?!\/)|\*/g)].map(([source]) => source).filter((source) => source !== world.url.replace('http', 'ws'));
  expect(elsewhere).toEqual([]);

  const files = new Map<string, string>();
  const todo = ['/', '/favicon.svg'];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    if (files.has(path)) continue;
    const text = await read(path);
    files.set(path, text);
    for (const [, name = ''] of text.matchAll(/(?:\/?assets\/|["'(]\.\/)([\w.-]+\.(?:js|css|svg|png|woff2?))/g)) todo.push(`/assets/${name}`);
  }
  expect(files.size).toBeGreaterThan(20);
  const addresses = new Set<string>();
  for (const [path, text] of files) {
    for (const [address] of text.matchAll(/https?:\/\/[^\s"'`)<>\\]*/g)) {
      if (!NAMES.test(address)) addresses.add(`${path}: ${address}`);
    }
    expect(text, path).not.toMatch(/sourceMappingURL/);
    expect(text, path).not.toMatch(/(?:src|href)=["']?\/\/|url\(["']?(?:https?:)?\/\/|@import\s+["'(]?(?:url\()?["']?(?:https?:)?\/\/|import\(["'`]https?:/);
  }
  expect([...addresses]).toEqual([]);
});

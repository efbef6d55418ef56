// What opens over a page or in it: accessible by axe, light and dark; Escape closes it.

import type { Locator, Page } from '@playwright/test';

import type { Api } from './api';
import { browserOf, card, expect, test } from './fixtures';
import { settled, violations } from './look';

interface Opened {
  name: string;
  path: string;
  open: (page: Page) => Promise<void>;
  shown: (page: Page) => Locator;
}

const click = (name: string | RegExp) => async (page: Page) => {
  await page.getByRole('button', { name, exact: true }).first().click();
};
const dialog = (name: string | RegExp) => (page: Page) => page.getByRole('dialog', { name });
const menu = (page: Page) => page.getByRole('menu');

const FRAME: Opened[] = [
  { name: 'the keys', path: '/sessions', open: (page) => page.keyboard.press('?'), shown: dialog('Keyboard shortcuts') },
  { name: 'the search', path: '/', open: (page) => page.keyboard.press('/'), shown: dialog('Search') },
  { name: 'stopping writes', path: '/', open: click('Stop writes'), shown: dialog('Stop all writes?') },
  { name: 'the level', path: '/', open: click(/^Control level/), shown: (page) => page.getByText('Both are set in the configuration file') },
  { name: 'the menu of the user', path: '/', open: click('admin: menu'), shown: menu },
  { name: 'the columns', path: '/tools', open: click('Choose columns'), shown: menu },
  { name: 'a new token', path: '/settings/tokens', open: click('New token'), shown: dialog(/token/) },
  { name: 'a new person', path: '/settings/users', open: click(/^(New|Add)/), shown: (page) => page.getByRole('dialog') },
];

async function look(page: Page, each: Opened): Promise<void> {
  await test.step(each.name, async () => {
    await page.goto(each.path);
    await settled(page);
    await each.open(page);
    await expect(each.shown(page)).toBeVisible();
    expect.soft(await violations(page), `${each.name} is clean by axe`).toEqual([]);
    await page.keyboard.press('Escape');
    await expect(each.shown(page)).toHaveCount(0);
  });
}

async function forms(page: Page, hold: string): Promise<void> {
  await page.goto(`/approvals/${hold}`);
  await settled(page);
  const it = card(page, hold);
  await it.getByRole('button', { name: 'Approve' }).focus();
  expect.soft(await violations(page), 'about to approve').toEqual([]);
  await it.getByRole('button', { name: 'Deny…' }).click();
  await it.getByLabel('Reason').fill('Not now.');
  expect.soft(await violations(page), 'denying').toEqual([]);
  await page.keyboard.press('Escape');
  await it.getByRole('button', { name: 'Edit…' }).click();
  const form = it.getByRole('group', { name: 'Edit the arguments' });
  expect.soft(await violations(page), 'editing').toEqual([]);
  await form.getByRole('textbox', { name: 'unit' }).fill('jellyfin.service');
  await form.getByRole('button', { name: 'Review changes' }).click();
  await expect(it.getByRole('group', { name: 'Your changes' })).toBeVisible();
  expect.soft(await violations(page), 'what is changed').toEqual([]);
}

async function stopped(page: Page, api: Api): Promise<void> {
  await api.post('/writes/stop', { reason: 'a test' });
  try {
    await page.goto('/');
    await settled(page);
    await page.getByRole('button', { name: 'Resume…' }).click();
    await expect(page.getByRole('dialog', { name: 'Resume writes?' })).toBeVisible();
    expect.soft(await violations(page), 'letting writes go').toEqual([]);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
  } finally {
    await api.post('/writes/resume');
  }
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`what opens over the pages is accessible: ${colorScheme}`, async ({ browser, world, api }) => {
    test.setTimeout(480_000);
    const context = await browserOf(browser, world, 'admin', { colorScheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    for (const each of FRAME) await look(page, each);
    await stopped(page, api);
    await page.setViewportSize({ width: 390, height: 900 });
    await look(page, { name: 'more pages, on a phone', path: '/', open: click('More'), shown: menu });
    await context.close();
  });

  test(`deciding and ending a session is accessible: ${colorScheme}`, async ({ browser, world, api }) => {
    const session = await api.alert('restart');
    const hold = await api.hold(session);
    const context = await browserOf(browser, world, 'admin', { colorScheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    await forms(page, hold);
    await look(page, { name: 'cancelling', path: `/sessions/${session}`, open: click('Cancel'), shown: dialog('Cancel this session?') });
    await look(page, { name: 'the menu of a session', path: `/sessions/${session}`, open: click('More about this session'), shown: menu });
    await context.close();
  });
}

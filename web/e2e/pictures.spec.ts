// Pages as pictures, light and dark, wide and narrow. `scripts/test-page --update` makes them anew; look at what changed
// before you keep it.

import type { Browser, Page } from '@playwright/test';

import { browserOf, card, expect, type Settled, test } from './fixtures';
import { freeze } from './frozen';
import { PAGES, settled } from './look';

const LOOKS = [
  { label: 'light', colorScheme: 'light', width: 1400 },
  { label: 'dark', colorScheme: 'dark', width: 1400 },
  { label: 'narrow', colorScheme: 'light', width: 390 },
  { label: 'narrow-dark', colorScheme: 'dark', width: 390 },
] as const;

/** Pages of a world in which nothing has happened. What the simulated machines measure is covered. */
const QUIET = ['infrastructure', 'graph', 'tools', 'profile', 'tokens'];

/** Ids and measured values. */
function covered(page: Page) {
  return [page.locator('canvas'), page.locator('code'), page.locator('td')];
}

async function opened(browser: Browser, world: Settled, look: (typeof LOOKS)[number]): Promise<Page> {
  const { colorScheme, width } = look;
  const context = await browserOf(browser, world, 'admin', { colorScheme, viewport: { width, height: 900 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await freeze(page);
  return page;
}

for (const look of LOOKS) {
  test(`pictures of quiet pages: ${look.label}`, async ({ browser, world }) => {
    const page = await opened(browser, world, look);
    for (const [name, path, heading] of PAGES.filter(([each]) => QUIET.includes(each))) {
      await page.goto(path);
      await expect(page.getByRole('heading', { name: heading, level: 1 })).toBeVisible();
      await settled(page);
      await expect(page).toHaveScreenshot(`${name}-${look.label}.png`, { mask: covered(page) });
    }
    await page.context().close();
  });

  test(`a picture of a plan that waits, with what it changes in a file: ${look.label}`, async ({ browser, world, api }) => {
    const hold = await api.hold(await api.alert('file'));
    const page = await opened(browser, world, look);
    await page.goto('/approvals');
    await expect(card(page, hold).getByRole('button', { name: 'Approve' })).toBeEnabled();
    await expect(card(page, hold).getByRole('timer')).toHaveText('09:41 left');
    await settled(page);
    await expect(page).toHaveScreenshot(`approvals-${look.label}.png`);
    await page.context().close();
  });

  test(`a picture of a session that is over: ${look.label}`, async ({ browser, world, api }) => {
    const session = await api.alert('restart');
    const hold = await api.hold(session);
    await api.post(`/approvals/${hold}/approve`, await api.open(hold));
    expect(await api.ended(session)).toBe('completed');
    const page = await opened(browser, world, look);
    await page.goto(`/sessions/${session}`);
    await expect(page.getByRole('region', { name: 'Answer' })).toContainText('restarted');
    await settled(page);
    await expect(page).toHaveScreenshot(`session-${look.label}.png`);
    await page.context().close();
  });
}

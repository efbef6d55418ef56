// Every page, light and dark, wide and narrow: accessible by axe, no wider than the screen, as its picture.

import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

import { browserOf, expect, test } from './fixtures';

const PAGES: [name: string, path: string, heading: string][] = [
  ['overview', '/', 'Overview'],
  ['approvals', '/approvals', 'Approvals'],
  ['sessions', '/sessions', 'Sessions'],
  ['chat', '/chat', 'Ask about your infrastructure'],
  ['infrastructure', '/infrastructure', 'Infrastructure'],
  ['graph', '/infrastructure?view=graph', 'Infrastructure'],
  ['resource', `/infrastructure/${encodeURIComponent('lxc:delly:150')}`, 'jellyfin'],
  ['tools', '/tools', 'Tools'],
  ['models', '/models', 'Models'],
  ['profile', '/settings/profile', 'Settings'],
  ['tokens', '/settings/tokens', 'Settings'],
  ['users', '/settings/users', 'Settings'],
  ['decisions', '/settings/decisions', 'Settings'],
  ['audit', '/settings/audit', 'Settings'],
  ['configuration', '/settings/configuration', 'Settings'],
  ['about', '/settings/about', 'Settings'],
];

async function settled(page: Page): Promise<void> {
  await expect(page.getByText(/^Loading /)).toHaveCount(0);
  await page.waitForLoadState('networkidle').catch(() => undefined);
}

async function violations(page: Page): Promise<string[]> {
  const { violations: found } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']).analyze();
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}

async function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

for (const scheme of ['light', 'dark'] as const) {
  for (const width of [1400, 390]) {
    test(`every page is accessible and fits: ${scheme}, ${width} px`, async ({ browser }) => {
      test.setTimeout(240_000);
      const context = await browserOf(browser, 'admin', { colorScheme: scheme, viewport: { width, height: 900 }, reducedMotion: 'reduce' });
      const page = await context.newPage();
      const broken: string[] = [];
      page.on('pageerror', (error) => broken.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') broken.push(message.text());
      });
      for (const [name, path, heading] of PAGES) {
        await test.step(name, async () => {
          await page.goto(path);
          await expect(page.getByRole('heading', { name: heading, level: 1 })).toBeVisible();
          await settled(page);
          expect.soft(await violations(page), `${name} is clean by axe`).toEqual([]);
          expect.soft(await overflow(page), `${name} is no wider than the screen`).toBeLessThanOrEqual(0);
        });
      }
      expect(broken).toEqual([]);
      await context.close();
    });
  }
}

test('the session page with a waiting approval is accessible, light and dark', async ({ browser, api }) => {
  const session = await api.alert('restart');
  await api.hold(session);
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browserOf(browser, 'admin', { colorScheme });
    const page = await context.newPage();
    for (const path of [`/sessions/${session}`, `/sessions/${session}/trace`]) {
      await page.goto(path);
      await settled(page);
      expect.soft(await violations(page), `${path} ${colorScheme}`).toEqual([]);
    }
    await context.close();
  }
});

/** What changes from run to run is covered: times, numbers, ids. */
function covered(page: Page) {
  return [page.locator('time'), page.getByRole('timer'), page.locator('canvas'), page.locator('.top'), page.locator('code'), page.locator('td')];
}

for (const [label, scheme, width] of [['dark', 'dark', 1400], ['narrow', 'light', 390], ['narrow-dark', 'dark', 390]] as const) {
  test(`pictures: ${label}`, async ({ browser }) => {
    const context = await browserOf(browser, 'admin', { colorScheme: scheme, viewport: { width, height: 900 }, reducedMotion: 'reduce' });
    const page = await context.newPage();
    for (const [name, path, heading] of PAGES.filter(([each]) => ['infrastructure', 'graph', 'tools', 'profile', 'tokens'].includes(each))) {
      await page.goto(path);
      await expect(page.getByRole('heading', { name: heading, level: 1 })).toBeVisible();
      await settled(page);
      await expect(page).toHaveScreenshot(`${name}-${label}.png`, { mask: covered(page) });
    }
    await context.close();
  });
}

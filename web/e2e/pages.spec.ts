// Every page, light and dark, wide and narrow: accessible by axe, and no wider than the screen.

import { browserOf, expect, test } from './fixtures';
import { overflow, PAGES, settled, violations } from './look';

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1400, 390]) {
    test(`every page is accessible and fits: ${colorScheme}, ${width} px`, async ({ browser, world }) => {
      test.setTimeout(480_000);
      const context = await browserOf(browser, world, 'admin', { colorScheme, viewport: { width, height: 900 } });
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

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the session page with a waiting approval is accessible: ${colorScheme}`, async ({ browser, world, api }) => {
    const session = await api.alert('restart');
    await api.hold(session);
    const context = await browserOf(browser, world, 'admin', { colorScheme });
    const page = await context.newPage();
    for (const path of [`/sessions/${session}`, `/sessions/${session}/trace`]) {
      await page.goto(path);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await settled(page);
      expect.soft(await violations(page), path).toEqual([]);
    }
    await context.close();
  });
}

import { expect, test } from './fixtures';

test.describe('signing in', () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test('a link works once, and leaves no secret in the address', async ({ page, browser, api }) => {
    const { link } = await api.post<{ link: string }>('/users/tom/link');
    await page.goto(link);
    await expect(page.getByRole('heading', { name: 'Overview', level: 1 })).toBeVisible();
    expect(page.url()).not.toContain('link=');
    expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain(link.split('#link=')[1]);

    const other = await browser.newContext({ storageState: { cookies: [], origins: [] } });
    const second = await other.newPage();
    await second.goto(link);
    await expect(second.getByRole('alert')).toBeVisible();
    await expect(second).toHaveURL(/\/sign-in/);
    await other.close();
  });

  test('who is not signed in is asked to, and comes back to where they were going', async ({ page, api }) => {
    await page.goto('/tools');
    await expect(page).toHaveURL(/\/sign-in/);
    await expect(page.getByRole('heading', { name: 'Interlock' })).toBeVisible();
    const { link } = await api.post<{ link: string }>('/users/tom/link');
    await page.evaluate((hash) => { location.hash = hash; }, `link=${link.split('#link=')[1] ?? ''}`);
    await expect(page.getByRole('heading', { name: 'Tools', level: 1 })).toBeVisible();
  });

  test('a wrong password says so, and no more', async ({ page }) => {
    await page.goto('/sign-in');
    await page.getByLabel('Name').fill('nobody');
    await page.getByLabel('Password', { exact: true }).fill('not the right one');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('alert')).toBeVisible();
    await expect(page).toHaveURL(/\/sign-in/);
  });
});

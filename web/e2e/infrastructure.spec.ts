import { expect, test } from './fixtures';

test('a resource is found, opened, and leads to the chat', async ({ page }) => {
  await page.goto('/infrastructure');
  await page.getByLabel('Filter').fill('jellyfin');
  await expect(page).toHaveURL(/search=jellyfin/);
  await page.getByRole('link', { name: 'jellyfin', exact: true }).first().click();
  await expect(page).toHaveURL(/\/infrastructure\/lxc(:|%3A)delly(:|%3A)150/);
  await expect(page.getByRole('heading', { name: 'jellyfin', level: 1 })).toBeVisible();
  await expect(page.getByText('lxc:delly:150').first()).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'jellyfin', level: 1 })).toBeVisible();
  await page.getByRole('link', { name: 'Ask about this' }).click();
  await expect(page).toHaveURL(/\/chat/);
  await expect(page.getByRole('main').locator('textarea')).toHaveValue('@jellyfin ');
});

test('the graph goes by keys, and says where it is', async ({ page }) => {
  await page.goto('/infrastructure?view=graph');
  const graph = page.getByRole('application');
  await graph.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await expect(page.getByRole('status').filter({ hasText: 'on' }).first()).toBeAttached();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/infrastructure\/[^?]+/);
});

test('what was done to a resource stands on its page', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await api.post(`/approvals/${hold}/approve`, await api.open(hold));
  await api.ended(session);
  await page.goto(`/infrastructure/${encodeURIComponent('lxc:delly:150')}`);
  const table = page.getByRole('table', { name: 'Interlock history' });
  await expect(table).toContainText('verified');
  await expect(table.locator(`a[href="/sessions/${session}"]`).first()).toBeVisible();
});

test('numbers over time are there as a plot and as a table', async ({ page }) => {
  await page.goto(`/infrastructure/${encodeURIComponent('node:delly')}?hours=1`);
  await expect(page.getByRole('heading', { name: 'Metrics', exact: true })).toBeVisible();
  const plot = page.locator('figure.plot').first();
  await expect(plot).toBeVisible();
  await plot.getByText('As a table').click();
  await expect(plot.getByRole('table')).toBeVisible();
});

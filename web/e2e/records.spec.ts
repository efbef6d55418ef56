// What is kept: the audit log and the gate's decisions.

import { expect, test } from './fixtures';

test('the audit log is verified on request', async ({ page }) => {
  await page.goto('/settings/audit');
  await page.getByRole('button', { name: 'Verify record' }).click();
  await expect(page.getByText(/Verified: all [\d,]+ entries are intact/)).toBeVisible();
});

test('what was refused is found by its code, with its session', async ({ page, api }) => {
  await page.goto('/settings/decisions?answer=all');
  const session = await api.alert('restart');
  await api.hold(session);
  await page.reload();
  await expect(page.getByText('held for approval').first()).toBeVisible();
  await page.locator(`a[href="/sessions/${session}"]`).first().click();
  await expect(page).toHaveURL(new RegExp(session));
});

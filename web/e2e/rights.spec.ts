// Who may do what, and with what: tokens, people, roles.

import { program } from './api';
import { browserOf, expect, test } from './fixtures';

test('a token is shown once, works, and is refused when it is revoked', async ({ page, playwright, baseURL }) => {
  await page.goto('/settings/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('a probe');
  await page.getByRole('button', { name: 'Create token' }).click();
  const shown = page.getByRole('dialog', { name: 'Token created' });
  const secret = (await shown.locator('pre').first().innerText()).trim();
  expect(secret).toMatch(/^ilk_[0-9a-f]{64}$/);
  const probe = await playwright.request.newContext({ ...program(secret), baseURL: baseURL ?? '' });
  expect((await probe.get('/api/v1/me')).status()).toBe(200);
  await shown.getByRole('button', { name: 'I have copied it' }).click();
  await expect(page.getByText(secret)).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole('row', { name: /a probe/ })).toBeVisible();
  await expect(page.getByText(secret)).toHaveCount(0);
  await page.getByRole('button', { name: 'Revoke a probe' }).click();
  await page.getByRole('button', { name: 'Revoke token' }).click();
  await expect(page.getByRole('row', { name: /a probe/ })).toContainText('revoked');
  expect((await probe.get('/api/v1/me')).status()).toBe(401);
  await probe.dispose();
});

test('the last admin cannot give the role away', async ({ page }) => {
  await page.goto('/settings/users');
  await page.getByRole('switch', { name: 'admin enabled' }).click({ force: true });
  await page.getByRole('button', { name: 'Disable user' }).click();
  await expect(page.getByText(/make another user admin first/)).toBeVisible();
  await expect(page.getByRole('switch', { name: 'admin enabled' })).toBeChecked();
});

test('a viewer sees, and is offered nothing that they may not do', async ({ browser, world, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  const context = await browserOf(browser, world, 'tom');
  const page = await context.newPage();
  await page.goto('/settings/users');
  await expect(page.getByText('Admins only')).toBeVisible();
  await expect(page.getByRole('tab', { name: 'Audit' })).toHaveCount(0);
  await page.goto(`/approvals/${hold}`);
  await expect(page.getByText(/can view this plan, but not decide/)).toBeVisible();
  await expect(page.getByRole('button', { name: 'Approve' })).toHaveCount(0);
  await context.close();
});

// Nobody decides in time. This server lets a plan wait for some seconds only.

import { card, expect, test } from './fixtures';

test.use({ settings: { control: { hold_for: '15s' }, queue: { heartbeat: '2s' } } });

test('a plan that nobody decides about expires before the eyes of whoever looks', async ({ page, api }) => {
  // The page is open before there is anything to see: all that follows comes to it by itself.
  await page.goto('/approvals');
  await expect(page.getByText('No approvals waiting')).toBeVisible();
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  const key = await api.open(hold);
  const it = card(page, hold);
  await expect(it.getByRole('timer')).toContainText(/00:\d\d left/);
  await expect(it.getByRole('button', { name: 'Approve' })).toBeEnabled();

  await expect(it).toContainText('Expired without a decision, so nothing was done');
  await expect(it.getByText('expired', { exact: true })).toBeVisible();
  await expect(it.getByRole('timer')).toHaveCount(0);
  for (const name of ['Approve', 'Deny…', 'Edit…']) await expect(it.getByRole('button', { name })).toHaveCount(0);
  await page.keyboard.press('a');
  await expect(it.getByRole('button', { name: 'Approve' })).toHaveCount(0);
  await expect(page.getByRole('navigation').first()).not.toContainText('waiting');
  // Who opened it in time and comes late is refused as well.
  expect(await api.refused(`/approvals/${hold}/approve`, key)).toEqual({ status: 409, code: 'CONFLICT' });

  expect(await api.ended(session)).toBe('completed');
  expect(await api.writes(session)).toBe(0);
  await page.goto(`/sessions/${session}`);
  await expect(page.getByRole('region', { name: 'Answer' })).toContainText('The restart was not permitted, so nothing was changed.');
  await expect(page.getByRole('region', { name: 'Timeline' })).toContainText('expired without a decision; nothing ran');

  await page.goto('/approvals?show=decided');
  const row = page.getByRole('table', { name: 'Decided approvals' }).getByRole('row').filter({ hasText: 'jellyfin' }).first();
  await expect(row).toContainText('expired');
  await row.click();
  await expect(page).toHaveURL(new RegExp(`/approvals/${hold}`));
  await expect(card(page, hold)).toContainText('Expired');
});

test('who is writing the reason for a no when the plan expires is told so, and nothing is sent', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/approvals/${hold}`);
  const it = card(page, hold);
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') sent.push(request.url());
  });
  await it.getByRole('button', { name: 'Deny…' }).click();
  await it.getByLabel('Reason').fill('Not now.');
  await expect(it).toContainText('Expired without a decision, so nothing was done');
  await expect(it.getByLabel('Reason')).toHaveCount(0);
  expect(sent.filter((url) => url.includes('/deny') || url.includes('/approve'))).toEqual([]);
  expect((await api.get<{ status: string }>(`/approvals/${hold}`)).status).toBe('expired');
});

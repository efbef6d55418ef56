// One person decides about one plan: yes, no, otherwise.

import { card, expect, test } from './fixtures';

test('approve: one deliberate click, then progress, receipt and verification in the same card', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto('/');
  await expect(page.getByRole('navigation').getByText('Approvals').first()).toBeVisible();
  await page.goto(`/approvals/${hold}`);
  const it = card(page, hold);
  await expect(it).toContainText('jellyfin');
  await expect(it.getByRole('timer')).toContainText(/\d\d:\d\d/);
  await it.getByRole('button', { name: 'Approve' }).click();
  await expect(it).toContainText('Approved by admin');
  await expect(it).toContainText('Receipt');
  await expect(it).toContainText('Verified');
  expect(await api.ended(session)).toBe('completed');
  await page.goto(`/sessions/${session}`);
  await expect(page.getByRole('region', { name: 'Answer' })).toContainText('restarted');
});

test('deny: the reason is asked for, and the agent reads it', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/approvals/${hold}`);
  const it = card(page, hold);
  await it.getByRole('button', { name: 'Deny…' }).click();
  await expect(it.getByRole('button', { name: 'Deny', exact: true })).toBeDisabled();
  await it.getByLabel('Reason').fill('Not while people watch a film.');
  await it.getByRole('button', { name: 'Deny', exact: true }).click();
  await expect(it).toContainText('Denied by admin');
  await expect(it).toContainText('Not while people watch a film.');
  await api.ended(session);
  expect(await api.writes(session)).toBe(0);
  expect((await api.session(session)).full_answer).toContain('not permitted');
});

test('edit: what differs is shown, the changed plan waits anew, and can be approved', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/approvals/${hold}`);
  const it = card(page, hold);
  await it.getByRole('button', { name: 'Edit…' }).click();
  const form = it.getByRole('group', { name: 'Edit the arguments' });
  const unit = form.getByRole('textbox', { name: 'unit' });
  await expect(unit).toHaveValue('jellyfin');
  await unit.fill('jellyfin.service');
  await form.getByRole('button', { name: 'Review changes' }).click();
  const changes = it.getByRole('group', { name: 'Your changes' });
  await expect(changes).toContainText('jellyfin.service');
  await changes.getByRole('button', { name: 'Submit changes' }).click();
  await expect(it).toContainText('Edited by admin');
  const next = await api.hold(session);
  expect(next).not.toBe(hold);
  await card(page, next).getByRole('button', { name: 'Approve' }).click();
  await expect(card(page, next)).toContainText('Approved by admin');
  await expect(card(page, next)).toContainText('Receipt');
});

test('a plan that the gate refuses is refused with its reason, and the card stays as it was', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/approvals/${hold}`);
  const it = card(page, hold);
  await it.getByRole('button', { name: 'Edit…' }).click();
  const form = it.getByRole('group', { name: 'Edit the arguments' });
  await form.getByRole('textbox', { name: 'target_resource_id' }).fill('node:delly');
  await form.getByRole('button', { name: 'Review changes' }).click();
  await it.getByRole('button', { name: 'Submit changes' }).click();
  await expect(it.getByRole('alert')).toContainText('The gate refused it');
  expect((await api.get<{ status: string }>(`/approvals/${hold}`)).status).toBe('pending');
});

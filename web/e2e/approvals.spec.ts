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
  await expect(it).toContainText('Verified', { timeout: 30_000 });
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
  await it.getByLabel('Why not?').fill('Not while people watch a film.');
  await it.getByRole('button', { name: 'Deny', exact: true }).click();
  await expect(it).toContainText('Denied by admin');
  await expect(it).toContainText('Not while people watch a film.');
  await api.ended(session);
  const detail = await api.get<{ actions: { kind: string }[]; full_answer: string }>(`/sessions/${session}`);
  expect(detail.actions.filter(({ kind }) => kind === 'write')).toEqual([]);
  expect(detail.full_answer).toContain('not permitted');
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
  await form.getByRole('button', { name: 'Show what changes' }).click();
  const changes = it.getByRole('group', { name: 'What you change' });
  await expect(changes).toContainText('jellyfin.service');
  await changes.getByRole('button', { name: 'Use the changed plan' }).click();
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
  await form.getByRole('button', { name: 'Show what changes' }).click();
  await it.getByRole('button', { name: 'Use the changed plan' }).click();
  await expect(it.getByRole('alert')).toContainText('The gate refuses it');
  expect((await api.get<{ status: string }>(`/approvals/${hold}`)).status).toBe('pending');
});

test('keyboard: `a` and Enter approve', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/approvals/${hold}`);
  await expect(card(page, hold).getByRole('button', { name: 'Approve' })).toBeEnabled();
  await page.keyboard.press('a');
  await expect(card(page, hold).getByRole('button', { name: 'Approve' })).toBeFocused();
  expect((await api.get<{ status: string }>(`/approvals/${hold}`)).status).toBe('pending');
  await page.keyboard.press('Enter');
  await expect(card(page, hold)).toContainText('Approved by admin');
});

test('two browsers: the second sees at once that it was decided elsewhere', async ({ page, mara, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/approvals/${hold}`);
  await mara.goto(`/approvals/${hold}`);
  await expect(card(mara, hold).getByRole('button', { name: 'Approve' })).toBeEnabled();
  await card(page, hold).getByRole('button', { name: 'Approve' }).click();
  await expect(card(mara, hold)).toContainText('Approved by admin');
  await expect(card(mara, hold).getByRole('button', { name: 'Approve' })).toHaveCount(0);
});

test('two browsers click at the same time: exactly one wins, the other is told so', async ({ page, mara, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await Promise.all([page.goto(`/approvals/${hold}`), mara.goto(`/approvals/${hold}`)]);
  const [one, two] = [card(page, hold), card(mara, hold)];
  await expect(one.getByRole('button', { name: 'Approve' })).toBeEnabled();
  await expect(two.getByRole('button', { name: 'Approve' })).toBeEnabled();
  await Promise.all([one, two].map((it) => it.getByRole('button', { name: 'Approve' }).click({ timeout: 5000 }).catch(() => undefined)));
  await expect(one).toContainText(/Approved by (admin|mara)/);
  await expect(two).toContainText(/Approved by (admin|mara)/);
  const { decided_by: by } = await api.get<{ decided_by: string }>(`/approvals/${hold}`);
  await expect(one).toContainText(`Approved by ${by}`);
  await expect(two).toContainText(`Approved by ${by}`);
  const { actions } = await api.get<{ actions: { kind: string }[] }>(`/sessions/${session}`);
  await expect.poll(async () => (await api.get<{ actions: { kind: string }[] }>(`/sessions/${session}`)).actions.filter(({ kind }) => kind === 'write').length).toBe(1);
  expect(actions.filter(({ kind }) => kind === 'write').length).toBeLessThanOrEqual(1);
});

test('a hold whose time is up cannot be approved in the page', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  // A hold waits ten minutes; the page is told that this one waits three seconds.
  const until = new Date(Date.now() + 3000).toISOString();
  await page.route(`**/api/v1/approvals/${hold}`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...((await response.json()) as object), expires_at: until } });
  });
  await page.goto(`/approvals/${hold}`);
  await expect(card(page, hold).getByRole('timer')).toContainText('00:0');
  await expect(card(page, hold)).toContainText('The time is up');
  await expect(card(page, hold).getByRole('button', { name: 'Approve' })).toHaveCount(0);
});

test('a hold that nobody decides expires, and the session goes on without it', async ({ page, api }) => {
  test.skip(process.env.INTERLOCK_SLOW === undefined, 'waits ten minutes; INTERLOCK_SLOW=1 runs it');
  test.setTimeout(13 * 60_000);
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/approvals/${hold}`);
  await expect(card(page, hold)).toContainText('Expired', { timeout: 12 * 60_000 });
  await api.ended(session);
});

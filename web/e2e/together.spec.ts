// Two people, two browsers, one hold: one decision counts, and both see whose.

import type { Page } from '@playwright/test';

import { card, expect, test } from './fixtures';

/** Both look at the same card, and both could decide. */
async function both(one: Page, two: Page, hold: string): Promise<void> {
  await Promise.all([one, two].map((page) => page.goto(`/approvals/${hold}`)));
  for (const page of [one, two]) await expect(card(page, hold).getByRole('button', { name: 'Approve' })).toBeEnabled();
}

/** Answers to clicks on Approve, as the server gave them. */
function answers(page: Page): number[] {
  const seen: number[] = [];
  page.on('response', (response) => {
    if (response.url().endsWith('/approve')) seen.push(response.status());
  });
  return seen;
}

test('the second sees at once that it was approved elsewhere', async ({ page, mara, api }) => {
  const hold = await api.hold(await api.alert('restart'));
  await both(page, mara, hold);
  await card(page, hold).getByRole('button', { name: 'Approve' }).click();
  await expect(card(mara, hold)).toContainText('Approved by admin');
  await expect(card(mara, hold).getByRole('button', { name: 'Approve' })).toHaveCount(0);
  await expect(card(mara, hold)).toContainText('Receipt');
});

test('both approve at the same moment: exactly one wins, the other is told who did', async ({ page, mara, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await both(page, mara, hold);
  // The decisions leave both browsers before either arrives: they are kept back until both are on their way.
  let onTheirWay = 0;
  let go: () => void = () => undefined;
  const together = new Promise<void>((resolve) => { go = resolve; });
  for (const each of [page, mara]) {
    await each.route('**/approve', async (route) => {
      onTheirWay += 1;
      if (onTheirWay === 2) go();
      await together;
      await route.continue();
    });
  }
  const seen = [answers(page), answers(mara)];
  await Promise.all([page, mara].map((each) => each.keyboard.press('a').then(() => each.keyboard.press('Enter'))));
  await expect.poll(() => seen.flat().sort()).toEqual([200, 409]);

  const { decided_by: winner } = await api.get<{ decided_by: string }>(`/approvals/${hold}`);
  expect(['admin', 'mara']).toContain(winner);
  for (const each of [page, mara]) await expect(card(each, hold)).toContainText(`Approved by ${winner}`);
  const [won, lost] = winner === 'admin' ? [page, mara] : [mara, page];
  await expect(card(lost, hold).getByRole('alert')).toContainText(`${winner} approved it before your decision arrived`);
  await expect(card(lost, hold).getByRole('alert')).toContainText('Your decision had no effect');
  await expect(card(won, hold).getByRole('alert')).toHaveCount(0);
  expect(await api.ended(session)).toBe('completed');
  expect(await api.writes(session)).toBe(1);
});

test('a no with its reason is seen in the other browser, live', async ({ page, mara, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/sessions/${session}`);
  await both(page, mara, hold);
  await card(mara, hold).getByRole('button', { name: 'Deny…' }).click();
  await card(mara, hold).getByLabel('Reason').fill('There is a film until ten.');
  await card(mara, hold).getByRole('button', { name: 'Deny', exact: true }).click();
  await expect(card(page, hold)).toContainText('Denied by mara');
  await expect(card(page, hold)).toContainText('There is a film until ten.');
  await expect(card(page, hold).getByRole('button', { name: 'Approve' })).toHaveCount(0);
  expect(await api.ended(session)).toBe('completed');
  expect(await api.writes(session)).toBe(0);
});

test('one approves while the other writes a no: the no is not recorded, and says why', async ({ page, mara, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await both(page, mara, hold);
  await card(mara, hold).getByRole('button', { name: 'Deny…' }).click();
  await card(mara, hold).getByLabel('Reason').fill('Wait.');
  // What mara's page hears is late, as it can be: the card still offers the button.
  await mara.route(`**/api/v1/approvals/${hold}/deny`, async (route) => {
    await api.post(`/approvals/${hold}/approve`, await api.open(hold));
    await route.continue();
  });
  await card(mara, hold).getByRole('button', { name: 'Deny', exact: true }).click();
  await expect(card(mara, hold).getByRole('alert')).toContainText('admin approved it before your decision arrived');
  await expect(card(mara, hold)).toContainText('Approved by admin');
});

test('a double click sends one decision', async ({ page, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await page.goto(`/approvals/${hold}`);
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(new URL(request.url()).pathname.replace(/.*\//, ''));
  });
  await card(page, hold).getByRole('button', { name: 'Approve' }).dblclick();
  await expect(card(page, hold)).toContainText('Verified');
  expect(sent).toEqual(['open', 'approve']);
  await expect(card(page, hold).getByRole('alert')).toHaveCount(0);
  expect(await api.writes(session)).toBe(1);
});

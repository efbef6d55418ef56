// The server dies in the middle of something and comes back, on the same address and the same data. The page shows that
// the line is lost, heals by itself, and neither loses nor doubles anything.

import type { Page } from '@playwright/test';

import { card, expect, test } from './fixtures';

// What a dead process was working on is taken over soon.
test.use({ settings: { queue: { heartbeat: '1s', orphan_after: '10s' } } });

async function lost(page: Page): Promise<void> {
  await expect(page.locator('.connection')).toContainText('connection lost');
}

async function healed(page: Page): Promise<void> {
  await expect(page.locator('.connection')).toHaveText('live');
}

test('killed in the middle of a stream: the page shows it, heals, and nothing is lost or doubled', async ({ page, world, api }) => {
  const session = await api.alert('stream');
  await page.goto(`/sessions/${session}`);
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await expect(timeline.getByText(/Part bravo/)).toBeVisible();
  await page.evaluate(() => { document.documentElement.dataset.stays = 'yes'; });

  await world.kill();
  await lost(page);
  await expect(page.getByText('The connection to the server is lost. The page reconnects automatically')).toBeVisible();
  await expect(timeline.getByText(/Part alpha/)).toBeVisible();
  await world.again();
  await healed(page);
  await expect(page.getByText('The connection to the server is lost')).toHaveCount(0);

  const answer = page.getByRole('region', { name: 'Answer' });
  await expect(answer).toContainText('This is the end of it', { timeout: 90_000 });
  const parts = [...(await answer.innerText()).matchAll(/Part (\w+):/g)].map(([, word]) => word);
  expect(parts).toEqual(['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel']);
  await expect(page.getByRole('alert')).toHaveCount(0);
  expect(await page.evaluate(() => document.documentElement.dataset.stays), 'it was not loaded again').toBe('yes');

  // What was heard over two processes is what the server tells anew.
  const rows = await timeline.getByRole('article').allInnerTexts();
  await page.reload();
  await expect(answer).toContainText('This is the end of it');
  await expect(timeline.getByRole('article')).toHaveCount(rows.length);
  expect(await timeline.getByRole('article').allInnerTexts()).toEqual(rows);
});

test('killed while an approval waits: it can be approved afterwards, once', async ({ page, mara, world, api }) => {
  const session = await api.alert('restart');
  const hold = await api.hold(session);
  await Promise.all([page, mara].map((each) => each.goto(`/approvals/${hold}`)));
  const it = card(page, hold);
  await expect(it.getByRole('button', { name: 'Approve' })).toBeEnabled();
  await expect(card(mara, hold).getByRole('button', { name: 'Approve' })).toBeEnabled();

  await world.kill();
  await lost(page);
  // A click that reaches nobody says so, and takes nothing for granted.
  await it.getByRole('button', { name: 'Approve' }).click();
  await expect(it.getByRole('alert')).toContainText('The server did not answer');
  await expect(it).not.toContainText('Approved by');
  await world.again();
  await Promise.all([page, mara].map(healed));

  await expect(it).toContainText('waiting for you');
  await it.getByRole('button', { name: 'Approve' }).click();
  await expect(it).toContainText('Approved by admin');
  await expect(it).toContainText('Verified');
  await expect(card(mara, hold)).toContainText('Approved by admin');
  await expect(card(mara, hold).getByRole('button', { name: 'Approve' })).toHaveCount(0);
  expect(await api.refused(`/approvals/${hold}/open`)).toMatchObject({ status: 409 });
  expect(await api.ended(session)).toBe('completed');
  expect(await api.writes(session)).toBe(1);
});

test('a page that is opened while the server is away comes by itself when it is back', async ({ page, world, api }) => {
  const session = await api.alert('restart');
  await api.hold(session);
  // The parts of these pages are there; what they show is not asked for yet.
  await page.goto(`/sessions/${session}/trace`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.getByRole('navigation').first().getByRole('link', { name: 'Tools' }).click();
  await expect(page.getByRole('heading', { name: 'Tools', level: 1 })).toBeVisible();
  await page.getByRole('navigation').first().getByRole('link', { name: 'Sessions' }).click();
  const row = page.locator(`a[href="/sessions/${session}"]`).first();
  await row.click();
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await expect(timeline.getByRole('article').first()).toBeVisible();
  await page.goBack();
  await expect(row).toBeVisible();

  await world.kill();
  await lost(page);
  await row.click();
  await expect(page.getByRole('alert').filter({ hasText: 'cannot be reached' })).toBeVisible();
  await world.again();
  await healed(page);
  await expect(timeline.getByRole('article').first()).toBeVisible();
  await expect(page.getByRole('alert')).toHaveCount(0);
});

test('a part of the page that could not be loaded comes by itself when the server is back', async ({ page, world }) => {
  await page.goto('/tools');
  await expect(page.getByRole('heading', { name: 'Tools', level: 1 })).toBeVisible();
  await healed(page);
  await world.kill();
  await lost(page);
  await page.getByRole('navigation').first().getByRole('link', { name: 'Models' }).click();
  await expect(page.getByRole('alert')).toContainText('A part of the page could not be loaded');
  await world.again();
  await expect(page.getByRole('heading', { name: 'Models', level: 1 })).toBeVisible();
  await healed(page);
});

// Without a mouse: keys are shown, lists are walked, what has the focus is seen, and Escape goes back.

import type { Page } from '@playwright/test';

import { card, expect, test } from './fixtures';
import { settled } from './look';

/** Whether what has the focus can be seen to have it. */
async function ring(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return false;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1;
  });
}

/** What has the focus, in a word. */
async function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    return element === null || element === document.body ? '' : (element.getAttribute('aria-label') ?? element.textContent).trim();
  });
}

test('`?` shows the keys that work here, and Escape puts it away', async ({ page }) => {
  await page.goto('/sessions');
  await settled(page);
  await page.keyboard.press('?');
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(sheet).toBeVisible();
  await expect(sheet.getByRole('row').filter({ hasText: 'Go to Approvals' })).toContainText('g then a');
  await expect(sheet.getByRole('row').filter({ hasText: 'Search sessions' })).toContainText('/');
  // Keys do nothing behind it.
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await expect(page).toHaveURL(/\/sessions$/);
  await page.keyboard.press('Escape');
  await expect(sheet).toHaveCount(0);
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await expect(page).toHaveURL(/\/approvals$/);
});

test('a list is walked with j and k, and Enter opens', async ({ page, api }) => {
  const first = await api.alert('restart');
  await api.hold(first);
  const second = await api.alert('restart');
  await api.hold(second);
  await page.goto('/sessions');
  const rows = page.getByRole('table', { name: 'Sessions' }).locator('tbody tr');
  await expect(rows.nth(1)).toBeVisible();
  await settled(page);
  await page.keyboard.press('j');
  await expect(rows.nth(0)).toBeFocused();
  expect(await ring(page), 'the row shows that it has the focus').toBe(true);
  await page.keyboard.press('j');
  await expect(rows.nth(1)).toBeFocused();
  await page.keyboard.press('k');
  await expect(rows.nth(0)).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(rows.nth(1)).toBeFocused();
  await page.keyboard.press('x');
  await expect(rows.nth(1).getByRole('checkbox')).toBeChecked();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(new RegExp(`/sessions/${first}`));
});

test('approvals are walked with j and k; d and e open what they say, and Escape closes it', async ({ page, api }) => {
  const sessions = [await api.alert('restart'), await api.alert('file')];
  for (const session of sessions) await api.hold(session);
  await page.goto('/approvals');
  const places = page.locator('.card-place');
  await expect(places).toHaveCount(2);
  await expect(places.nth(1).getByRole('button', { name: 'Approve' })).toBeEnabled();
  await page.keyboard.press('j');
  await expect(places.nth(1)).toBeFocused();
  await page.keyboard.press('d');
  const reason = places.nth(1).getByLabel('Reason');
  await expect(reason).toBeFocused();
  await page.keyboard.type('ad');
  await expect(reason).toHaveValue('ad');
  await page.keyboard.press('Escape');
  await expect(reason).toHaveCount(0);
  await page.keyboard.press('e');
  await expect(places.nth(1).getByRole('group', { name: 'Edit the arguments' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(places.nth(1).getByRole('group', { name: 'Edit the arguments' })).toHaveCount(0);
  await page.keyboard.press('k');
  await page.keyboard.press('a');
  await expect(places.nth(0).getByRole('button', { name: 'Approve' })).toBeFocused();
  expect(await ring(page)).toBe(true);
});

test('`a` and Enter approve', async ({ page, api }) => {
  const hold = await api.hold(await api.alert('restart'));
  await page.goto(`/approvals/${hold}`);
  const button = card(page, hold).getByRole('button', { name: 'Approve' });
  await expect(button).toBeEnabled();
  await page.keyboard.press('a');
  await expect(button).toBeFocused();
  expect((await api.get<{ status: string }>(`/approvals/${hold}`)).status).toBe('pending');
  await page.keyboard.press('Enter');
  await expect(card(page, hold)).toContainText('Approved by admin');
});

test('the search finds a page by its keys, and Escape gives the focus back', async ({ page }) => {
  await page.goto('/tools');
  await settled(page);
  await page.keyboard.press('Control+k');
  const search = page.getByRole('dialog', { name: 'Search' });
  await expect(search.getByRole('combobox')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(search).toHaveCount(0);
  await page.getByRole('button', { name: 'Search' }).focus();
  await page.keyboard.press('Enter');
  await expect(search.getByRole('combobox')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('button', { name: 'Search' })).toBeFocused();
  await page.keyboard.press('/');
  await page.keyboard.type('jellyfin');
  await expect(search.getByRole('option').filter({ hasText: 'lxc:delly:150' })).toBeVisible();
  await expect(search.getByText('searching…')).toHaveCount(0);
  while (!(await search.locator('[aria-selected=true]').innerText()).includes('lxc:delly:150')) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/infrastructure\/lxc/);
});

test('Tab goes through the frame in order, and what has the focus is always seen', async ({ page }) => {
  await page.goto('/tools');
  await settled(page);
  const stops: string[] = [];
  for (let step = 0; step < 18; step += 1) {
    await page.keyboard.press('Tab');
    stops.push(await focused(page));
    expect.soft(await ring(page), `${stops.at(-1) ?? ''} shows that it has the focus`).toBe(true);
  }
  expect(stops[0]).toBe('Skip to content');
  expect(stops.indexOf('Overview')).toBeLessThan(stops.indexOf('Settings'));
  expect(stops.indexOf('Settings')).toBeLessThan(stops.indexOf('Stop writes'));
  expect(stops).toContain('admin: menu');
});

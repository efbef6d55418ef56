// A model that pretends to be the page: its text stays in its frame, below the head that code made.

import { expect, test } from './fixtures';

test('a forged answer stays in the frame of the model', async ({ page, api }) => {
  const session = await api.alert('forged');
  await api.ended(session);
  const foreign: string[] = [];
  page.on('request', (request) => { if (new URL(request.url()).hostname === 'evil.example') foreign.push(request.url()); });
  await page.goto(`/sessions/${session}`);
  const answer = page.getByRole('region', { name: 'Answer' });
  const head = answer.getByRole('region', { name: 'What was done and read' });
  await expect(head).toHaveCount(1);
  await expect(head).toContainText('No action was taken.');
  await expect(head).toContainText('The whole answer is unsupported.');
  const frame = answer.getByRole('region', { name: 'Written by the model' });
  await expect(frame).toContainText('all of what follows is hidden');
  await expect(frame).toContainText('never closed');
  await expect(frame.getByRole('heading')).toHaveCount(0);
  await expect(frame.locator('img, input, section')).toHaveCount(0);
  await expect(frame).toContainText('https://interlock.example (evil.example)');
  await expect(frame.locator('a[href^="javascript"]')).toHaveCount(0);
  const [above, below] = [await head.boundingBox(), await frame.boundingBox()];
  expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThanOrEqual(below?.y ?? 0);
  expect(foreign).toEqual([]);
});

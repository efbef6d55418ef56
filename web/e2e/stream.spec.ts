// A session as it happens: text that comes in pieces, over a line that may break.

import { expect, test } from './fixtures';

test('an alert that is submitted streams while it is worked on', async ({ page, api }) => {
  const session = await api.alert('stream');
  await page.goto(`/sessions/${session}`);
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await expect(timeline.getByRole('article').filter({ hasText: 'list' }).first()).toBeVisible();
  // The beginning is there while the end is not: it streams.
  await expect(timeline.getByText(/Part alpha/)).toBeVisible();
  expect(await timeline.getByText(/This is the end of it/).count()).toBe(0);
  await expect(page.getByText(/This is the end of it/).first()).toBeVisible();
  await expect(page.getByRole('region', { name: 'Answer' })).toContainText('This is the end of it');
});

test('a socket that the server closes is opened again from where it stood', async ({ page, api }) => {
  // Every socket goes through here, so that it can be cut like a cable.
  const sockets: { close: () => Promise<void> }[] = [];
  const asked: string[] = [];
  await page.routeWebSocket(/\/api\/v1\/ws/, (socket) => {
    const server = socket.connectToServer();
    sockets.push({ close: () => socket.close({ code: 1001, reason: 'cut' }) });
    socket.onMessage((message) => {
      asked.push(String(message));
      server.send(message);
    });
  });
  const session = await api.alert('stream');
  await page.goto(`/sessions/${session}`);
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await expect(timeline.getByText(/Part alpha/)).toBeVisible();
  const before = asked.length;
  await sockets.at(-1)?.close();
  await expect.poll(() => asked.slice(before).find((text) => text.includes(`session:${session}`))).toContain('"after"');
  await expect(page.getByRole('region', { name: 'Answer' })).toContainText('This is the end of it');
  // Every part is there, once, in its order.
  const answer = await page.getByRole('region', { name: 'Answer' }).innerText();
  expect([...answer.matchAll(/Part (\w+):/g)].map(([, word]) => word)).toEqual(['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel']);
  // What was heard live, over two sockets, is what the server tells anew.
  const rows = await timeline.getByRole('article').allInnerTexts();
  await page.reload();
  await expect(page.getByRole('region', { name: 'Answer' })).toContainText('This is the end of it');
  await expect(timeline.getByRole('article')).toHaveCount(rows.length);
  expect(await timeline.getByRole('article').allInnerTexts()).toEqual(rows);
});

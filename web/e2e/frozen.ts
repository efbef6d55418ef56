// A page in which time stands still, so that a picture of it is the same tomorrow: every time that the server tells is
// one and the same, every machine has the same keys, everything took equally long, and a plan waits for as long as on the day of the first picture.

import type { Page } from '@playwright/test';

const NOW = '2026-01-15T03:12:00Z';
const UNTIL = '2026-01-15T03:21:41Z';

function still(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, NOW)
    .replace(/"(expires_at|until)":"[^"]*"/g, `"$1":"${UNTIL}"`)
    .replace(/"(\w+_ms)":\d+(?:\.\d+)?/g, '"$1":84')
    .replace(/"(input_tokens|output_tokens)":\d+/g, '"$1":1200')
    // Which machine it is differs from one start of the lab to the next.
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:8006')
    .replace(/SHA256:[A-Za-z0-9+/]{43}/g, `SHA256:${'A'.repeat(43)}`)
    .replace(/(?:[0-9A-F]{2}:){31}[0-9A-F]{2}/g, Array(32).fill('AB').join(':'))
    .replace(/(?:[0-9a-f]{2}:){5}[0-9a-f]{2}/g, 'ab:ab:ab:ab:ab:ab')
    .replace(/rcp_[0-9a-f]+/g, (receipt) => receipt.replace(/[0-9a-f]/g, '0'));
}

export async function freeze(page: Page): Promise<void> {
  await page.clock.setFixedTime(NOW);
  await page.route('**/api/v1/**', async (route) => {
    // A line that was idle may be closed by the server just when it is used again.
    const response = await route.fetch({ maxRetries: 3 });
    await route.fulfill({ response, body: still(await response.text()) });
  });
  await page.routeWebSocket(/\/api\/v1\/ws/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => { socket.send(still(String(message))); });
  });
}

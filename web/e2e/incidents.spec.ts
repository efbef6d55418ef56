// An incident is on the overview until the alert or a person resolves it, whatever became of its session.

import { expect, test } from './fixtures';

test('an incident stays open when its session has ended; a person acknowledges and resolves it', async ({ page, api }) => {
  const alert = {
    alert_type: 'e2e-restart', fingerprint: 'e2e-incident', starts_at: '2026-01-01T00:00:00Z',
    data: { labels: { alertname: 'JellyfinDown', severity: 'critical' }, annotations: { summary: 'jellyfin does not answer' } },
  };
  const { incident, session } = await api.post<{ incident: string; session: string }>('/alerts', alert);
  await api.post(`/sessions/${session}/cancel`, {});
  const title = 'JellyfinDown: jellyfin does not answer';

  await page.goto('/');
  const open = page.getByRole('region', { name: /^Open incidents/ });
  await expect(open.getByRole('article').filter({ hasText: title })).toContainText('critical');
  await open.getByRole('link', { name: title }).click();
  await expect(page).toHaveURL(new RegExp(`/incidents/${incident}$`));
  await expect(page.getByRole('heading', { name: title, level: 1 })).toBeVisible();

  // The same firing again is the same incident.
  await api.post('/alerts', alert);
  await page.getByRole('button', { name: 'Acknowledge' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason (optional)').fill('I am looking at it');
  await dialog.getByRole('button', { name: 'Acknowledge' }).click();
  const happened = page.getByRole('region', { name: 'What happened' });
  await expect(happened).toContainText('Acknowledged by admin');
  await expect(happened).toContainText('I am looking at it');
  await expect(happened).toContainText('Alert repeated');

  await page.getByRole('button', { name: 'Resolve' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
  await expect(page.getByText('resolved, alert still firing')).toBeVisible();
  await api.post('/alerts', { ...alert, status: 'resolved' });
  await page.goto('/incidents?show=resolved');
  await expect(page.getByRole('article').filter({ hasText: title })).toBeVisible();
});

// How a page is looked at: when it is whole, what axe finds in it, whether it fits.

import AxeBuilder from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

/** Every page that needs nothing to have happened: its name, its path, its first heading. */
export const PAGES: [name: string, path: string, heading: string][] = [
  ['overview', '/', 'Overview'],
  ['incidents', '/incidents', 'Incidents'],
  ['approvals', '/approvals', 'Approvals'],
  ['sessions', '/sessions', 'Sessions'],
  ['chat', '/chat', 'Ask about your infrastructure'],
  ['infrastructure', '/infrastructure', 'Infrastructure'],
  ['graph', '/infrastructure?view=graph', 'Infrastructure'],
  ['resource', `/infrastructure/${encodeURIComponent('lxc:delly:150')}`, 'jellyfin'],
  ['tools', '/tools', 'Tools'],
  ['models', '/models', 'Models'],
  ['profile', '/settings/profile', 'Settings'],
  ['tokens', '/settings/tokens', 'Settings'],
  ['users', '/settings/users', 'Settings'],
  ['decisions', '/settings/decisions', 'Settings'],
  ['audit', '/settings/audit', 'Settings'],
  ['configuration', '/settings/configuration', 'Settings'],
  ['about', '/settings/about', 'Settings'],
];

/** Until nothing is being loaded any more, and the line to the server stands. */
export async function settled(page: Page): Promise<void> {
  await expect(page.getByText(/^Loading /)).toHaveCount(0);
  await expect(page.locator('.connection')).toHaveText('live');
}

/** What axe finds. */
export async function violations(page: Page): Promise<string[]> {
  const { violations: found } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']).analyze();
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}

/** By how many pixels the page is wider than the screen. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

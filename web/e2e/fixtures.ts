// What every test has: a page that is signed in, a second person with a browser of their own, and the API for what a
// test needs but is not about.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { type APIRequestContext, type Browser, type BrowserContext, type BrowserContextOptions, expect, type Page, test as base } from '@playwright/test';

export { expect };

export type Person = 'admin' | 'mara' | 'tom';

export function url(): string {
  return process.env.E2E_URL ?? '';
}

export function stateOf(person: Person): string {
  return join(process.env.E2E_FOLDER ?? '', `${person}.json`);
}

/** A browser of its own for somebody who is signed in. */
export async function browserOf(browser: Browser, person: Person, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({ baseURL: url(), storageState: stateOf(person), ...options });
}

/** The API, as a program with a token sees it. */
export class Api {
  private readonly request: APIRequestContext;

  constructor(request: APIRequestContext) {
    this.request = request;
  }

  async get<T>(path: string): Promise<T> {
    const response = await this.request.get(`/api/v1${path}`);
    expect(response.ok(), `GET ${path}: ${response.status()}`).toBe(true);
    return (await response.json()) as T;
  }

  async post<T>(path: string, data?: unknown): Promise<T> {
    const response = await this.request.post(`/api/v1${path}`, data === undefined ? {} : { data });
    expect(response.ok(), `POST ${path}: ${response.status()} ${await response.text()}`).toBe(true);
    return (await response.json()) as T;
  }

  /** Submits an alert that plays one of the scripts. */
  async alert(script: 'restart' | 'stream'): Promise<string> {
    const { session } = await this.post<{ session: string }>('/alerts', { alert_type: `e2e-${script}`, data: { about: `a test of ${script}` } });
    return session;
  }

  /** The hold that a session waits with. */
  async hold(session: string): Promise<string> {
    let found: string | undefined;
    await expect
      .poll(async () => {
        const { approvals } = await this.get<{ approvals: { id: string }[] }>(`/approvals?status=open&session=${session}`);
        found = approvals[0]?.id;
        return found;
      }, { message: `the session ${session} holds a write`, timeout: 30_000 })
      .toBeDefined();
    return found ?? '';
  }

  async status(session: string): Promise<string> {
    return (await this.get<{ status: string }>(`/sessions/${session}`)).status;
  }

  /** Waits until a session has ended. */
  async ended(session: string): Promise<string> {
    await expect.poll(() => this.status(session), { timeout: 45_000 }).toMatch(/completed|unverified|failed|cancelled|timed_out/);
    return this.status(session);
  }

  /** Cancels what still goes on, so that one test does not wait for another's. */
  async clear(): Promise<void> {
    const { sessions } = await this.get<{ sessions: { id: string }[] }>('/sessions?status=pending,in_progress,held&page_size=100');
    for (const { id } of sessions) {
      await this.post(`/sessions/${id}/cancel`);
      await this.ended(id);
    }
  }
}

/** A program: a token, and no cookies of anybody. */
export function program(token: string) {
  return { extraHTTPHeaders: { authorization: `Bearer ${token}` }, storageState: { cookies: [], origins: [] } };
}

/** The card of an approval. */
export function card(page: Page, id: string) {
  return page.locator(`#approval-${id}`);
}

export const test = base.extend<{ api: Api; mara: Page }>({
  baseURL: async ({}, give) => {
    await give(url());
  },
  storageState: async ({}, give) => {
    await give(stateOf('admin'));
  },
  api: async ({ playwright }, give) => {
    const token = readFileSync(join(process.env.E2E_FOLDER ?? '', 'token'), 'utf8');
    const request = await playwright.request.newContext({ ...program(token), baseURL: url() });
    const api = new Api(request);
    await give(api);
    await api.clear();
    await request.dispose();
  },
  mara: async ({ browser }, give) => {
    const context = await browserOf(browser, 'mara');
    await give(await context.newPage());
    await context.close();
  },
});

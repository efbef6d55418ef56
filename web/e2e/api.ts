// The API, as a program with a token sees it: for what a test needs but is not about.

import { type APIRequestContext, expect } from '@playwright/test';

import type { Script } from './world';

export interface Detail {
  status: string;
  actions: { kind: string }[];
  full_answer: string;
}

export interface Hold {
  id: string;
  status: string;
  decided_by: string;
  reason: string;
}

/** A program: a token, no cookies of anybody, and a fresh line for each question: an idle one may just be closing. */
export function program(token: string) {
  return { extraHTTPHeaders: { authorization: `Bearer ${token}`, connection: 'close' }, storageState: { cookies: [], origins: [] } };
}

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

  /** Posts what is refused: the status and the code. */
  async refused(path: string, data?: unknown): Promise<{ status: number; code: string }> {
    const response = await this.request.post(`/api/v1${path}`, data === undefined ? {} : { data });
    expect(response.ok(), `POST ${path} is refused`).toBe(false);
    return { status: response.status(), code: ((await response.json()) as { code: string }).code };
  }

  /** Submits an alert that plays one of the scripts. */
  async alert(script: Script): Promise<string> {
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
      }, { message: `the session ${session} holds a write`, timeout: 60_000 })
      .toBeDefined();
    return found ?? '';
  }

  /** Opens a hold: the permission to decide about exactly this plan. */
  async open(hold: string): Promise<{ token: string; plan_hash: string }> {
    const { token, approval } = await this.post<{ token: string; approval: { plan_hash: string } }>(`/approvals/${hold}/open`);
    return { token, plan_hash: approval.plan_hash };
  }

  async session(session: string): Promise<Detail> {
    return this.get<Detail>(`/sessions/${session}`);
  }

  /** How many writes a session has done. */
  async writes(session: string): Promise<number> {
    return (await this.session(session)).actions.filter(({ kind }) => kind === 'write').length;
  }

  /** Waits until a session has ended. */
  async ended(session: string): Promise<string> {
    await expect.poll(async () => (await this.session(session)).status, { timeout: 90_000 }).toMatch(/completed|unverified|failed|cancelled|timed_out/);
    return (await this.session(session)).status;
  }

  /** Cancels what still goes on, so that one test does not wait for another's. */
  async clear(): Promise<void> {
    const { sessions } = await this.get<{ sessions: { id: string }[] }>('/sessions?status=pending,in_progress,held&page_size=100');
    for (const { id } of sessions) await this.post(`/sessions/${id}/cancel`);
    for (const { id } of sessions) await this.ended(id);
  }
}

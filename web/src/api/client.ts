// The one way to the API: typed by the OpenAPI file, errors as `ApiError` with the server's words.

import type { components } from './schema';

export type Schemas = components['schemas'];
export type Problem = Schemas['Problem'];

/** What the server said instead of an answer. */
export class ApiError extends Error {
  readonly problem: Problem;
  /** After how many seconds it may be tried again, where the server said so. */
  readonly retryAfter: number | undefined;

  constructor(problem: Problem, retryAfter?: number) {
    super(problem.detail);
    this.name = 'ApiError';
    this.problem = problem;
    this.retryAfter = retryAfter;
  }

  get code(): string {
    return this.problem.code;
  }

  get status(): number {
    return this.problem.status;
  }
}

let csrf: string | undefined;

/** The token that goes with everything that changes something. Comes from `Me`. */
export function setCsrf(token: string | undefined | null): void {
  csrf = token ?? undefined;
}

export type Query = Record<string, string | number | boolean | undefined | null>;

function address(path: string, query?: Query): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return `/api/v1${path}${text === '' ? '' : `?${text}`}`;
}

async function request(method: string, path: string, options: { query?: Query; body?: unknown; signal?: AbortSignal }) {
  const headers: Record<string, string> = { accept: 'application/json' };
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' };
  if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(options.body);
  }
  if (method !== 'GET' && csrf !== undefined) headers['x-csrf-token'] = csrf;
  if (options.signal) init.signal = options.signal;
  let response: Response;
  try {
    response = await fetch(address(path, options.query), init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError({
      type: 'about:blank',
      title: 'The server cannot be reached',
      status: 0,
      detail: 'The server cannot be reached.',
      code: 'UNREACHABLE',
      hint: 'Check that `interlock serve` is running; the page retries automatically.',
    });
  }
  if (!response.ok) {
    const text = await response.text();
    let problem: Problem;
    try {
      problem = JSON.parse(text) as Problem;
    } catch {
      problem = {
        type: 'about:blank',
        title: response.statusText,
        status: response.status,
        detail: text.slice(0, 300) || response.statusText,
        code: 'UNEXPECTED',
      };
    }
    const wait = Number(response.headers.get('retry-after') ?? 'none');
    throw new ApiError(problem, Number.isFinite(wait) ? wait : undefined);
  }
  return response;
}

export const api = {
  async get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
    const response = await request('GET', path, { ...(query && { query }), ...(signal && { signal }) });
    return (await response.json()) as T;
  },
  async text(path: string): Promise<string> {
    return (await request('GET', path, {})).text();
  },
  async send<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const response = await request(method, path, body === undefined ? {} : { body });
    if (response.status === 204) return undefined as T;
    return (await response.json()) as T;
  },
};

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { ApiError } from '../../api/client';
import { providerProblem, signInProblem } from './words';

describe('why signing in did not work', () => {
  const problem = (status: number, code: string, wait?: number) => new ApiError({ type: '', title: '', status, detail: 'D', code }, wait);
  it.each([
    [problem(401, 'SIGN_IN_FAILED'), 'password', 'Name or password is wrong.', undefined],
    [problem(401, 'SIGN_IN_FAILED'), 'link', 'This link is not valid.', undefined],
    [problem(429, 'RATE_LIMITED', 17), 'password', 'Too many attempts.', 17],
    [problem(429, 'RATE_LIMITED'), 'link', 'Too many attempts.', 30],
    [problem(0, 'UNREACHABLE'), 'password', 'The server cannot be reached.', undefined],
    [problem(403, 'WRONG_ORIGIN'), 'password', 'The server does not accept this address.', undefined],
    [problem(503, 'UNAVAILABLE'), 'password', 'D', undefined],
  ] as const)('%o by %s', (error, way, title, wait) => {
    const said = signInProblem(error, way);
    expect([said.title, said.wait]).toEqual([title, wait]);
    expect(said.todo).not.toBe('');
  });
});

describe('why a provider sent somebody back', () => {
  it.each([
    ['FORBIDDEN', 'You do not have access to this server.'],
    ['SIGN_IN_OVER', 'This sign-in has expired.'],
    ['UNAVAILABLE', 'The provider cannot be reached.'],
    ['SIGN_IN_FAILED', 'Signing in with the provider failed.'],
  ])('%s', (code, title) => {
    const said = providerProblem(code);
    expect(said.title).toBe(title);
    expect(said.todo).not.toBe('');
  });
});

describe('a sign-in link', () => {
  beforeEach(() => {
    vi.resetModules();
  });
  // First: modules of the other tests still listen, and a link is given once.
  it('is heard when it comes into an open page', async () => {
    window.history.replaceState(null, '', '/sign-in');
    const { takeLink, watchLink } = await import('../../link');
    const told = vi.fn();
    watchLink(told);
    window.history.replaceState(null, '', '/sign-in#link=later');
    window.dispatchEvent(new HashChangeEvent('hashchange'));
    expect(told).toHaveBeenCalledOnce();
    expect(takeLink()).toBe('later');
  });
  it('is out of the address bar before anything else, and is given once', async () => {
    window.history.replaceState(null, '', '/sign-in?to=%2Fapprovals#link=abc');
    const { takeLink } = await import('../../link');
    expect(window.location.href).not.toContain('abc');
    expect(window.location.search).toBe('?to=%2Fapprovals');
    expect(takeLink()).toBe('abc');
    expect(takeLink()).toBeUndefined();
  });
  it('is left alone on other pages', async () => {
    window.history.replaceState(null, '', '/sessions#link=abc');
    const { takeLink } = await import('../../link');
    expect(takeLink()).toBeUndefined();
    expect(window.location.hash).toBe('#link=abc');
  });
});

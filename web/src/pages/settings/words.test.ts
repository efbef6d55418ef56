import { describe, expect, it } from 'vitest';

import { ApiError } from '../../api/client';
import { curl, mayGive, passwordProblem, refusedBecause, tokenState } from './words';

describe('settings', () => {
  it.each([
    ['short', 'short', 'At least 12 characters.'],
    ['long enough 12', 'long enough 13', 'The passwords do not match.'],
    ['long enough 12', 'long enough 12', undefined],
    ['🔑🔑🔑🔑🔑🔑', '🔑🔑🔑🔑🔑🔑', 'At least 12 characters.'],
  ])('the password %j', (password, again, problem) => {
    expect(passwordProblem(password, again)).toBe(problem);
  });

  it.each([
    [{ expires_at: null, revoked_at: null }, 'works'],
    [{ expires_at: '2026-01-02T00:00:00Z', revoked_at: null }, 'works'],
    [{ expires_at: '2026-01-01T00:00:00Z', revoked_at: null }, 'expired'],
    [{ expires_at: '2027-01-01T00:00:00Z', revoked_at: '2025-12-31T00:00:00Z' }, 'revoked'],
  ])('the token %j %s', (token, state) => {
    expect(tokenState(token, Date.parse('2026-01-01T00:00:00Z'))).toBe(state);
  });

  it('never gives more than one has', () => {
    expect(mayGive(['read', 'operate'], 'operate')).toBe(true);
    expect(mayGive(['read', 'operate'], 'approve')).toBe(false);
  });

  it('says what to do about the last admin', () => {
    const problem = { type: '', title: '', status: 409, code: 'CONFLICT', detail: 'This is the last admin.', hint: null };
    expect(refusedBecause(new ApiError(problem))).toContain('make another user admin first');
    expect(refusedBecause(new ApiError({ ...problem, status: 404, detail: 'No such user.', hint: 'Reload.' }))).toBe('No such user. Reload.');
  });

  it('keeps the secret out of the command', () => {
    expect(curl('http://127.0.0.1:7878')).not.toContain('ilk_');
  });
});

// Why signing in did not work, in words.

import { ApiError } from '../../api/client';

export interface Said {
  title: string;
  todo: string;
  /** Until when trying again is pointless, in seconds from now. */
  wait?: number;
}

export function signInProblem(error: unknown, way: 'password' | 'link'): Said {
  if (!(error instanceof ApiError)) return { title: 'The page had an internal error.', todo: 'Reload the page.' };
  if (error.status === 0) return { title: 'The server cannot be reached.', todo: 'Check that interlock serve is running, then try again.' };
  if (error.status === 429) {
    const wait = error.retryAfter ?? 30;
    return { title: 'Too many attempts.', todo: 'Earlier attempts make the wait longer.', wait };
  }
  if (error.code === 'WRONG_ORIGIN') {
    return { title: 'The server does not accept this address.', todo: error.problem.hint ?? 'Open the page at the address in server.public_url.' };
  }
  if (error.code === 'SIGN_IN_FAILED' || error.status === 401) {
    return way === 'link'
      ? { title: 'This link is not valid.', todo: 'A link works only once and expires. Ask an admin for a new one, or run interlock user link NAME on the server.' }
      : { title: 'Name or password is wrong.', todo: 'Try again. If you have no password, an admin can create a sign-in link for you.' };
  }
  return { title: error.problem.detail, todo: error.problem.hint ?? 'Try again.' };
}

/** Why a provider's sign-in came back without one: the code that the server puts into the address. */
export function providerProblem(code: string): Said {
  if (code === 'FORBIDDEN') {
    return { title: 'You do not have access to this server.', todo: 'None of your groups has a role here. An admin can map one under server.oidc.roles.' };
  }
  if (code === 'SIGN_IN_OVER') {
    return { title: 'This sign-in has expired.', todo: 'It took too long, or the server restarted in between. Sign in again.' };
  }
  if (code === 'RATE_LIMITED') return { title: 'Too many attempts.', todo: 'Wait a moment, then try again.' };
  if (code === 'UNAVAILABLE') {
    return { title: 'The provider cannot be reached.', todo: 'Try again later; the log of the server says why.' };
  }
  return { title: 'Signing in with the provider failed.', todo: 'Try again in this browser; the log of the server says why.' };
}

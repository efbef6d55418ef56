// Roles, rights and problems in words.

import { ApiError, type Schemas } from '../../api/client';

type Role = Schemas['Role'];
type Scope = Schemas['Scope'];

export const ROLES: { value: Role; label: string; may: string }[] = [
  { value: 'viewer', label: 'Viewer', may: 'can read everything, but change nothing' },
  { value: 'operator', label: 'Operator', may: 'can also ask questions, submit alerts, cancel sessions and stop all writes' },
  { value: 'approver', label: 'Approver', may: 'can also approve, deny and edit plans' },
  { value: 'admin', label: 'Admin', may: 'can also manage users and tokens, read the audit log and resume writes' },
];

export const SCOPES: { value: Scope; label: string; may: string }[] = [
  { value: 'read', label: 'read', may: 'read everything' },
  { value: 'operate', label: 'operate', may: 'submit alerts, ask questions, cancel sessions, stop writes' },
  { value: 'approve', label: 'approve', may: 'approve, deny and edit plans' },
  { value: 'admin', label: 'admin', may: 'manage users and tokens, resume writes' },
];

/** Whether somebody with these rights may give this one to a token. */
export function mayGive(may: readonly Scope[], scope: Scope): boolean {
  return may.includes(scope);
}

export const SHORTEST = 12;

/** What is wrong with a new password, in words; nothing if it will do. */
export function passwordProblem(password: string, again: string): string | undefined {
  if (Array.from(password).length < SHORTEST) return `At least ${SHORTEST} characters.`;
  if (password !== again) return 'The passwords do not match.';
  return undefined;
}

/** What a change of a person was refused for. The last admin is the one case that needs more words than the server has. */
export function refusedBecause(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The page had an internal error. Reload it.';
  const { detail, hint } = error.problem;
  if (error.status === 409 && /admin/i.test(detail))
    return `${detail} At least one admin is required: make another user admin first.`;
  return hint ? `${detail} ${hint}` : detail;
}

/** How a token stands. */
export function tokenState(token: Pick<Schemas['Token'], 'expires_at' | 'revoked_at'>, now: number): 'works' | 'revoked' | 'expired' {
  if (token.revoked_at) return 'revoked';
  if (token.expires_at && Date.parse(token.expires_at) <= now) return 'expired';
  return 'works';
}

/** How to use a token, to copy. The secret goes through the environment, so that it is in no history. */
export function curl(origin: string): string {
  return `curl --fail --silent --header "Authorization: Bearer $INTERLOCK_TOKEN" ${origin}/api/v1/overview`;
}

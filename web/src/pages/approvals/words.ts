// What an approval is and became, in words. No markup, no requests: a table of cases tests it.

import { ApiError, type Schemas } from '../../api/client';
import { reveal } from '../../lib/visible';
import type { Tone } from '../../theme';

export type Approval = Schemas['Approval'];

/** What the plan does, as a heading: `Restart jellyfin.service on homepage-docker`. */
export function planTitle(plan: Approval['plan']): string {
  const where = plan.resource_name ?? plan.resource;
  const what = heading(plan);
  return reveal(where && !what.endsWith(where) ? `${what} on ${where}` : what).text;
}

/** Arguments that say what an action is done to, where it is a part of the resource. */
const OBJECTS = ['unit', 'service', 'container', 'path', 'file_path', 'name'] as const;

function heading(plan: Approval['plan']): string {
  const { command, action, tool } = plan;
  if (command && command.length <= 80 && !command.includes('\n')) return `Run ${command}`;
  if (!action) return tool;
  const words = action.replaceAll('_', ' ');
  const args: Record<string, unknown> = plan.arguments;
  const object = OBJECTS.map((name) => args[name]).find((value): value is string => typeof value === 'string' && value !== '' && value.length <= 80);
  const said = `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
  return object === undefined || object === plan.resource ? said : `${said} ${object}`;
}

export interface Row {
  label: string;
  value: string;
  /** To be read letter by letter. */
  exact: boolean;
  /** Too long for a table: shown folded. */
  long: boolean;
  /** How many characters were written out because they do not print. */
  hidden: number;
}

const LABELS: Record<string, string> = { tool: 'Tool', resource: 'Resource', machine: 'Machine', command: 'Command', afterwards: 'Afterwards', 'at most': 'Timeout' };

/** The rows of the plan, complete, with words for people. Risk has its own place below. */
export function planRows(plan: Approval['plan']): Row[] {
  return plan.steps
    .filter((step) => step.label !== 'risk')
    // Where it is done stands elsewhere on the card already.
    .filter((step) => !(/^argument target_/i.test(step.label) && (step.value === plan.resource || step.value === plan.resource_name)))
    .map((step) => ({
      label: LABELS[step.label] ?? step.label.replace(/^argument /i, ''),
      // Only the hash of what is expected is shortened: what will run is shown letter by letter.
      value: step.label === 'afterwards' ? step.shown.replace(HASH, (hash) => `${hash.slice(0, 12)}…`) : step.shown,
      exact: step.label !== 'afterwards' && step.label !== 'at most',
      long: step.shown.length > 400 || step.shown.split('\n').length > 6,
      hidden: step.hidden,
    }));
}

/** A hash as people compare them: its beginning. The whole one is in the plan that is signed. */
const HASH = /\b[0-9a-f]{64}\b/g;

/** The name under which code's own readings stand in the record. */
const OBSERVER = 'code.observe';

/** What was read: what was asked, who asked where it was no call, and the first line that came out. */
export function reading(evidence: Schemas['EvidenceRef']): { asked: string; exact: boolean; line: string } {
  const field = (name: string): string | undefined => {
    const raw = new RegExp(`"${name}": ?"((?:[^"\\\\]|\\\\.)*)`).exec(evidence.excerpt)?.[1];
    return raw?.replace(/\\n/g, '\n').replace(/\\t/g, '\t').replace(/\\(["\\/])/g, '$1');
  };
  const out = field('stdout') ?? field('content') ?? evidence.excerpt;
  const asked = evidence.command ?? (evidence.tool === OBSERVER ? 'read by Interlock' : evidence.tool);
  return { asked, exact: evidence.command !== undefined && evidence.command !== null, line: out.split('\n').find((line) => /[^\s{}[\]]/.test(line))?.trim() ?? '' };
}

const RISKS: Record<Schemas['RiskLevel'], string> = {
  low: 'Low risk: easy to undo.',
  medium: 'Medium risk: the resource may be in use, and its service may be interrupted.',
  high: 'High risk: damage may be permanent. Read every line of the plan.',
};

export function riskWords(risk: Schemas['RiskLevel']): string {
  return RISKS[risk];
}

export interface Step {
  tone: Tone;
  words: string;
  /** Whether it still goes on. */
  busy?: boolean;
}

const OUTCOMES: Record<Schemas['Outcome'], Step> = {
  succeeded: { tone: 'plain', words: 'The call ran without an error.' },
  failed: { tone: 'failed', words: 'The call ran and failed.' },
  timed_out: { tone: 'failed', words: 'The call timed out and was stopped. It may have had an effect in part.' },
  interrupted_unknown: { tone: 'failed', words: 'The call was interrupted, and its outcome is unknown. Check the resource before you try again.' },
  cancelled: { tone: 'plain', words: 'The call was cancelled before it ended.' },
};

const VERIFICATIONS: Record<Schemas['Verification'], Step> = {
  verified: { tone: 'verified', words: 'Verified: a reading of the same resource shows the expected state.' },
  failed: { tone: 'failed', words: 'Not as expected: a reading of the same resource shows another state.' },
  observed: { tone: 'plain', words: 'Not verified: the resource was read afterwards, but this change has no expected state to compare with.' },
  inconclusive: { tone: 'failed', words: 'Not verified: the reading does not show whether the change worked.' },
};

/** What is known beside the approval itself. */
export interface Known {
  /** The time, by the server's clock. */
  now?: number;
}

/** After this long without a sign of life the card stops saying that it is about to run. */
const QUIET = 120_000;

/** What happened after the yes, as far as it is known: approved → ran → verified. */
export function progress(approval: Approval, known: Known = {}): Step[] {
  if (approval.status !== 'approved') return [];
  const steps: Step[] = [{ tone: 'plain', words: `Approved${approval.decided_by ? ` by ${approval.decided_by}` : ''}.` }];
  const { action, not_run: not } = approval;
  if (!action) {
    if (not) {
      // What no rule decided was not refused: the session was stopped, or went on without it.
      const words = not.code ? `Refused before it ran, so nothing was done: ${not.message}` : not.message;
      steps.push({ tone: not.code ? 'refused' : 'plain', words });
      return steps;
    }
    if (known.now !== undefined && known.now - Date.parse(approval.decided_at ?? '') > QUIET) {
      steps.push({ tone: 'plain', words: 'There is no receipt yet, so it is not known whether the plan ran. Open the session for details.' });
      return steps;
    }
    steps.push({ tone: 'write', words: 'Checking against the current state before it runs…', busy: true });
    return steps;
  }
  if (!action.outcome) {
    steps.push({ tone: 'write', words: 'Running…', busy: true });
    return steps;
  }
  steps.push(OUTCOMES[action.outcome]);
  if (action.verification) steps.push(VERIFICATIONS[action.verification]);
  else if (action.outcome === 'succeeded') steps.push({ tone: 'read', words: 'Reading the resource to verify the change…', busy: true });
  return steps;
}

/** Whether something about it is still to come. */
export function unfinished(approval: Approval, known: Known = {}): boolean {
  return approval.status === 'pending' || progress(approval, known).some((step) => step.busy === true);
}

/** How it ended, for what was not approved; nothing while it waits. */
export function ending(approval: Approval): Step | undefined {
  const by = approval.decided_by ? ` by ${approval.decided_by}` : '';
  switch (approval.status) {
    case 'pending':
    case 'approved':
      return undefined;
    case 'denied':
      return { tone: 'refused', words: `Denied${by}. The agent was told why and continued without the change.` };
    case 'edited':
      return { tone: 'plain', words: `Edited${by}. The changed plan waits in its own card.` };
    case 'expired':
      return { tone: 'refused', words: 'Expired without a decision, so nothing was done. If the change is still needed, ask for it again in the session.' };
    case 'withdrawn':
      return { tone: 'plain', words: 'Withdrawn: the session ended before a decision. Nothing was done.' };
    default:
      return { tone: 'plain', words: `Status: ${approval.status}. Open the session for details.` };
  }
}

export interface Trouble {
  title: string;
  meaning: string;
  todo: string;
  code?: string | undefined;
}

/** The gate's own code, which says more than that it said no. */
function ruleOf(error: ApiError): string | undefined {
  const facts: Record<string, unknown> = error.problem.details ?? {};
  return typeof facts.code === 'string' ? facts.code : undefined;
}

/** Why a decision did not take, in words. `seen` is what was on the screen, `now` what the server says after. */
export function trouble(error: unknown, seen: Approval, now: Approval | undefined, doing: 'deciding' | 'editing' = 'deciding'): Trouble {
  if (!(error instanceof ApiError)) {
    return {
      title: 'The page had an internal error',
      meaning: error instanceof Error ? error.message : String(error),
      todo: 'Reload the page and check whether your decision was recorded before you repeat it.',
    };
  }
  const { code, status, problem } = error;
  const todo = problem.hint ?? undefined;
  if (status === 0) {
    return {
      title: 'The server did not answer',
      meaning: 'It is not known whether your decision arrived.',
      todo: 'Wait until the connection is restored. This card then shows the current state.',
      code,
    };
  }
  if (now && now.status !== 'pending') {
    const who = now.decided_by ?? 'another person';
    const what: Record<string, string> = {
      approved: `${who} approved it`, denied: `${who} denied it`, edited: `${who} edited it`,
      expired: 'It expired', withdrawn: 'The session withdrew it',
    };
    return {
      title: `${what[now.status] ?? `It was ${now.status}`} before your decision arrived`,
      meaning: 'Your decision had no effect.',
      todo: now.status === 'edited' ? 'Read the changed plan below.' : now.status === 'expired' ? 'If the change is still needed, ask for it again in the session.' : 'Nothing more to do here.',
      code,
    };
  }
  if (now && now.plan_hash !== seen.plan_hash) {
    return {
      title: 'The plan has changed',
      meaning: 'The plan changed while the card was open, so your decision was not recorded.',
      todo: 'The card now shows the current plan. Read it again, then decide.',
      code,
    };
  }
  if (now && !now.may_approve && now.four_eyes) {
    return {
      title: 'Another person must approve this',
      meaning: now.may_not_because ?? problem.detail,
      todo: 'Send the link of this page to another approver. You can still deny it.',
      code,
    };
  }
  if (code === 'ACTION_NOT_ALLOWED') {
    return {
      title: 'The gate refused it',
      meaning: problem.detail,
      todo: todo ?? (doing === 'editing'
        ? 'Correct the arguments, or discard your changes.'
        : 'The state changed since the plan was made. Edit the plan, or deny it with this reason so that the agent checks again.'),
      code: ruleOf(error) ?? code,
    };
  }
  if (code === 'CSRF_FAILED' || status === 401) {
    return { title: 'You are signed out', meaning: problem.detail, todo: 'Sign in again. The plan keeps waiting.', code };
  }
  if (status === 403) {
    return { title: 'Decision not recorded', meaning: problem.detail, todo: todo ?? 'Click Approve again to get a new approval token.', code };
  }
  return { title: problem.title, meaning: problem.detail, todo: todo ?? 'Read the card again, then try again.', code };
}

/** What a screen reader says when a new one waits. */
export function announcement(approval: Approval): string {
  return `Approval required: ${planTitle(approval.plan)}. ${approval.blast_radius}`;
}

import { describe, expect, it } from 'vitest';

import { ApiError } from '../../api/client';
import { reveal, unreveal } from '../../lib/visible';
import { changesOf, draftOf, fieldsOf, readDraft, readRaw } from './edit';
import { cardsToShow } from './lists';
import { type Approval, ending, planRows, planTitle, progress, reading, trouble, unfinished } from './words';

function approval(change: Partial<Approval> = {}): Approval {
  return {
    id: 'hold_1', session: 'ses_1', session_title: 'crash', call: 'call_1', plan_hash: 'aa', reasons: [], blast_radius: '1 service',
    evidence: [], four_eyes: false, may_approve: true, opened_at: '2026-01-01T00:00:00Z', expires_at: '2026-01-01T00:10:00Z', status: 'pending',
    plan: {
      tool: 'infra_control', action: 'restart', arguments: {}, kind: 'write', risk: 'low', resource: 'lxc:a:1', resource_name: 'web', timeout_seconds: 60,
      steps: [], identity: [], hidden_characters: 0,
    },
    ...change,
  };
}

function action(change: Partial<NonNullable<Approval['action']>>): NonNullable<Approval['action']> {
  return { permit: 'p', call: 'c', tool: 't', kind: 'write', summary: 's', started_at: '2026-01-01T00:00:00Z', ...change };
}

function problem(status: number, code: string, hint?: string): ApiError {
  return new ApiError({ type: '', title: 'T', status, detail: 'D', code, ...(hint !== undefined && { hint }) });
}

describe('what came of it', () => {
  it.each<[string, Partial<Approval>, string[], boolean]>([
    ['waits', {}, [], true],
    ['was approved', { status: 'approved' }, ['plain', 'write'], true],
    ['runs', { status: 'approved', action: action({}) }, ['plain', 'write'], true],
    ['ran', { status: 'approved', action: action({ outcome: 'succeeded' }) }, ['plain', 'plain', 'read'], true],
    ['was verified', { status: 'approved', action: action({ outcome: 'succeeded', verification: 'verified' }) }, ['plain', 'plain', 'verified'], false],
    ['ran and is not as expected', { status: 'approved', action: action({ outcome: 'succeeded', verification: 'failed' }) }, ['plain', 'plain', 'failed'], false],
    ['is inconclusive', { status: 'approved', action: action({ outcome: 'succeeded', verification: 'inconclusive' }) }, ['plain', 'plain', 'failed'], false],
    ['failed', { status: 'approved', action: action({ outcome: 'failed' }) }, ['plain', 'failed'], false],
    ['nobody knows', { status: 'approved', action: action({ outcome: 'interrupted_unknown' }) }, ['plain', 'failed'], false],
    ['denied', { status: 'denied' }, [], false],
  ])('%s', (_, change, tones, busy) => {
    expect(progress(approval(change)).map((step) => step.tone)).toEqual(tones);
    expect(unfinished(approval(change))).toBe(busy);
  });

  it.each<[string, NonNullable<Approval['not_run']>, string, string]>([
    ['was refused when it was to run', { at: '2026-01-01T00:01:01Z', code: 'STATE_CHANGED', rule: 'redeem', message: 'It is stopped now.', changes: [] }, 'refused', 'Refused before it ran, so nothing was done: It is stopped now.'],
    ['came too late', { at: '2026-01-01T00:01:01Z', message: 'Not run: the next question came first.', changes: [] }, 'plain', 'Not run: the next question came first.'],
  ])('%s, and says so', (_, not, tone, words) => {
    const yes = approval({ status: 'approved', decided_at: '2026-01-01T00:01:00Z', not_run: not });
    expect(progress(yes).at(-1)).toEqual({ tone, words });
    expect(unfinished(yes)).toBe(false);
  });

  it.each([
    [{ command: 'df -h /srv', excerpt: '{"stdout": "Filesystem\\nx"}' }, { asked: 'df -h /srv', exact: true, line: 'Filesystem' }],
    [{ excerpt: '{\n  "state": "running"\n}' }, { asked: 't', exact: false, line: '"state": "running"' }],
    [{ tool: 'code.observe', excerpt: 'active' }, { asked: 'read by Interlock', exact: false, line: 'active' }],
  ])('a reading says what was asked: %j', (change, wanted) => {
    expect(reading({ id: 'e', tool: 't', taken_at: '2026-01-01T00:00:00Z', ...change })).toEqual(wanted);
  });

  it('does not say for ever that it is about to run', () => {
    const yes = approval({ status: 'approved', decided_at: '2026-01-01T00:00:00Z' });
    expect(unfinished(yes, { now: Date.parse('2026-01-01T00:01:00Z') })).toBe(true);
    expect(unfinished(yes, { now: Date.parse('2026-01-01T00:03:00Z') })).toBe(false);
  });

  it('is green only when it was verified', () => {
    for (const verification of ['failed', 'observed', 'inconclusive', null] as const) {
      const steps = progress(approval({ status: 'approved', action: action({ outcome: 'succeeded', verification }) }));
      expect(steps.map((step) => step.tone)).not.toContain('verified');
    }
  });

  it.each(['denied', 'edited', 'expired', 'withdrawn', 'something new'])('%s has words', (status) => {
    expect(ending(approval({ status }))?.words).toBeTruthy();
  });
  it.each(['pending', 'approved'])('%s has no ending of that kind', (status) => {
    expect(ending(approval({ status }))).toBeUndefined();
  });
});

describe('why a decision did not take', () => {
  const seen = approval();
  it.each<[string, unknown, Approval | undefined, string]>([
    ['somebody was faster', problem(409, 'CONFLICT'), approval({ status: 'denied', decided_by: 'bert' }), 'bert denied it before your decision arrived'],
    ['the time was up', problem(409, 'CONFLICT'), approval({ status: 'expired' }), 'It expired before your decision arrived'],
    ['another plan', problem(409, 'CONFLICT'), approval({ plan_hash: 'bb' }), 'The plan has changed'],
    ['four eyes', problem(403, 'FORBIDDEN'), approval({ may_approve: false, four_eyes: true }), 'Another person must approve this'],
    ['live state changed', problem(403, 'ACTION_NOT_ALLOWED'), seen, 'The gate refused it'],
    ['the token is old', problem(403, 'FORBIDDEN'), seen, 'Decision not recorded'],
    ['no answer', problem(0, 'UNREACHABLE'), undefined, 'The server did not answer'],
    ['signed out', problem(401, 'UNAUTHENTICATED'), undefined, 'You are signed out'],
    ['a fault of the page', new Error('boom'), seen, 'The page had an internal error'],
    ['anything else', problem(409, 'CONFLICT'), seen, 'T'],
  ])('%s', (_, error, now, title) => {
    const told = trouble(error, seen, now);
    expect(told.title).toBe(title);
    expect(told.todo).not.toBe('');
    expect(told.meaning).not.toBe('');
  });
  it('says of a refused edit what to do about the arguments, and names the rule', () => {
    const details = { code: 'STRICT_RESOLUTION' } as unknown as NonNullable<ApiError['problem']['details']>;
    const refused = new ApiError({ type: '', title: 'T', status: 403, detail: 'D', code: 'ACTION_NOT_ALLOWED', details });
    expect(trouble(refused, seen, seen, 'editing')).toEqual({
      title: 'The gate refused it', meaning: 'D', todo: 'Correct the arguments, or discard your changes.', code: 'STRICT_RESOLUTION',
    });
  });
  it('uses what the server says to do', () => {
    expect(trouble(problem(403, 'ACTION_NOT_ALLOWED', 'Refresh.'), seen, seen).todo).toBe('Refresh.');
  });
});

describe('the heading and the rows of a plan', () => {
  it.each<[Partial<Approval['plan']>, string]>([
    [{}, 'Restart on web'],
    [{ command: 'systemctl restart x' }, 'Run systemctl restart x on web'],
    [{ command: 'a\nb' }, 'Restart on web'],
    [{ action: null }, 'infra_control on web'],
    [{ action: null, resource: null, resource_name: null }, 'infra_control'],
  ])('%j is %s', (change, title) => {
    expect(planTitle({ ...approval().plan, ...change })).toBe(title);
  });
  it('names what it is done to', () => {
    const args = { unit: 'jellyfin.service' } as unknown as Approval['plan']['arguments'];
    expect(planTitle({ ...approval().plan, arguments: args })).toBe('Restart jellyfin.service on web');
  });
  const step = (label: string, value: string) => ({ label, value, shown: reveal(value).text, hidden: reveal(value).hidden });
  it('shows every row but the risk, which has its own words', () => {
    const steps = [step('tool', 't'), step('argument unit', 'x'), step('risk', 'low'), step('argument content', 'l\n'.repeat(9))];
    expect(planRows({ ...approval().plan, steps, diff: 'd' })).toEqual([
      { label: 'Tool', value: 't', exact: true, long: false, hidden: 0 }, { label: 'unit', value: 'x', exact: true, long: false, hidden: 0 },
      { label: 'content', value: 'l\n'.repeat(9), exact: true, long: true, hidden: 0 },
    ]);
  });
  it.each([
    'rm -rf /srv\u202e/gnimoc', 'a\u200bb', 'x\u001b[2Jy', 'cat \u2066f\u2069', 'e\u0301\u0302\u0303\u0304', '⟦U+202E⟧', `${'ab'.repeat(32)} ${'0'.repeat(64)}`,
    'long\n'.repeat(5000),
  ])('shows what will run, to the last byte: %j', (value) => {
    const rows = planRows({ ...approval().plan, steps: [step('command', value), step('argument content', value)] });
    for (const row of rows) {
      expect(unreveal(row.value)).toBe(value);
      expect(row.hidden > 0).toBe(row.value !== value);
    }
  });
  it('shortens the hash of what is expected and no other', () => {
    const hash = '0'.repeat(64);
    const rows = planRows({ ...approval().plan, steps: [step('command', `echo ${hash}`), step('afterwards', `it must be ${hash}`)] });
    expect(rows.map((row) => row.value)).toEqual([`echo ${hash}`, 'it must be 000000000000…']);
  });
  it('has no hidden characters in its heading', () => {
    expect(planTitle({ ...approval().plan, command: 'ls \u202egnp.x' })).toBe('Run ls ⟦U+202E⟧gnp.x on web');
  });
});

describe('the cards of a list', () => {
  const open = (id: string, parent?: string) =>
    approval({ id, ...(parent !== undefined && { edited_from: { hold: parent, plan_hash: 'x', by: 'anna', changes: [] } }) });
  it.each<[string, string[], Approval[], string[]]>([
    ['new ones come after those that were there', ['a'], [open('b'), open('a')], ['a', 'b']],
    ['what was decided stays', ['a', 'b'], [open('b')], ['a', 'b']],
    ['an edited plan is inside the card it was edited in', ['a'], [open('b', 'a')], ['a']],
    ['an edited plan stands alone when its origin is not shown', [], [open('b', 'z')], ['b']],
  ])('%s', (_, kept, list, wanted) => {
    expect(cardsToShow(kept, list)).toEqual(wanted);
  });
});

describe('arguments as a form', () => {
  const schema = {
    required: ['unit'],
    properties: {
      unit: { type: 'string', description: 'Which.' }, action: { type: 'string', enum: ['start', 'stop'] }, seconds: { type: ['integer', 'null'] },
      force: { type: 'boolean' }, env: { type: 'object' },
    },
  };
  const before = { unit: 'a.service', action: 'stop', env: { A: '1' }, extra: [1] };
  const fields = fieldsOf(schema, before);

  it('has a fitting field for each, also for what the schema does not know', () => {
    expect(fields.map(({ name, kind, required }) => [name, kind, required])).toEqual([
      ['unit', 'text', true], ['action', 'choice', false], ['seconds', 'number', false], ['force', 'switch', false], ['env', 'json', false], ['extra', 'json', false],
    ]);
  });
  it('gives back what it was given', () => {
    expect(readDraft(fields, draftOf(fields, before), before)).toEqual({ arguments: before, errors: {} });
  });
  it('reads numbers, switches and JSON', () => {
    const draft = { ...draftOf(fields, before), seconds: '30', force: true, env: '{"B":2}' };
    expect(readDraft(fields, draft, before).arguments).toEqual({ ...before, seconds: 30, force: true, env: { B: 2 } });
  });
  it('says what is wrong, by field', () => {
    const { errors } = readDraft(fields, { ...draftOf(fields, before), unit: undefined, seconds: 'x', env: '{' }, before);
    expect(Object.keys(errors).sort()).toEqual(['env', 'seconds', 'unit']);
  });
  it('a text that was there can be emptied; one that was not stays away', () => {
    const some = fieldsOf({ properties: { a: { type: 'string' }, b: { type: 'string' } } }, { a: 'x' });
    expect(readDraft(some, { a: '', b: '' }, { a: 'x' }).arguments).toEqual({ a: '' });
  });
  it.each([['{"a":1}', { arguments: { a: 1 } }], ['[1]', { error: expect.any(String) as string }], ['x', { error: expect.any(String) as string }]])('reads %s', (text, wanted) => {
    expect(readRaw(text)).toEqual(wanted);
  });
  it('says what differs, deeply', () => {
    expect(changesOf({ a: 1, b: { c: [1, 2] }, gone: 1 }, { a: 1, b: { c: [1, 3] }, come: 2 })).toEqual([
      { field: 'b', before: { c: [1, 2] }, after: { c: [1, 3] } },
      { field: 'gone', before: 1, after: undefined },
      { field: 'come', before: undefined, after: 2 },
    ]);
  });
});

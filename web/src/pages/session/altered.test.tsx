// A session whose rows were changed: the page says so first, above the head and above the answer.

import { MantineProvider } from '@mantine/core';
import { render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../api/client';
import { Altered } from './Altered';
import { Answer } from './Answer';

const CHANGED = 'The record of this session was changed outside Interlock (receipts). Nothing below is proven. Run interlock audit verify.';

const head = (state: Schemas['RecordState']): Schemas['Head'] => ({
  record: { state, what: state === 'altered' ? 'receipts' : null },
  actions: [], earlier_actions: 0, not_run: [], earlier_not_run: 0, readings: 1, earlier_readings: 0, support: null, backed: 0, unbacked: 0, hidden: 0, withheld: null,
  lines: [...(state === 'altered' ? [{ tone: 'failed' as const, text: CHANGED }] : []), { tone: 'fact', text: 'No action was taken.' }],
});

const detail = (state: Schemas['RecordState']) => ({
  head: head(state), full_answer: 'All is well.', grounds: [], actions: [], status: 'completed', usage: { calls: 1, input_tokens: 1, output_tokens: 1 },
  runs: [{ id: 'run_1', input: 'question', status: 'completed', started_at: '2026-01-01T00:00:00Z' }],
}) as unknown as Schemas['SessionDetail'];

describe('the record of a session', () => {
  it.each(['signed', 'in_progress', 'older', 'unsigned'] as const)('says nothing if it is %s', (state) => {
    const { container } = render(<MantineProvider><Altered head={head(state)} /></MantineProvider>);
    expect(container.querySelector('[role="alert"]')).toBeNull();
  });

  it('is said to be changed, and what to do', () => {
    const { container } = render(<MantineProvider><Altered head={head('altered')} /></MantineProvider>);
    const alert = container.querySelector('[role="alert"]');
    expect(alert?.textContent).toContain('was changed outside Interlock');
    expect(alert?.textContent).toContain('Changed: receipts.');
    expect(alert?.textContent).toContain('interlock audit verify');
  });

  it('is the first line of the head', () => {
    const { container } = render(<MantineProvider><Answer detail={detail('altered')} entries={[]} onEvidence={() => undefined} /></MantineProvider>);
    expect(container.querySelector('section[aria-label="What was done and read"] li')?.textContent).toContain(CHANGED);
  });
});

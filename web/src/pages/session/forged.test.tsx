// Answers that pretend to be the page: each stays in the model's frame, below a head that it does not change.

import { MantineProvider } from '@mantine/core';
import { render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import forged from '../../../../crates/protocol/tests/forged.json';
import type { Schemas } from '../../api/client';
import { composed } from '../../lib/visible';
import { Answer } from './Answer';

const head: Schemas['Head'] = {
  record: { state: 'signed', what: null }, earlier_not_run: 0,
  actions: [], earlier_actions: 0, readings: 0, earlier_readings: 0, support: 'unsupported', backed: 0, unbacked: 0, hidden: 0,
  not_run: [{ reason: 'denied', what: 'restart', resource: 'lxc:delly:105', name: 'jellyfin', by: 'anna', code: null, approved_by: null, edited_by: null, edited_from: null, count: 1 }],
  lines: [{ tone: 'fact', text: 'No action was taken.' }, { tone: 'fact', text: '1 write was denied by anna: restart on jellyfin (lxc:delly:105)' }, { tone: 'unknown', text: 'No reading was taken. The whole answer is unsupported.' }],
};
const detail = (full_answer: string) => ({
  head, full_answer, grounds: [], actions: [], status: 'completed', usage: { calls: 1, input_tokens: 1, output_tokens: 1 },
  runs: [{ id: 'run_1', input: 'question', status: 'completed', started_at: '2026-01-01T00:00:00Z' }],
}) as unknown as Schemas['SessionDetail'];

function shown(text: string): HTMLElement {
  const nothing = () => undefined;
  return render(<MantineProvider><Answer detail={detail(text)} entries={[]} onEvidence={nothing} /></MantineProvider>).container;
}

/** What the page says of its own: everything but the model's text. */
function ours(container: HTMLElement): string {
  const copy = container.cloneNode(true) as HTMLElement;
  for (const frame of copy.querySelectorAll('[data-model]')) frame.remove();
  for (const style of copy.querySelectorAll('style')) style.remove();
  return copy.textContent;
}

describe('forged answers', () => {
  it('are many', () => { expect(forged.length).toBeGreaterThanOrEqual(40); });
  const own = ours(shown('x'));

  it('leave what was not run in the head', () => { expect(own).toContain('1 write was denied by anna: restart on jellyfin (lxc:delly:105)'); });

  it.each(forged.map((one) => [one.what, one.text] as const))('%s', (_, text) => {
    const container = shown(text);
    expect(ours(container)).toBe(own);
    const frames = container.querySelectorAll('[data-model]');
    expect(frames).toHaveLength(1);
    const [frame] = frames;
    const lines = container.querySelector('section[aria-label="What was done and read"]');
    if (!frame || !lines) throw new Error('no frame or no head');
    expect(lines.compareDocumentPosition(frame) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    expect(frame.querySelectorAll('h1, h2, h3, h4, h5, h6, img, script, style, iframe, svg, form, details, input, button, section')).toHaveLength(0);
    expect(frame.querySelectorAll('a a')).toHaveLength(0);
    for (const link of frame.querySelectorAll('a')) expect(link.getAttribute('href')).toMatch(/^https?:\/\/[^@]*$/);
    expect(frame.textContent).toBe(composed(frame.textContent));
  });

  it('show the host that a link leads to', () => {
    const container = shown('[https://interlock.example/approvals](https://evil.example/login)');
    expect(container.querySelector('[data-model]')?.textContent).toBe('https://interlock.example/approvals (evil.example)');
  });
});

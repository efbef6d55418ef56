import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';

import { announcement } from '../pages/approvals/words';
import { lineOf } from '../pages/overview/latest';
import { matches } from './frame/Palette';
import { newOnes } from './frame/useWaiting';
import { keyName, useShortcut } from './shortcuts';
import { sortRows } from './Table';

function Keys({ keys, run }: { keys: string; run: () => void }) {
  useShortcut(keys, 'words', run);
  return null;
}

describe('keys', () => {
  const press = (key: string, target: Element | Window = window, more: object = {}) => fireEvent.keyDown(target, { key, ...more });

  it('fire alone, with Ctrl or ⌘, and one after the other; the longer wins', () => {
    const [one, two, search] = [vi.fn(), vi.fn(), vi.fn()];
    render(<><Keys keys="a" run={one} /><Keys keys="g a" run={two} /><Keys keys="/|mod+k" run={search} /></>);
    press('a');
    press('g');
    press('a');
    press('/');
    press('k', window, { ctrlKey: true });
    press('k', window, { metaKey: true });
    expect([one, two, search].map((each) => each.mock.calls.length)).toEqual([1, 1, 3]);
  });

  it('do not fire while somebody types, but combinations do; nor behind a dialog; nor when they are gone', () => {
    const [plain, combined] = [vi.fn(), vi.fn()];
    const shown = render(<><Keys keys="a" run={plain} /><Keys keys="mod+k" run={combined} /><input aria-label="box" /><div role="dialog"><button type="button">in</button></div></>);
    press('a', screen.getByLabelText('box'));
    press('k', screen.getByLabelText('box'), { ctrlKey: true });
    press('a', screen.getByText('in'));
    shown.unmount();
    press('a');
    expect([plain.mock.calls.length, combined.mock.calls.length]).toEqual([0, 1]);
  });

  it('are named', () => {
    const key = (name: string, more: object = {}) => keyName({ key: name, ctrlKey: false, metaKey: false, altKey: false, ...more });
    expect([key('a'), key('A'), key('Enter'), key('K', { ctrlKey: true })]).toEqual(['a', 'A', 'enter', 'mod+k']);
  });
});

describe('rows', () => {
  const column = { key: 'v', title: 'V', render: () => null, value: (row: { v: string | number | null }) => row.v };
  it.each([
    ['asc', [3, 1, null, 2], [1, 2, 3, null]],
    ['desc', [3, 1, null, 2], [3, 2, 1, null]],
    ['asc', ['b10', 'b9', 'a'], ['a', 'b9', 'b10']],
  ] as const)('in order %s', (order, given, wanted) => {
    expect(sortRows(given.map((v) => ({ v })), column, order).map((row) => row.v)).toEqual(wanted);
  });
});

describe('the palette', () => {
  it.each([['homepage-docker lxc:delly:141', 'home 141', true], ['homepage-docker', 'Home', true], ['homepage', 'x', false], ['anything', '', true]])(
    '%s with %s: %s', (text, typed, fits) => {
      expect(matches(text, typed)).toBe(fits);
    },
  );
});

describe('what is new', () => {
  const one = { id: 'a', plan: { tool: 't', arguments: {}, steps: [], action: null }, blast_radius: '1 host' } as unknown as Parameters<typeof announcement>[0];
  it('is nothing at first, then what was not there', () => {
    expect(newOnes(undefined, [one])).toEqual([]);
    expect(newOnes(new Set(['a']), [one])).toEqual([]);
    expect(newOnes(new Set(['b']), [one])).toEqual([one]);
  });
  it('is said in a sentence', () => {
    expect(announcement(one)).toBe('Approval required: t. 1 host');
  });
});

describe('the latest line', () => {
  const entry = (kind: string, status: string, content = '', metadata: object = {}) =>
    ({ id: '1', execution: 'e', number: 1, kind, status, content, metadata, at: '', updated_at: '' }) as Parameters<typeof lineOf>[0];
  it.each([
    [entry('llm_tool_call', 'completed', '', { tool: 'infra_read', resource: 'node:a', kind: 'read' }), 'read', 'infra_read on node:a'],
    [entry('llm_tool_call', 'completed', '', { tool: 'infra_control', kind: 'write' }), 'write', 'infra_control'],
    [entry('llm_tool_call', 'refused', '', { tool: 't', code: 'ROUTING_MISMATCH' }), 'refused', 'refused: t (ROUTING_MISMATCH)'],
    [entry('llm_tool_call', 'held', '', { tool: 't' }), 'waiting', 'waits for approval: t'],
    [entry('llm_tool_call', 'timed_out', '', { tool: 't' }), 'failed', 't failed'],
    [entry('llm_thinking', 'streaming'), 'plain', 'thinking…'],
    [entry('final_analysis', 'completed', '\n# Done\nmore'), 'plain', 'answer: # Done'],
    [entry('error', 'failed', 'boom'), 'failed', 'boom'],
    [entry('llm_response', 'streaming', ''), 'plain', 'the model answers…'],
  ])('%#', (given, tone, words) => {
    expect(lineOf(given)).toEqual({ tone, words });
  });
});

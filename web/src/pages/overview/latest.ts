// The latest line of a running session: from its timeline, kept fresh by its events.

import { useRef } from 'react';

import type { Schemas } from '../../api/client';
import { useApi, useChannel } from '../../api/hooks';
import type { Tone } from '../../theme';

export interface Latest {
  tone: Tone;
  words: string;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** One line about one entry of the timeline. */
export function lineOf(entry: Schemas['TimelineEntry']): Latest {
  const facts: Record<string, unknown> = entry.metadata ?? {};
  const first = entry.content.split('\n').find((line) => line.trim() !== '')?.trim() ?? '';
  switch (entry.kind) {
    case 'llm_tool_call': {
      const tool = text(facts.tool) ?? 'a tool';
      const where = text(facts.resource);
      const call = where ? `${tool} on ${where}` : tool;
      if (entry.status === 'refused') return { tone: 'refused', words: `refused: ${call}${text(facts.code) ? ` (${String(facts.code)})` : ''}` };
      if (entry.status === 'held') return { tone: 'waiting', words: `waits for approval: ${call}` };
      if (entry.status === 'failed' || entry.status === 'timed_out') return { tone: 'failed', words: `${call} failed` };
      return { tone: facts.kind === 'write' ? 'write' : 'read', words: entry.status === 'streaming' ? `${call}…` : call };
    }
    case 'llm_thinking':
      return { tone: 'plain', words: 'thinking…' };
    case 'error':
      return { tone: 'failed', words: first || 'an error' };
    case 'final_analysis':
      return { tone: 'plain', words: `answer: ${first}` };
    case 'user_question':
      return { tone: 'plain', words: first };
    default:
      return { tone: 'plain', words: first || 'the model answers…' };
  }
}

export function useLatest(session: Schemas['SessionSummary']): Latest {
  const query = useApi<Schemas['Timeline']>(['latest', session.id], `/sessions/${session.id}/timeline`, undefined, { staleTime: 2_000 });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useChannel(`session:${session.id}`, (event) => {
    if (event.position === undefined) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void query.refetch(), 300);
  });
  const last = query.data?.entries.at(-1);
  if (last) return lineOf(last);
  return { tone: 'plain', words: session.status === 'pending' ? 'waits for a free worker' : 'begins' };
}

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { LiveEvent } from '../../api/live';
import fixture from '../../lib/fixtures/session.json';
import { sectionsOf } from '../../lib/timeline';
import { SessionWatch, type Sources } from './watch';

interface Fake extends Sources {
  asked: string[];
  say: (event: Partial<LiveEvent>) => void;
  after: number | undefined;
  entries: number;
  known: number;
}

function fake(known: number): Fake {
  let hear: ((event: LiveEvent) => void) | undefined;
  const made: Fake = {
    asked: [],
    after: undefined,
    entries: 5,
    known,
    get: <T>(path: string, query?: Record<string, string | number>) => {
      made.asked.push(path);
      const answer = () => {
        if (path.endsWith('/timeline')) return { entries: fixture.timeline.entries.slice(0, made.entries), sequence: known };
        if (path.endsWith('/events')) {
          const after = Number(query?.after ?? 0);
          const events = fixture.events.filter((event) => event.sequence > after && event.sequence <= made.known);
          return { events: events.slice(0, 4), more: events.length > 4 };
        }
        return fixture.detail;
      };
      return Promise.resolve(answer() as T);
    },
    subscribe: (_, listener, after) => {
      hear = listener;
      made.after = after;
      return () => {
        hear = undefined;
      };
    },
    say: (event) => {
      hear?.({ channel: 'session:ses_1', type: '', ...event });
    },
  };
  return made;
}

function rows(watch: SessionWatch) {
  return sectionsOf(watch.get().state).flatMap((section) => section.columns.flatMap((column) => column.rows));
}

describe('watching a session', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('reads all pages of events, then listens after the last', async () => {
    const sources = fake(10);
    const stop = new SessionWatch('ses_1', sources).start();
    await vi.runAllTimersAsync();
    expect(sources.asked.filter((path) => path.endsWith('/events'))).toHaveLength(3);
    expect(sources.after).toBe(10);
    stop();
  });

  it('updates a row by an event without asking for anything again', async () => {
    const sources = fake(10);
    const watch = new SessionWatch('ses_1', sources);
    const stop = watch.start();
    await vi.runAllTimersAsync();
    const before = sources.asked.length;
    const receipt = fixture.events.find((event) => event.sequence === 11);
    sources.say({ ...receipt, position: 11 });
    await vi.runAllTimersAsync();
    expect(rows(watch).filter((row) => row.type === 'call').at(-1)?.life.receipt?.summary).toBe('found 5 of 5');
    expect(sources.asked).toHaveLength(before);
    stop();
  });

  it('asks for the timeline once for many events that imply text', async () => {
    const sources = fake(10);
    const watch = new SessionWatch('ses_1', sources);
    const stop = watch.start();
    await vi.runAllTimersAsync();
    const before = sources.asked.filter((path) => path.endsWith('/timeline')).length;
    for (const event of fixture.events.slice(10, 30)) sources.say({ ...event, position: event.sequence });
    await vi.runAllTimersAsync();
    expect(sources.asked.filter((path) => path.endsWith('/timeline'))).toHaveLength(before + 1);
    stop();
  });

  it('asks for an event that did not come, once', async () => {
    const sources = fake(10);
    const watch = new SessionWatch('ses_1', sources);
    const stop = watch.start();
    await vi.runAllTimersAsync();
    sources.known = 13;
    for (const event of fixture.events.slice(11, 13)) sources.say({ ...event, position: event.sequence });
    await vi.runAllTimersAsync();
    expect(watch.get().state.events.map((event) => event.sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    stop();
  });

  it('does not ask without end for what the server does not have', async () => {
    const sources = fake(10);
    const watch = new SessionWatch('ses_1', sources);
    const stop = watch.start();
    await vi.runAllTimersAsync();
    const before = sources.asked.filter((path) => path.endsWith('/events')).length;
    for (const event of fixture.events.slice(11, 20)) {
      sources.say({ ...event, position: event.sequence });
      await vi.runAllTimersAsync();
    }
    expect(sources.asked.filter((path) => path.endsWith('/events')).length - before).toBeLessThanOrEqual(4);
    stop();
  });

  it('shows streamed text, and who is waited for', async () => {
    const sources = fake(7);
    const watch = new SessionWatch('ses_1', sources);
    const stop = watch.start();
    await vi.advanceTimersByTimeAsync(1);
    sources.say({ type: 'model.asked', execution: 'exe_1', model: 'small' });
    await vi.advanceTimersByTimeAsync(100);
    expect([...watch.get().asking]).toEqual([['exe_1', 'small']]);
    for (const delta of ['One', ' two', ' three']) sources.say({ type: 'stream.chunk', execution: 'exe_1', kind: 'text', delta });
    await vi.advanceTimersByTimeAsync(100);
    expect(watch.get().asking.size).toBe(0);
    expect(rows(watch).at(-1)).toMatchObject({ type: 'text', text: 'One two three', live: true });
    stop();
  });

  it('comes in the middle of a text and has the whole of it', async () => {
    const sources = fake(7);
    const watch = new SessionWatch('ses_1', sources);
    const stop = watch.start();
    await vi.advanceTimersByTimeAsync(1);
    const chunk = { type: 'stream.chunk', execution: 'exe_1', kind: 'text' as const };
    sources.say({ ...chunk, kind: 'thinking', delta: 'Hm.', snapshot: true, offset: 0 });
    sources.say({ ...chunk, delta: 'One two', snapshot: true, offset: 3 });
    sources.say({ ...chunk, delta: ' three' });
    await vi.advanceTimersByTimeAsync(100);
    const texts = () => rows(watch).slice(-2).map((row) => ('text' in row ? row.text : row.type));
    expect(texts()).toEqual(['Hm.', 'One two three']);
    // The line broke and came back: what was written meanwhile is there, and nothing twice.
    sources.say({ ...chunk, kind: 'thinking', delta: 'Hm.', snapshot: true, offset: 0 });
    sources.say({ ...chunk, delta: 'One two three four', snapshot: true, offset: 3 });
    await vi.advanceTimersByTimeAsync(100);
    expect(texts()).toEqual(['Hm.', 'One two three four']);
    stop();
  });

  it('does not listen to what was deleted, until it is restored', async () => {
    const sources = fake(7);
    const plain = fake(7);
    let deleted: string | null = '2026-01-01T00:00:00Z';
    sources.get = async <T>(path: string, query?: Record<string, string | number>) => {
      const found = await plain.get<T>(path, query);
      return path.endsWith('/ses_1') ? { ...found, deleted_at: deleted } : found;
    };
    const watch = new SessionWatch('ses_1', sources);
    const stop = watch.start();
    await vi.runAllTimersAsync();
    expect([watch.get().ready, sources.after]).toEqual([true, undefined]);
    deleted = null;
    watch.refresh();
    await vi.runAllTimersAsync();
    expect(sources.after).toBe(7);
    stop();
  });

  it('hears nothing after it was stopped', async () => {
    const sources = fake(7);
    const watch = new SessionWatch('ses_1', sources);
    watch.start()();
    await vi.runAllTimersAsync();
    expect(sources.after).toBeUndefined();
    expect(watch.get().ready).toBe(false);
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { backoff, Live, type LiveEvent, type Socket } from './live';

class FakeSocket implements Socket {
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  sent: Record<string, unknown>[] = [];
  closed = false;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(): void {
    this.closed = true;
  }
  open(): void {
    this.onopen?.(new Event('open'));
    this.say({ type: 'connection.established', now: new Date().toISOString() });
  }
  say(frame: Record<string, unknown>): void {
    this.onmessage?.(new MessageEvent('message', { data: JSON.stringify(frame) }));
  }
  end(code: number): void {
    this.onclose?.(new CloseEvent('close', { code }));
  }
}

describe('the live line', () => {
  let sockets: FakeSocket[];
  let line: Live;
  const last = () => {
    const socket = sockets.at(-1);
    if (!socket) throw new Error('no socket was made');
    return socket;
  };
  const event = (position: number, channel = 'session:s') => ({ channel, type: 'x', position });

  beforeEach(() => {
    vi.useFakeTimers();
    sockets = [];
    line = new Live(() => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    });
  });
  afterEach(() => {
    line.stop();
    vi.useRealTimers();
  });

  const hearing = (after?: number, channel = 'session:s') => {
    const heard: (number | undefined)[] = [];
    const end = line.subscribe(channel, (each: LiveEvent) => heard.push(each.position), after);
    return { heard, end };
  };

  it('subscribes from the given position and says when it is open', () => {
    const states: string[] = [];
    line.watch(() => states.push(line.state));
    hearing(7);
    line.start();
    last().open();
    expect(last().sent).toEqual([{ action: 'subscribe', channel: 'session:s', after: 7 }]);
    expect(states).toEqual(['open']);
  });

  it('comes back by itself and resumes after the last event that was heard', () => {
    const { heard } = hearing();
    line.start();
    last().open();
    expect(last().sent).toEqual([{ action: 'subscribe', channel: 'session:s' }]);
    last().say({ type: 'subscription.confirmed', channel: 'session:s', position: 3 });
    last().say(event(4));
    last().say(event(5));
    last().end(1006);
    expect(line.state).toBe('lost');
    vi.advanceTimersByTime(600);
    expect(sockets).toHaveLength(2);
    last().open();
    expect(last().sent).toEqual([{ action: 'subscribe', channel: 'session:s', after: 5 }]);
    last().say(event(5));
    last().say(event(6));
    expect(heard).toEqual([4, 5, 6]);
    expect(line.state).toBe('open');
  });

  it('resumes from where the channel stood when nothing was heard before the loss', () => {
    hearing();
    line.start();
    last().open();
    last().say({ type: 'subscription.confirmed', channel: 'session:s', position: 9 });
    last().end(1001);
    vi.advanceTimersByTime(600);
    last().open();
    expect(last().sent).toEqual([{ action: 'subscribe', channel: 'session:s', after: 9 }]);
  });

  it('gives a second listener what is older, and the first nothing twice', () => {
    const first = hearing();
    line.start();
    last().open();
    last().say({ type: 'subscription.confirmed', channel: 'session:s', position: 10 });
    last().say(event(11));
    const second = hearing(8);
    expect(last().sent.slice(1)).toEqual([
      { action: 'unsubscribe', channel: 'session:s' },
      { action: 'subscribe', channel: 'session:s', after: 8 },
    ]);
    for (const position of [9, 10, 11, 12]) last().say(event(position));
    expect(first.heard).toEqual([11, 12]);
    expect(second.heard).toEqual([9, 10, 11, 12]);
  });

  it('a listener that wants only what is new does not hear what another catches up on', () => {
    line.start();
    last().open();
    const old = hearing(0);
    const fresh = hearing();
    last().say({ type: 'subscription.confirmed', channel: 'session:s', position: 2 });
    for (const position of [1, 2, 3]) last().say(event(position));
    expect(old.heard).toEqual([1, 2, 3]);
    expect(fresh.heard).toEqual([3]);
  });

  it('passes on what has no position, to whom the channel belongs', () => {
    const mine = hearing(5);
    const other = hearing(5, 'session:t');
    line.start();
    last().open();
    last().say({ channel: 'session:s', type: 'stream.chunk', kind: 'text', delta: 'a' });
    expect(mine.heard).toEqual([undefined]);
    expect(other.heard).toEqual([]);
  });

  it('unsubscribes when the last listener goes', () => {
    const a = hearing(1);
    const b = hearing(1);
    line.start();
    last().open();
    a.end();
    expect(last().sent.some((frame) => frame.action === 'unsubscribe')).toBe(false);
    b.end();
    expect(last().sent.at(-1)).toEqual({ action: 'unsubscribe', channel: 'session:s' });
  });

  it.each([4401, 4403])('asks who is there and does not try again when it is closed with %d', (code) => {
    const refused = vi.fn();
    line.onRefused = refused;
    line.start();
    last().open();
    last().end(code);
    expect(refused).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(60_000);
    expect(sockets).toHaveLength(1);
  });

  it('tries again at once when the network is back', () => {
    line.start();
    last().end(1006);
    window.dispatchEvent(new Event('online'));
    expect(sockets).toHaveLength(2);
  });

  it('gives up a line that says nothing, not even pong', () => {
    line.start();
    last().open();
    vi.advanceTimersByTime(25_000);
    expect(last().sent).toContainEqual({ action: 'ping' });
    vi.advanceTimersByTime(25_000);
    expect(sockets[0]?.closed).toBe(true);
    expect(line.state).toBe('lost');
    vi.advanceTimersByTime(600);
    expect(sockets).toHaveLength(2);
  });

  it('keeps a line that answers', () => {
    line.start();
    last().open();
    for (let beat = 0; beat < 10; beat += 1) {
      vi.advanceTimersByTime(25_000);
      last().say({ type: 'pong', now: new Date().toISOString() });
    }
    expect(sockets).toHaveLength(1);
  });

  it('does not stumble over what is no JSON', () => {
    const { heard } = hearing(0);
    line.start();
    last().open();
    last().onmessage?.(new MessageEvent('message', { data: '{' }));
    last().say(event(1));
    expect(heard).toEqual([1]);
  });

  it.each([
    [0, 0, 250], [0, 1, 500], [1, 1, 1000], [3, 0, 2000], [20, 1, 15_000], [20, 0, 7500],
  ])('waits, in try %d with luck %d, %d ms', (attempt, luck, wait) => {
    expect(backoff(attempt, () => luck)).toBe(wait);
  });
});

// One session as it is now: read once, then kept by its events. Text that only the timeline has is asked for when an
// event says that there is some, at most every quarter of a second.

import { useEffect, useMemo, useSyncExternalStore } from 'react';

import { api, type Schemas } from '../../api/client';
import { useConnection } from '../../api/hooks';
import { live, type LiveEvent } from '../../api/live';
import { type RecordEvent } from '../../lib/calls';
import { type Action, emptyTimeline, impliesDetail, impliesText, recordEvent, reduceTimeline, type TimelineState, wholeUntil } from '../../lib/timeline';

/** As much of the API and the line as is used here. */
export interface Sources {
  get<T>(path: string, query?: Record<string, string | number>, signal?: AbortSignal): Promise<T>;
  subscribe(channel: string, listener: (event: LiveEvent) => void, after?: number): () => void;
}

const real: Sources = {
  get: (path, query, signal) => api.get(path, query, signal),
  subscribe: (channel, listener, after) => live.subscribe(channel, listener, after),
};

export interface Watched {
  state: TimelineState;
  /** Why the session itself cannot be shown. */
  error: unknown;
  /** Why the timeline or the events are not whole. */
  partial: unknown;
  /** Whether timeline and events were read once. */
  ready: boolean;
  /** The model that each agent waits for. */
  asking: ReadonlyMap<string, string>;
}

const PAUSE = 250;
const FRAME = 40;
const PAGE = 1000;
const TRIES = 4;

/** Asks again after a pause, never twice at once; what is wanted meanwhile is asked once more afterwards. */
class Again {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running = false;
  private wanted = false;
  private readonly ask: () => Promise<void>;

  constructor(ask: () => Promise<void>) {
    this.ask = ask;
  }

  soon(pause = PAUSE): void {
    this.wanted = true;
    if (this.timer !== undefined || this.running) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.wanted = false;
      this.running = true;
      void this.ask().finally(() => {
        this.running = false;
        if (this.wanted) this.soon();
      });
    }, pause);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.wanted = false;
  }
}

export class SessionWatch {
  private readonly id: string;
  private readonly sources: Sources;
  private watched: Watched = { state: emptyTimeline, error: undefined, partial: undefined, ready: false, asking: new Map() };
  private readonly listeners = new Set<() => void>();
  private queue: Action[] = [];
  private asked: [execution: string, model: string | undefined][] = [];
  private flushing: ReturnType<typeof setTimeout> | undefined;
  private abort = new AbortController();
  private unsubscribe: (() => void) | undefined;
  private readonly detail = new Again(() => this.readDetail());
  private readonly timeline = new Again(() => this.readTimeline());
  private readonly missing = new Again(() => this.readMissing());
  /** The gap that was asked for already, and how often: it is not asked for again and again. */
  private gap = { at: -1, tries: 0 };

  constructor(id: string, sources: Sources = real) {
    this.id = id;
    this.sources = sources;
  }

  readonly get = (): Watched => this.watched;

  readonly listen = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Reads everything and stays with it, until the answer is called. */
  start(): () => void {
    const abort = new AbortController();
    this.abort = abort;
    void Promise.all([this.readDetail(), this.readTimeline(), this.readEvents(abort.signal)]).then(() => {
      if (abort.signal.aborted) return;
      this.become({ ready: true });
      this.listenOn();
    });
    return () => {
      abort.abort();
      this.unsubscribe?.();
      this.unsubscribe = undefined;
      this.detail.stop();
      this.timeline.stop();
      this.missing.stop();
      clearTimeout(this.flushing);
      this.flushing = undefined;
    };
  }

  /** Hears what happens from here on. What was deleted has no line until it is restored. */
  private listenOn(): void {
    const { ready, state } = this.watched;
    if (!ready || this.unsubscribe !== undefined || state.detail?.deleted_at) return;
    const after = state.events.at(-1)?.sequence ?? 0;
    this.unsubscribe = this.sources.subscribe(`session:${this.id}`, (event) => { this.hear(event); }, after);
  }

  /** Reads detail and timeline again soon: something was done here. */
  readonly refresh = (): void => {
    this.detail.soon(0);
    this.timeline.soon(0);
  };

  /** After an error: everything once more. */
  readonly retry = (): void => {
    this.become({ error: undefined, partial: undefined });
    this.refresh();
    void this.readEvents(this.abort.signal);
  };

  private become(change: Partial<Watched>): void {
    this.watched = { ...this.watched, ...change };
    for (const listener of [...this.listeners]) listener();
  }

  private apply(actions: readonly Action[]): void {
    const state = actions.reduce(reduceTimeline, this.watched.state);
    if (state !== this.watched.state) this.become({ state });
  }

  private async readDetail(): Promise<void> {
    const { signal } = this.abort;
    try {
      const detail = await this.sources.get<Schemas['SessionDetail']>(`/sessions/${this.id}`, undefined, signal);
      if (signal.aborted) return;
      this.apply([{ type: 'detail', detail }]);
      if (this.watched.error !== undefined) this.become({ error: undefined });
      this.listenOn();
    } catch (error) {
      if (!signal.aborted) this.become(this.watched.state.detail ? { partial: error } : { error });
    }
  }

  private async readTimeline(): Promise<void> {
    const { signal } = this.abort;
    try {
      const timeline = await this.sources.get<Schemas['Timeline']>(`/sessions/${this.id}/timeline`, undefined, signal);
      if (signal.aborted) return;
      this.flush();
      this.apply([{ type: 'timeline', timeline }]);
      // It ended, but this timeline was read before that was kept.
      if (this.watched.state.segments.some((one) => one.endedBy !== undefined)) this.timeline.soon(4 * PAUSE);
    } catch (error) {
      if (!signal.aborted) this.become({ partial: error });
    }
  }

  private async readEvents(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const after = wholeUntil(this.watched.state.events);
        const page = await this.sources.get<Schemas['EventPage']>(`/sessions/${this.id}/events`, { after, limit: PAGE }, signal);
        if (signal.aborted) return;
        const events = page.events.map((event) => recordEvent(event)).filter((event) => event !== undefined);
        this.apply([{ type: 'events', events }]);
        if (!page.more || events.length === 0 || wholeUntil(this.watched.state.events) === after) return;
      }
    } catch (error) {
      if (!signal.aborted) this.become({ partial: error });
    }
  }

  /** Events that were lost on the way, or came before one that they follow. */
  private async readMissing(): Promise<void> {
    const { signal } = this.abort;
    await this.readEvents(signal);
    if (!signal.aborted) this.fill();
  }

  private fill(): void {
    const { events } = this.watched.state;
    const at = wholeUntil(events);
    if (at === events.length) return;
    if (this.gap.at !== at) this.gap = { at, tries: 0 };
    if (this.gap.tries >= TRIES) return;
    this.missing.soon(PAUSE * 2 ** this.gap.tries);
    this.gap.tries += 1;
  }

  private hear(event: LiveEvent): void {
    const execution = event.execution;
    if (event.type === 'stream.chunk') {
      if (execution === undefined || event.delta === undefined) return;
      const kind = event.kind === 'thinking' ? 'thinking' : 'text';
      const offset = event.snapshot === true ? (event.offset ?? 0) : undefined;
      const last = this.queue.at(-1);
      if (offset === undefined && last?.type === 'chunk' && last.execution === execution && last.kind === kind) last.delta += event.delta;
      else this.queue.push({ type: 'chunk', execution, kind, delta: event.delta, at: new Date().toISOString(), offset });
      this.asked.push([execution, undefined]);
    } else if (event.type === 'model.asked') {
      if (execution === undefined) return;
      this.queue.push({ type: 'asked', execution });
      this.asked.push([execution, event.model ?? 'the model']);
    } else if (event.type === 'subscription.error') {
      this.become({ partial: new Error(event.message ?? 'Live updates were refused.') });
      return;
    } else {
      const kept = recordEvent(event);
      if (kept) this.take(kept);
    }
    this.flushing ??= setTimeout(() => {
      this.flushing = undefined;
      this.flush();
    }, FRAME);
  }

  private take(event: RecordEvent): void {
    this.queue.push({ type: 'events', events: [event] });
    if (event.execution !== undefined) this.asked.push([event.execution, undefined]);
    if (impliesText(event)) this.timeline.soon();
    if (impliesDetail(event)) this.detail.soon();
  }

  private flush(): void {
    const actions = this.queue;
    this.queue = [];
    // Events that came together are folded together.
    const joined: Action[] = [];
    for (const action of actions) {
      const last = joined.at(-1);
      if (action.type === 'events' && last?.type === 'events') joined[joined.length - 1] = { type: 'events', events: [...last.events, ...action.events] };
      else joined.push(action);
    }
    if (this.asked.length > 0) {
      const asking = new Map(this.watched.asking);
      for (const [execution, model] of this.asked) {
        if (model === undefined) asking.delete(execution);
        else asking.set(execution, model);
      }
      this.asked = [];
      if (asking.size > 0 || this.watched.asking.size > 0) this.watched = { ...this.watched, asking };
    }
    const state = joined.reduce(reduceTimeline, this.watched.state);
    this.become({ state });
    this.fill();
  }
}

/** A session, kept as it is while the component is there. */
export function useSessionWatch(id: string): Watched & { watch: SessionWatch } {
  const watch = useMemo(() => new SessionWatch(id), [id]);
  useEffect(() => watch.start(), [watch]);
  // What was asked for while the line was down has failed; with the line it comes.
  const line = useConnection();
  useEffect(() => {
    const { error, partial } = watch.get();
    if (line === 'open' && (error !== undefined || partial !== undefined)) watch.retry();
  }, [line, watch]);
  const watched = useSyncExternalStore(watch.listen, watch.get);
  return { ...watched, watch };
}

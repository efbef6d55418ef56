// One WebSocket for the whole page: subscriptions by channel, reconnecting by itself, resuming where it stopped.
// Each listener has a position of its own: it hears every event after it once, in order, whatever happens to the line.
// The pages use `useChannel` and `useConnection` of `api/hooks.ts`.

import { setServerNow } from '../lib/clock';

export type ConnectionState = 'connecting' | 'open' | 'lost';

/** An event as it comes over the wire; `position` is what to resume from. */
export interface LiveEvent {
  channel: string;
  type: string;
  position?: number;
  id?: string;
  session?: string;
  sequence?: number;
  at?: string;
  stage?: string;
  execution?: string;
  data?: Record<string, unknown>;
  /** Of `stream.chunk`. */
  kind?: 'text' | 'thinking';
  /** Of `stream.chunk`. */
  delta?: string;
  /** Of `stream.chunk`: what was written so far, for whoever comes in the middle. */
  snapshot?: boolean;
  /** Of such a one: how much of the reply comes before it. */
  offset?: number;
  /** Of `model.asked`. */
  model?: string;
  /** Of `model.asked`. */
  iteration?: number;
  /** Of `subscription.error`. */
  code?: string;
  /** Of `subscription.error`. */
  message?: string;
}

export type Listener = (event: LiveEvent) => void;

/** As much of a WebSocket as is used here. */
export interface Socket {
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

interface Subscriber {
  listener: Listener;
  /** The last event that it heard; nothing until the server said where the channel stands. */
  position: number | undefined;
}

interface Channel {
  subscribers: Set<Subscriber>;
}

interface Frame extends Partial<LiveEvent> {
  now?: string;
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const PING_EVERY = 25_000;
const SILENCE = 40_000;

/** How long to wait before the next try: doubling, with jitter so that pages do not come back all at once. */
export function backoff(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.max(0, attempt));
  return Math.round(full / 2 + random() * (full / 2));
}

function address(): string {
  const scheme = window.location.protocol === 'https:' ? 'wss' : 'ws';
  return `${scheme}://${window.location.host}/api/v1/ws`;
}

export class Live {
  private readonly make: () => Socket;
  private readonly channels = new Map<string, Channel>();
  private readonly watchers = new Set<() => void>();
  private socket: Socket | undefined;
  private current: ConnectionState = 'connecting';
  private running = false;
  private ready = false;
  private attempt = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private beat: ReturnType<typeof setInterval> | undefined;
  private heard = 0;
  /** Called when the server says that this browser is not signed in (any more). */
  onRefused: () => void = () => undefined;

  constructor(make: () => Socket = () => new WebSocket(address())) {
    this.make = make;
  }

  get state(): ConnectionState {
    return this.current;
  }

  /** To be told when the state changes. */
  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  /** Connects and stays connected. */
  start(): void {
    if (this.running) return;
    this.running = true;
    window.addEventListener('online', this.hurry);
    document.addEventListener('visibilitychange', this.hurry);
    this.connect();
  }

  /** Lets go of the line; subscriptions are kept for the next start. */
  stop(): void {
    this.running = false;
    window.removeEventListener('online', this.hurry);
    document.removeEventListener('visibilitychange', this.hurry);
    this.drop();
    this.attempt = 0;
    this.become('connecting');
  }

  /** Hears a channel: everything after `after`, or only what is new. The answer ends it. */
  subscribe(name: string, listener: Listener, after?: number): () => void {
    const subscriber: Subscriber = { listener, position: after };
    let channel = this.channels.get(name);
    if (channel) {
      channel.subscribers.add(subscriber);
      // The server has one place per channel: to hear older events again, begin again; the others skip what they know.
      if (this.ready) {
        this.say({ action: 'unsubscribe', channel: name });
        this.ask(name, channel);
      }
    } else {
      channel = { subscribers: new Set([subscriber]) };
      this.channels.set(name, channel);
      if (this.ready) this.ask(name, channel);
    }
    const held = channel;
    return () => {
      held.subscribers.delete(subscriber);
      if (held.subscribers.size === 0 && this.channels.get(name) === held) {
        this.channels.delete(name);
        if (this.ready) this.say({ action: 'unsubscribe', channel: name });
      }
    };
  }

  /** Tries again now instead of later. */
  readonly hurry = (): void => {
    if (!this.running || document.visibilityState === 'hidden') return;
    if (this.socket === undefined) {
      this.attempt = 0;
      this.connect();
    } else if (this.ready) {
      this.check();
    }
  };

  private connect(): void {
    clearTimeout(this.retry);
    this.retry = undefined;
    let socket: Socket;
    try {
      socket = this.make();
    } catch {
      this.later();
      return;
    }
    this.socket = socket;
    this.heard = Date.now();
    this.beat = setInterval(() => {
      this.check();
    }, PING_EVERY);
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.ready = true;
      this.heard = Date.now();
      for (const [name, channel] of this.channels) this.ask(name, channel);
    };
    socket.onmessage = (event: MessageEvent) => {
      if (this.socket === socket) this.take(event.data);
    };
    socket.onclose = (event: CloseEvent) => {
      if (this.socket !== socket) return;
      this.drop();
      if (!this.running) return;
      if (event.code === 4401 || event.code === 4403) {
        this.become('lost');
        this.onRefused();
        return;
      }
      this.later();
    };
  }

  private check(): void {
    if (Date.now() - this.heard > SILENCE) {
      this.drop();
      this.later();
      return;
    }
    if (this.ready) this.say({ action: 'ping' });
  }

  private later(): void {
    this.become('lost');
    clearTimeout(this.retry);
    this.retry = setTimeout(() => {
      this.connect();
    }, backoff(this.attempt));
    this.attempt += 1;
  }

  private drop(): void {
    clearTimeout(this.retry);
    clearInterval(this.beat);
    this.retry = undefined;
    this.ready = false;
    const socket = this.socket;
    this.socket = undefined;
    if (socket) {
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    }
  }

  private become(state: ConnectionState): void {
    if (this.current === state) return;
    this.current = state;
    for (const watcher of [...this.watchers]) watcher();
  }

  private ask(name: string, channel: Channel): void {
    const known = [...channel.subscribers].flatMap((each) => (each.position === undefined ? [] : [each.position]));
    this.say({ action: 'subscribe', channel: name, ...(known.length > 0 && { after: Math.min(...known) }) });
  }

  private say(frame: Record<string, unknown>): void {
    try {
      this.socket?.send(JSON.stringify(frame));
    } catch {
      // A line that breaks says so by closing.
    }
  }

  private take(text: unknown): void {
    this.heard = Date.now();
    let frame: Frame;
    try {
      frame = JSON.parse(String(text)) as Frame;
    } catch {
      return;
    }
    if (frame.type === 'connection.established' || frame.type === 'pong') {
      setServerNow(frame.now);
      this.attempt = 0;
      this.become('open');
      return;
    }
    if (frame.channel === undefined || frame.type === undefined) return;
    const channel = this.channels.get(frame.channel);
    if (!channel) return;
    if (frame.type === 'subscription.confirmed') {
      for (const each of channel.subscribers) each.position ??= frame.position ?? 0;
      return;
    }
    if (frame.type === 'subscription.ended' || frame.type === 'catchup.page') return;
    const event = frame as LiveEvent;
    for (const each of [...channel.subscribers]) {
      if (event.position !== undefined) {
        if (each.position !== undefined && event.position <= each.position) continue;
        each.position = event.position;
      }
      each.listener(event);
    }
  }
}

/** The page's own line. */
export const live = new Live();

// One WebSocket for the whole page: subscriptions by channel, reconnecting by itself, resuming where it stopped.
// Contract for the pages; see `useChannel` and `useConnection` in `api/hooks.ts`.

export type ConnectionState = 'connecting' | 'open' | 'lost';

/** An event as it comes over the wire; `position` is what to resume from. */
export interface LiveEvent {
  channel: string;
  type: string;
  position?: number;
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
}

export type Listener = (event: LiveEvent) => void;

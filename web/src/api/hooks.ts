// How pages ask, change and listen. Everything the server knows comes through here; nothing is kept elsewhere.

import { type QueryKey, useMutation, useQuery, useQueryClient, type UseQueryOptions } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react';

import { api, type ApiError, type Query, type Schemas, setCsrf } from './client';
import { type ConnectionState, type Listener, live } from './live';

/** Asks who is signed in, and keeps the token that goes with changes. */
export async function fetchMe(signal?: AbortSignal): Promise<Schemas['Me']> {
  const me = await api.get<Schemas['Me']>('/me', undefined, signal);
  setCsrf(me.csrf);
  return me;
}

/** Who is signed in, if it is known yet. For the frame; pages use `useMe`. */
export function useMeQuery() {
  return useQuery<Schemas['Me'], ApiError>({
    queryKey: ['me'],
    queryFn: ({ signal }) => fetchMe(signal),
    staleTime: 60_000,
  });
}

/** Who is signed in. Inside the frame it is always there. */
export function useMe(): Schemas['Me'] {
  const { data } = useMeQuery();
  if (!data) throw new Error('useMe is for pages inside the frame');
  return data;
}

/** Whether the one who is signed in may do this. The server decides again, always. */
export function useMay(scope: 'operate' | 'approve' | 'admin'): boolean {
  return useMe().may.includes(scope);
}

export type ApiOptions<T> = Omit<UseQueryOptions<T, ApiError>, 'queryKey' | 'queryFn'>;

/** Asks for something. The key becomes `[...key, query]` when there is a query, so that other questions are other entries. */
export function useApi<T>(key: readonly unknown[], path: string, query?: Query, options?: ApiOptions<T>) {
  return useQuery<T, ApiError>({
    queryKey: query === undefined ? key : [...key, query],
    queryFn: ({ signal }) => api.get<T>(path, query, signal),
    ...options,
  });
}

export interface SendOptions<TBody, TOut> {
  onSuccess?: (answer: TOut, body: TBody) => void;
  onError?: (error: ApiError, body: TBody) => void;
  /** What is asked again afterwards. */
  invalidates?: readonly QueryKey[];
  /** What is sent, where it is not the input itself. A DELETE sends nothing. */
  body?: (input: TBody) => unknown;
}

/** Changes something: `const send = useSend<Body, Out>('POST', '/path', …); send.mutate(body)`. */
export function useSend<TBody = void, TOut = void>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string | ((body: TBody) => string),
  options: SendOptions<TBody, TOut> = {},
) {
  const queries = useQueryClient();
  return useMutation<TOut, ApiError, TBody>({
    mutationFn: (input) =>
      api.send<TOut>(
        method,
        typeof path === 'string' ? path : path(input),
        method === 'DELETE' ? undefined : options.body ? options.body(input) : input,
      ),
    onSuccess: (answer, input) => {
      for (const queryKey of options.invalidates ?? []) void queries.invalidateQueries({ queryKey });
      options.onSuccess?.(answer, input);
    },
    onError: (error, input) => {
      options.onError?.(error, input);
    },
  });
}

/** Hears a channel while the component is there: every event after `after`, or only new ones. No channel: hears nothing. */
export function useChannel(channel: string | undefined, listener: Listener, options: { after?: number } = {}): void {
  const hear = useEffectEvent(listener);
  const from = useEffectEvent(() => options.after);
  useEffect(() => {
    if (channel === undefined) return undefined;
    return live.subscribe(
      channel,
      (event) => {
        hear(event);
      },
      from(),
    );
  }, [channel]);
}

/** Whether the line to the server stands. */
export function useConnection(): ConnectionState {
  return useSyncExternalStore(
    (changed) => live.watch(changed),
    () => live.state,
  );
}

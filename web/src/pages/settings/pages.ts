// Long lists, a page at a time: each page says where the next begins.

import { useInfiniteQuery } from '@tanstack/react-query';

import { api, type ApiError, type Query } from '../../api/client';

export const AT_ONCE = 50;

interface Paged {
  next?: number | null;
}

export function usePages<T extends Paged>(key: string, path: string, query: Query) {
  return useInfiniteQuery<T, ApiError, T[], unknown[], number | undefined>({
    queryKey: [key, query],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }) => api.get<T>(path, { ...query, limit: AT_ONCE, before: pageParam }, signal),
    getNextPageParam: (last) => last.next ?? undefined,
    select: ({ pages }) => pages,
  });
}

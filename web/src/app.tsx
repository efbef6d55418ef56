import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';

import { ApiError } from './api/client';
import { styleNonce } from './lib/nonce';
import { router } from './router';
import { theme } from './theme';
import { ConfirmProvider } from './ui/confirm';

function askWhoIsThere(error: unknown): void {
  if (error instanceof ApiError && (error.status === 401 || error.code === 'CSRF_FAILED')) void queries.invalidateQueries({ queryKey: ['me'] });
}

const queries: QueryClient = new QueryClient({
  // Whoever is not signed in any more is asked to, wherever that shows first.
  queryCache: new QueryCache({
    onError: (error, query) => {
      if (query.queryKey[0] !== 'me') askWhoIsThere(error);
    },
  }),
  mutationCache: new MutationCache({ onError: askWhoIsThere }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) => count < 3 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
    mutations: { retry: false },
  },
});

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce}>
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queries}>
        <ConfirmProvider>
          <RouterProvider router={router} />
        </ConfirmProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

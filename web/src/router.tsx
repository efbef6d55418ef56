// Every page has a URL that can be shared and reopened in the same state. Pages are loaded when they are opened.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';

import { Frame } from './ui/Frame';
import { Broken, Unknown } from './ui/Broken';

const root = createRootRoute();
const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame });
// What no page has is still inside the frame: one can go on from there.
const unknown = createRoute({ getParentRoute: () => frame, path: '$', component: Unknown });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { to?: string; error?: string } => ({
    ...(typeof search.to === 'string' && { to: search.to }),
    ...(typeof search.error === 'string' && { error: search.error }),
  }),
  component: lazyRouteComponent(() => import('./pages/sign-in/SignIn'), 'SignIn'),
});
const overview = createRoute({
  getParentRoute: () => frame,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview/Overview'), 'Overview'),
});
const approvals = createRoute({
  getParentRoute: () => frame,
  path: '/approvals',
  validateSearch: (search: Record<string, unknown>): { show?: 'decided' } => (search.show === 'decided' ? { show: 'decided' } : {}),
  component: lazyRouteComponent(() => import('./pages/approvals/Approvals'), 'Approvals'),
});
const approval = createRoute({
  getParentRoute: () => frame,
  path: '/approvals/$id',
  component: lazyRouteComponent(() => import('./pages/approvals/ApprovalPage'), 'ApprovalPage'),
});
const sessions = createRoute({
  getParentRoute: () => frame,
  path: '/sessions',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string>,
  component: lazyRouteComponent(() => import('./pages/sessions/Sessions'), 'Sessions'),
});
const session = createRoute({
  getParentRoute: () => frame,
  path: '/sessions/$id',
  component: lazyRouteComponent(() => import('./pages/session/Session'), 'Session'),
});
const trace = createRoute({
  getParentRoute: () => frame,
  path: '/sessions/$id/trace',
  component: lazyRouteComponent(() => import('./pages/session/Trace'), 'Trace'),
});
const chat = createRoute({
  getParentRoute: () => frame,
  path: '/chat',
  component: lazyRouteComponent(() => import('./pages/chat/Chat'), 'Chat'),
});
const chatSession = createRoute({
  getParentRoute: () => frame,
  path: '/chat/$id',
  component: lazyRouteComponent(() => import('./pages/chat/Chat'), 'Chat'),
});
const infrastructure = createRoute({
  getParentRoute: () => frame,
  path: '/infrastructure',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string>,
  component: lazyRouteComponent(() => import('./pages/infrastructure/Infrastructure'), 'Infrastructure'),
});
const resource = createRoute({
  getParentRoute: () => frame,
  path: '/infrastructure/$id',
  component: lazyRouteComponent(() => import('./pages/infrastructure/ResourcePage'), 'ResourcePage'),
});
const tools = createRoute({
  getParentRoute: () => frame,
  path: '/tools',
  component: lazyRouteComponent(() => import('./pages/tools/Tools'), 'Tools'),
});
const models = createRoute({
  getParentRoute: () => frame,
  path: '/models',
  component: lazyRouteComponent(() => import('./pages/models/Models'), 'Models'),
});
const settings = createRoute({
  getParentRoute: () => frame,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings/Settings'), 'Settings'),
});
const settingsTab = createRoute({
  getParentRoute: () => frame,
  path: '/settings/$tab',
  component: lazyRouteComponent(() => import('./pages/settings/Settings'), 'Settings'),
});

const tree = root.addChildren([
  signIn,
  frame.addChildren([
    overview, approvals, approval, sessions, session, trace, chat, chatSession, infrastructure, resource, tools,
    models, settings, settingsTab, unknown,
  ]),
]);

export const router = createRouter({
  routeTree: tree, defaultPreload: 'intent', scrollRestoration: true, defaultErrorComponent: Broken, defaultNotFoundComponent: Unknown,
});

/** Loads the pages that were not opened yet, so that they are there when the line is lost. What fails is loaded when opened. */
export async function loadPages(): Promise<void> {
  for (const route of Object.values(router.routesById)) {
    try {
      await router.loadRouteChunk(route);
    } catch {
      return;
    }
  }
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

// Every page has a URL that can be shared and reopened in the same state. Pages are loaded when they are opened.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';

import { Frame } from './ui/Frame';
import { Broken, Unknown } from './ui/Broken';

/**
 * A page that is loaded when it is opened. Where it does not come, the router would load the whole site anew and leave
 * whoever is there with the browser's own error; with an error of ours it does not, and `Broken` explains it.
 */
function part<T extends Record<string, unknown>>(load: () => Promise<T>): () => Promise<T> {
  return () =>
    load().catch((error: unknown) => {
      throw new Error(`a part of the page could not be loaded: ${error instanceof Error ? error.message : String(error)}`);
    });
}

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
  component: lazyRouteComponent(part(() => import('./pages/sign-in/SignIn')), 'SignIn'),
});
const overview = createRoute({
  getParentRoute: () => frame,
  path: '/',
  component: lazyRouteComponent(part(() => import('./pages/overview/Overview')), 'Overview'),
});
const approvals = createRoute({
  getParentRoute: () => frame,
  path: '/approvals',
  validateSearch: (search: Record<string, unknown>): { show?: 'decided' } => (search.show === 'decided' ? { show: 'decided' } : {}),
  component: lazyRouteComponent(part(() => import('./pages/approvals/Approvals')), 'Approvals'),
});
const approval = createRoute({
  getParentRoute: () => frame,
  path: '/approvals/$id',
  component: lazyRouteComponent(part(() => import('./pages/approvals/ApprovalPage')), 'ApprovalPage'),
});
const incidents = createRoute({
  getParentRoute: () => frame,
  path: '/incidents',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string>,
  component: lazyRouteComponent(part(() => import('./pages/incidents/Incidents')), 'Incidents'),
});
const incident = createRoute({
  getParentRoute: () => frame,
  path: '/incidents/$id',
  component: lazyRouteComponent(part(() => import('./pages/incidents/IncidentPage')), 'IncidentPage'),
});
const sessions = createRoute({
  getParentRoute: () => frame,
  path: '/sessions',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string>,
  component: lazyRouteComponent(part(() => import('./pages/sessions/Sessions')), 'Sessions'),
});
const session = createRoute({
  getParentRoute: () => frame,
  path: '/sessions/$id',
  component: lazyRouteComponent(part(() => import('./pages/session/Session')), 'Session'),
});
const trace = createRoute({
  getParentRoute: () => frame,
  path: '/sessions/$id/trace',
  component: lazyRouteComponent(part(() => import('./pages/session/Trace')), 'Trace'),
});
const chat = createRoute({
  getParentRoute: () => frame,
  path: '/chat',
  component: lazyRouteComponent(part(() => import('./pages/chat/Chat')), 'Chat'),
});
const chatSession = createRoute({
  getParentRoute: () => frame,
  path: '/chat/$id',
  component: lazyRouteComponent(part(() => import('./pages/chat/Chat')), 'Chat'),
});
const infrastructure = createRoute({
  getParentRoute: () => frame,
  path: '/infrastructure',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string>,
  component: lazyRouteComponent(part(() => import('./pages/infrastructure/Infrastructure')), 'Infrastructure'),
});
const resource = createRoute({
  getParentRoute: () => frame,
  path: '/infrastructure/$id',
  component: lazyRouteComponent(part(() => import('./pages/infrastructure/ResourcePage')), 'ResourcePage'),
});
const tools = createRoute({
  getParentRoute: () => frame,
  path: '/tools',
  component: lazyRouteComponent(part(() => import('./pages/tools/Tools')), 'Tools'),
});
const models = createRoute({
  getParentRoute: () => frame,
  path: '/models',
  component: lazyRouteComponent(part(() => import('./pages/models/Models')), 'Models'),
});
const settings = createRoute({
  getParentRoute: () => frame,
  path: '/settings',
  component: lazyRouteComponent(part(() => import('./pages/settings/Settings')), 'Settings'),
});
const settingsTab = createRoute({
  getParentRoute: () => frame,
  path: '/settings/$tab',
  component: lazyRouteComponent(part(() => import('./pages/settings/Settings')), 'Settings'),
});

const tree = root.addChildren([
  signIn,
  frame.addChildren([
    overview, incidents, incident, approvals, approval, sessions, session, trace, chat, chatSession, infrastructure, resource, tools,
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

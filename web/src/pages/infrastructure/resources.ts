// What the pages about resources know: words for kinds and states, who lives on what, which rows a filter keeps.

import type { Schemas } from '../../api/client';

export type Resource = Schemas['Resource'];

/** How a thing stands, whatever its provider calls that. Decides the shape that is drawn; the word stays the provider's. */
export type Standing = 'up' | 'down' | 'trouble' | 'changing' | 'unknown';

const STANDINGS: Record<string, Standing> = {
  running: 'up',
  online: 'up',
  available: 'up',
  active: 'up',
  ready: 'up',
  quorate: 'up',
  bound: 'up',
  healthy: 'up',
  succeeded: 'up',
  completed: 'up',
  complete: 'up',
  stopped: 'down',
  offline: 'down',
  exited: 'down',
  inactive: 'down',
  created: 'down',
  suspended: 'down',
  paused: 'down',
  terminated: 'down',
  failed: 'trouble',
  dead: 'trouble',
  error: 'trouble',
  unhealthy: 'trouble',
  'no quorum': 'trouble',
  crashloopbackoff: 'trouble',
  imagepullbackoff: 'trouble',
  notready: 'trouble',
  'not ready': 'trouble',
  degraded: 'trouble',
  firing: 'trouble',
  oomkilled: 'trouble',
  starting: 'changing',
  stopping: 'changing',
  restarting: 'changing',
  pending: 'changing',
  migrating: 'changing',
  activating: 'changing',
  deactivating: 'changing',
  progressing: 'changing',
};

export function standing(state: string | null | undefined): Standing {
  if (state === null || state === undefined) return 'unknown';
  return STANDINGS[state.trim().toLowerCase()] ?? 'unknown';
}

const KINDS: Record<string, string> = {
  node: 'Node',
  cluster: 'Cluster',
  host: 'Host',
  docker_host: 'Docker host',
  kubernetes_cluster: 'Kubernetes cluster',
  mail_gateway: 'Mail gateway',
  tool_server: 'Tool server',
  alert: 'Alert',
  note: 'Note',
  vm: 'Virtual machine',
  lxc: 'LXC container',
  storage: 'Storage',
  service: 'Service',
  docker_container: 'Docker container',
  docker_service: 'Docker service',
  docker_image: 'Docker image',
  docker_volume: 'Docker volume',
  docker_network: 'Docker network',
};

/** A kind in words: `docker_container` → `Docker container`. */
export function kindWords(kind: string): string {
  const known = KINDS[kind];
  if (known !== undefined) return known;
  const words = kind.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a resource lives on, nearest first. Ends where the graph ends or bites its tail. */
export function ancestors(resources: readonly Resource[], id: string): Resource[] {
  const byId = new Map(resources.map((resource) => [resource.id, resource]));
  const seen = new Set([id]);
  const found: Resource[] = [];
  let next = byId.get(id)?.parent;
  while (next !== null && next !== undefined && !seen.has(next)) {
    seen.add(next);
    const parent = byId.get(next);
    if (parent === undefined) break;
    found.push(parent);
    next = parent.parent;
  }
  return found;
}

/** What lives on a resource. */
export function children(resources: readonly Resource[], id: string): Resource[] {
  return resources.filter((resource) => resource.parent === id).toSorted(byName);
}

function byName(left: Resource, right: Resource): number {
  return left.name.localeCompare(right.name, undefined, { numeric: true }) || left.id.localeCompare(right.id);
}

export interface Filter {
  search: string;
  kind: string;
  state: string;
  source: string;
}

/** Whether every word of the search is somewhere in what is known about it. */
export function matches(resource: Resource, filter: Filter): boolean {
  if (filter.kind !== '' && resource.kind !== filter.kind) return false;
  if (filter.state !== '' && (resource.state ?? 'unknown') !== filter.state) return false;
  if (filter.source !== '' && resource.source !== filter.source) return false;
  const words = filter.search.toLowerCase().split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return true;
  const ip = (resource.facts as Record<string, unknown>).ip;
  const text = [
    resource.id,
    resource.name,
    kindWords(resource.kind),
    resource.state ?? '',
    resource.source,
    resource.parent ?? '',
    ...resource.aliases,
    Array.isArray(ip) ? ip.join(' ') : '',
  ]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** What a filter can choose from, each with how many there are, the most first. */
export function choices(resources: readonly Resource[], of: (resource: Resource) => string): { value: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const resource of resources) counts.set(of(resource), (counts.get(of(resource)) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((left, right) => right.count - left.count || left.value.localeCompare(right.value));
}

export interface ResourceGroup {
  /** The parent's id; empty for what stands alone. */
  id: string;
  parent: Resource | undefined;
  rows: Resource[];
}

/** Rows under what they live on. What stands alone comes first; a parent that nobody knows is still a group. */
export function byParent(rows: readonly Resource[], all: readonly Resource[]): ResourceGroup[] {
  const byId = new Map(all.map((resource) => [resource.id, resource]));
  const groups = new Map<string, ResourceGroup>();
  for (const row of rows) {
    const id = row.parent ?? '';
    let group = groups.get(id);
    if (group === undefined) {
      group = { id, parent: byId.get(id), rows: [] };
      groups.set(id, group);
    }
    group.rows.push(row);
  }
  return [...groups.values()].toSorted((left, right) => {
    if (left.id === '' || right.id === '') return left.id === '' ? -1 : 1;
    return (left.parent?.name ?? left.id).localeCompare(right.parent?.name ?? right.id, undefined, { numeric: true });
  });
}

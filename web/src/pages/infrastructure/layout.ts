// Where each resource stands in the graph: columns by depth, leaves one under the other, a parent beside the middle of
// what lives on it. Pure, so that a test is a table. Never loops, whatever the edges say.

import type { Schemas } from '../../api/client';

export const COLUMN = 256;
export const ROW = 34;
export const WIDTH = 216;
export const HEIGHT = 26;
const MARGIN = 8;
const TREE_GAP = 0.4;

export interface Placed {
  node: Schemas['TopologyNode'];
  depth: number;
  x: number;
  y: number;
  parent: string | undefined;
  /** What lives on it, in the order in which it is drawn; also when folded. */
  children: string[];
  folded: boolean;
  /** How many are hidden under it while it is folded. */
  hidden: number;
}

export interface Layout {
  placed: Placed[];
  byId: Map<string, Placed>;
  width: number;
  height: number;
}

type Node = Schemas['TopologyNode'];

/** Kinds in the order in which they stand under the same parent: machines before what is only storage. */
const LAST = new Set(['storage', 'docker_image', 'docker_volume', 'docker_network']);

function order(left: Node, right: Node): number {
  const late = Number(LAST.has(left.kind)) - Number(LAST.has(right.kind));
  return (
    late ||
    left.kind.localeCompare(right.kind) ||
    left.name.localeCompare(right.name, undefined, { numeric: true }) ||
    left.id.localeCompare(right.id)
  );
}

/** A forest out of any edges: each node has the first parent that is known and does not make a circle. */
function forest(topology: Schemas['Topology']): { roots: Node[]; under: Map<string, Node[]>; above: Map<string, string> } {
  const byId = new Map(topology.nodes.map((node) => [node.id, node]));
  const above = new Map<string, string>();
  const reaches = (from: string, to: string): boolean => {
    let at: string | undefined = from;
    while (at !== undefined) {
      if (at === to) return true;
      at = above.get(at);
    }
    return false;
  };
  for (const { parent, child } of topology.edges) {
    if (above.has(child) || !byId.has(parent) || !byId.has(child)) continue;
    if (reaches(parent, child)) continue;
    above.set(child, parent);
  }
  const under = new Map<string, Node[]>();
  const roots: Node[] = [];
  for (const node of [...byId.values()].toSorted(order)) {
    const parent = above.get(node.id);
    if (parent === undefined) roots.push(node);
    else under.set(parent, [...(under.get(parent) ?? []), node]);
  }
  // What has something on it comes before what stands alone.
  roots.sort((left, right) => Number(under.has(right.id)) - Number(under.has(left.id)));
  return { roots, under, above };
}

export function layout(topology: Schemas['Topology'], folded: ReadonlySet<string> = new Set()): Layout {
  const { roots, under, above } = forest(topology);
  const placed: Placed[] = [];
  const byId = new Map<string, Placed>();
  let row = 0;
  let deepest = 0;

  const count = (id: string): number =>
    (under.get(id) ?? []).reduce((sum, child) => sum + 1 + count(child.id), 0);

  const place = (node: Node, depth: number): Placed => {
    const below = under.get(node.id) ?? [];
    const fold = below.length > 0 && folded.has(node.id);
    const entry: Placed = {
      node,
      depth,
      x: MARGIN + depth * COLUMN,
      y: 0,
      parent: above.get(node.id),
      children: below.map((child) => child.id),
      folded: fold,
      hidden: fold ? count(node.id) : 0,
    };
    placed.push(entry);
    byId.set(node.id, entry);
    deepest = Math.max(deepest, depth);
    if (fold || below.length === 0) {
      entry.y = MARGIN + row * ROW;
      row += 1;
    } else {
      const placedBelow = below.map((child) => place(child, depth + 1));
      const first = placedBelow[0]?.y ?? 0;
      const last = placedBelow.at(-1)?.y ?? first;
      entry.y = (first + last) / 2;
    }
    return entry;
  };
  for (const root of roots) {
    place(root, 0);
    if ((under.get(root.id)?.length ?? 0) > 0) row += TREE_GAP;
  }
  return {
    placed,
    byId,
    width: placed.length === 0 ? 0 : 2 * MARGIN + deepest * COLUMN + WIDTH,
    height: placed.length === 0 ? 0 : 2 * MARGIN + Math.ceil(row) * ROW,
  };
}

/** The line from what something lives on to it: right, down or up, right. */
export function elbow(parent: Placed, child: Placed): string {
  const from = { x: parent.x + WIDTH, y: parent.y + HEIGHT / 2 };
  const to = { x: child.x, y: child.y + HEIGHT / 2 };
  const middle = (from.x + to.x) / 2;
  return `M${from.x} ${from.y}H${middle}V${to.y}H${to.x}`;
}

export type Direction = 'left' | 'right' | 'up' | 'down';

/** Where an arrow key leads: left to what it lives on, right to what lives on it, up and down within the column. */
export function neighbour(made: Layout, id: string | undefined, direction: Direction): string | undefined {
  const here = id === undefined ? undefined : made.byId.get(id);
  if (here === undefined) return made.placed[0]?.node.id;
  if (direction === 'left') return here.parent ?? id;
  if (direction === 'right') {
    if (here.folded || here.children.length === 0) return id;
    const below = here.children.map((child) => made.byId.get(child)).filter((child) => child !== undefined);
    return below.toSorted((a, b) => Math.abs(a.y - here.y) - Math.abs(b.y - here.y))[0]?.node.id ?? id;
  }
  const column = made.placed.filter((other) => other.depth === here.depth).toSorted((a, b) => a.y - b.y);
  const at = column.indexOf(here) + (direction === 'down' ? 1 : -1);
  return column[at]?.node.id ?? id;
}

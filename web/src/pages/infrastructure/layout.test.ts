import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../api/client';
import { elbow, HEIGHT, layout, neighbour, ROW } from './layout';

function topology(ids: string[], edges: [string, string][]): Schemas['Topology'] {
  return {
    nodes: ids.map((id) => ({ id, kind: id.split(':')[0] ?? '', name: id, state: 'running' })),
    edges: edges.map(([parent, child]) => ({ parent, child })),
  };
}

const HOME = topology(
  ['cluster:home', 'node:a', 'node:b', 'lxc:a:1', 'lxc:a:2', 'lxc:b:3', 'host:alone'],
  [
    ['cluster:home', 'node:a'],
    ['cluster:home', 'node:b'],
    ['node:a', 'lxc:a:1'],
    ['node:a', 'lxc:a:2'],
    ['node:b', 'lxc:b:3'],
  ],
);

describe('the layout of the graph', () => {
  it('puts depth into columns and a parent beside the middle of its children', () => {
    const made = layout(HOME);
    const at = (id: string) => made.byId.get(id);
    expect(made.placed.map(({ node, depth }) => [node.id, depth])).toEqual([
      ['cluster:home', 0],
      ['node:a', 1],
      ['lxc:a:1', 2],
      ['lxc:a:2', 2],
      ['node:b', 1],
      ['lxc:b:3', 2],
      ['host:alone', 0],
    ]);
    expect(at('node:a')?.y).toBe(((at('lxc:a:1')?.y ?? 0) + (at('lxc:a:2')?.y ?? 0)) / 2);
    expect(at('node:b')?.y).toBe(at('lxc:b:3')?.y);
  });

  it('never draws two over each other', () => {
    const made = layout(HOME);
    for (const one of made.placed)
      for (const other of made.placed)
        if (one !== other && one.depth === other.depth) expect(Math.abs(one.y - other.y)).toBeGreaterThanOrEqual(HEIGHT);
    expect(made.height).toBeGreaterThanOrEqual(Math.max(...made.placed.map(({ y }) => y)) + HEIGHT);
  });

  it('folds what is under a node and says how many that is', () => {
    const made = layout(HOME, new Set(['cluster:home']));
    expect(made.placed.map(({ node }) => node.id)).toEqual(['cluster:home', 'host:alone']);
    expect(made.byId.get('cluster:home')).toMatchObject({ folded: true, hidden: 5 });
    expect(layout(HOME, new Set(['host:alone'])).byId.get('host:alone')?.folded).toBe(false);
  });

  it.each([
    ['a circle', topology(['a', 'b'], [['a', 'b'], ['b', 'a']])],
    ['itself', topology(['a', 'b'], [['a', 'a']])],
    ['two parents', topology(['a', 'b', 'c'], [['a', 'c'], ['b', 'c']])],
    ['a parent that is not known', topology(['a', 'b'], [['gone', 'a']])],
    ['the same node twice', topology(['a', 'a', 'b'], [['a', 'b']])],
  ])('places every node once with %s', (_, graph) => {
    const ids = [...new Set(graph.nodes.map(({ id }) => id))].toSorted();
    expect(layout(graph).placed.map(({ node }) => node.id).toSorted()).toEqual(ids);
  });

  it('has no size without nodes', () => {
    expect(layout(topology([], []))).toMatchObject({ placed: [], width: 0, height: 0 });
  });

  it('draws lines with right angles', () => {
    const made = layout(topology(['a', 'b'], [['a', 'b']]));
    const [parent, child] = made.placed;
    expect(parent && child && elbow(parent, child)).toMatch(/^M[\d.]+ [\d.]+H[\d.]+V[\d.]+H[\d.]+$/);
  });
});

describe('arrow keys', () => {
  const made = layout(HOME);
  it.each([
    [undefined, 'down', 'cluster:home'],
    ['cluster:home', 'left', 'cluster:home'],
    ['node:a', 'left', 'cluster:home'],
    ['node:b', 'right', 'lxc:b:3'],
    ['lxc:b:3', 'right', 'lxc:b:3'],
    ['lxc:a:2', 'down', 'lxc:b:3'],
    ['lxc:a:1', 'up', 'lxc:a:1'],
    ['cluster:home', 'down', 'host:alone'],
  ] as const)('from %s %s leads to %s', (from, direction, to) => {
    expect(neighbour(made, from, direction)).toBe(to);
  });
  it('does not go into what is folded', () => {
    expect(neighbour(layout(HOME, new Set(['node:a'])), 'node:a', 'right')).toBe('node:a');
  });
});

it('rows are further apart than a box is high', () => {
  expect(ROW).toBeGreaterThan(HEIGHT);
});

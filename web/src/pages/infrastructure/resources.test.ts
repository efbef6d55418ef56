import { describe, expect, it } from 'vitest';

import { ancestors, byParent, children, choices, kindWords, matches, type Resource, standing } from './resources';

function resource(id: string, parent: string | null, more: Partial<Resource> = {}): Resource {
  const [kind = ''] = id.split(':');
  return { id, kind, name: id.split(':').at(-1) ?? id, aliases: [], parent, state: 'running', source: 'pve', facts: {}, ...more };
}

const ALL = [
  resource('node:delly', null),
  resource('lxc:delly:141', 'node:delly', { name: 'homepage', aliases: ['141', '10.0.0.41'] }),
  resource('lxc:delly:150', 'node:delly', { name: 'jellyfin', state: 'stopped' }),
  resource('docker_container:homepage:web', 'lxc:delly:141', { source: 'docker' }),
  resource('vm:gone:1', 'node:gone'),
];
const ANY = { search: '', kind: '', state: '', source: '' };

describe('resources', () => {
  it.each([
    ['running', 'up'],
    ['Online', 'up'],
    ['exited', 'down'],
    ['CrashLoopBackOff', 'trouble'],
    ['no quorum', 'trouble'],
    ['restarting', 'changing'],
    ['a word of its own', 'unknown'],
    [null, 'unknown'],
    [undefined, 'unknown'],
  ] as const)('%s stands %s', (state, expected) => {
    expect(standing(state)).toBe(expected);
  });

  it.each([
    ['lxc', 'LXC container'],
    ['kubernetes_stateful_set', 'Kubernetes stateful set'],
  ])('%s reads %s', (kind, words) => {
    expect(kindWords(kind)).toBe(words);
  });

  it.each([
    ['nothing', ANY, 5],
    ['a word of the name', { ...ANY, search: 'jelly' }, 1],
    ['an alias', { ...ANY, search: '10.0.0.41' }, 1],
    ['two words, in any order', { ...ANY, search: '141 lxc' }, 2],
    ['a kind', { ...ANY, kind: 'lxc' }, 2],
    ['a state', { ...ANY, kind: 'lxc', state: 'stopped' }, 1],
    ['a source', { ...ANY, source: 'docker' }, 1],
    ['what is nowhere', { ...ANY, search: 'nowhere' }, 0],
  ])('filters by %s', (_, filter, count) => {
    expect(ALL.filter((one) => matches(one, filter))).toHaveLength(count);
  });

  it('knows what something lives on, and what lives on it', () => {
    expect(ancestors(ALL, 'docker_container:homepage:web').map(({ id }) => id)).toEqual(['lxc:delly:141', 'node:delly']);
    expect(ancestors(ALL, 'vm:gone:1')).toEqual([]);
    expect(children(ALL, 'node:delly').map(({ name }) => name)).toEqual(['homepage', 'jellyfin']);
    const circle = [resource('a:1', 'b:1'), resource('b:1', 'a:1')];
    expect(ancestors(circle, 'a:1').map(({ id }) => id)).toEqual(['b:1']);
  });

  it('groups under parents, also under those that nobody knows', () => {
    expect(byParent(ALL, ALL).map(({ id, parent, rows }) => [id, parent?.name, rows.length])).toEqual([
      ['', undefined, 1],
      ['node:delly', 'delly', 2],
      ['lxc:delly:141', 'homepage', 1],
      ['node:gone', undefined, 1],
    ]);
  });

  it('counts what can be chosen', () => {
    expect(choices(ALL, ({ kind }) => kind)).toEqual([
      { value: 'lxc', count: 2 },
      { value: 'docker_container', count: 1 },
      { value: 'node', count: 1 },
      { value: 'vm', count: 1 },
    ]);
  });
});

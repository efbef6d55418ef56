import { describe, expect, it } from 'vitest';

import { lines, search, yaml } from './tree';

const CONFIG = {
  server: { listen: '127.0.0.1:7878', metrics: 'private', oidc: null },
  connections: { pve: { kind: 'proxmox', token: '[hidden]' } },
  four_eyes: false,
  levels: ['read_only', 'controlled'],
  models: [{ name: 'small', limit: 3 }],
  empty: {},
};

describe('the configuration', () => {
  it('has a line for every key, with its place', () => {
    expect(lines(CONFIG).map(({ path, value }) => [path, value])).toEqual([
      ['server', undefined],
      ['server.listen', '"127.0.0.1:7878"'],
      ['server.metrics', 'private'],
      ['server.oidc', 'null'],
      ['connections', undefined],
      ['connections.pve', undefined],
      ['connections.pve.kind', 'proxmox'],
      ['connections.pve.token', '"[hidden]"'],
      ['four_eyes', 'false'],
      ['levels', undefined],
      ['levels[0]', 'read_only'],
      ['levels[1]', 'controlled'],
      ['models', undefined],
      ['models[0]', undefined],
      ['models[0].name', 'small'],
      ['models[0].limit', '3'],
      ['empty', '{}'],
    ]);
  });

  it('finds a value with everything that it lies under', () => {
    expect(search(lines(CONFIG), 'PROXMOX').map(({ path }) => path)).toEqual([
      'connections',
      'connections.pve',
      'connections.pve.kind',
    ]);
    expect(search(lines(CONFIG), 'nowhere')).toEqual([]);
    expect(search(lines(CONFIG), ' ')).toHaveLength(17);
  });

  it.each([
    ['yes', '"yes"'],
    ['12', '"12"'],
    ['a: b', '"a: b"'],
    ['', '""'],
    ['/var/lib/interlock', '/var/lib/interlock'],
    ['two words', 'two words'],
    [' padded', '" padded"'],
  ])('writes the text %j so that it stays text', (text, written) => {
    expect(lines({ key: text })[0]?.value).toBe(written);
  });

  it('reads like the file', () => {
    expect(yaml(lines({ a: { b: 1 }, list: ['x', { name: 'n', more: true }] }))).toBe(
      'a:\n  b: 1\nlist:\n  - x\n  - name: n\n    more: true\n',
    );
  });
});

import { describe, expect, it } from 'vitest';

import { tableOf } from './tabular';

describe('what is rows', () => {
  it.each([
    ['a list of objects', [{ a: 1 }, { a: 2, b: 'x' }], { columns: ['a', 'b'], rows: [['1', ''], ['2', 'x']] }],
    ['the one list in an object', { total: 1, items: [{ id: 'lxc:1', tags: ['t'] }] }, { columns: ['id', 'tags'], rows: [['lxc:1', '["t"]']] }],
    ['JSON lines', { stdout: '{"n":1}\n{"n":2}\n' }, { columns: ['n'], rows: [['1'], ['2']] }],
    ['aligned columns', { stdout: 'NAME      STATUS\nfirst     up 3 days\nsecond    down\n' }, { columns: ['NAME', 'STATUS'], rows: [['first', 'up 3 days'], ['second', 'down']] }],
    ['a sentence', { stdout: 'active\n' }, undefined],
    ['a log', { stdout: 'Nov 15 11:33 a: b\nNov 15 11:34 a: c\n' }, undefined],
    ['capitals without columns', { stdout: 'ERROR\nsomething else\n' }, undefined],
    ['values over the border', { stdout: 'A   B\nlonger-than-this x\n' }, undefined],
    ['two lists', { a: [{ x: 1 }], b: [{ y: 1 }] }, undefined],
    ['a list of numbers', [1, 2], undefined],
    ['nothing', null, undefined],
  ])('%s', (_, data, expected) => {
    expect(tableOf(data)).toEqual(expected);
  });
});

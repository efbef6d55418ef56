import { expect, it } from 'vitest';

import { readUrl, writeUrl } from './url';

const DEFAULTS = { search: '', view: 'table', hours: '6' };

it.each([
  [{}, DEFAULTS],
  [{ view: 'graph', hours: 24 }, { search: '', view: 'graph', hours: '24' }],
  [{ search: 141, other: 'x' }, { search: '141', view: 'table', hours: '6' }],
  [{ view: { nested: true }, hours: null }, DEFAULTS],
])('reads %j', (search, expected) => {
  expect(readUrl(search, DEFAULTS)).toEqual(expected);
});

it.each([
  [{}, { view: 'graph' }, { view: 'graph' }],
  [{ view: 'graph' }, { view: 'table' }, {}],
  [{ other: 'x' }, { hours: '24' }, { other: 'x', hours: 24 }],
  [{}, { search: '007' }, { search: '007' }],
])('writes into %j the change %j', (search, change, expected) => {
  expect(writeUrl(search, DEFAULTS, change)).toEqual(expected);
});

import { expect, it } from 'vitest';

import { readUrl, writeUrl } from './url';

const DEFAULTS = { search: '', view: 'table', hours: '6' };

it.each([
  ['', DEFAULTS],
  ['?view=graph&hours=24', { search: '', view: 'graph', hours: '24' }],
  ['search=141&other=x', { search: '141', view: 'table', hours: '6' }],
  ['search=a%20b', { search: 'a b', view: 'table', hours: '6' }],
])('reads %j', (query, expected) => {
  expect(readUrl(query, DEFAULTS)).toEqual(expected);
});

it.each([
  ['', { view: 'graph' }, 'view=graph'],
  ['?view=graph', { view: 'table' }, ''],
  ['view=graph', { view: undefined }, ''],
  ['other=x', { hours: '24' }, 'hours=24&other=x'],
  ['', { search: '007' }, 'search=007'],
  ['view=graph&search=a', { search: '' }, 'view=graph'],
])('writes into %j the change %j', (query, change, expected) => {
  expect(writeUrl(query, DEFAULTS, change)).toBe(expected);
});

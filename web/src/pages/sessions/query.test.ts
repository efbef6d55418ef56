import { describe, expect, it } from 'vitest';

import { readUrl } from '../../lib/url';
import { dayStart, filterCount, LIST, listQuery, viewOf, viewPatch } from './query';

describe('what the API is asked', () => {
  it.each([
    ['', { page: 1, page_size: 25, sort: 'created_at', order: 'desc' }],
    ['page=3&page_size=100&sort=duration&order=asc', { page: 3, page_size: 100, sort: 'duration', order: 'asc' }],
    ['page=-1&page_size=7&sort=drop&order=up', { page: 1, page_size: 25, sort: 'created_at', order: 'desc' }],
    ['status=failed,held&search=a%20b', { status: 'failed,held', search: 'a b' }],
    ['from=yesterday', { from: undefined }],
  ])('%j', (url, expected) => {
    expect(listQuery(readUrl(url, LIST))).toMatchObject(expected);
  });

  it('takes whole days of the reader', () => {
    expect(dayStart('2026-03-05')).toBe(new Date(2026, 2, 5).toISOString());
    expect(dayStart('2026-12-31', true)).toBe(new Date(2027, 0, 1).toISOString());
    expect(dayStart('2026-3-5')).toBeUndefined();
  });
});

describe('views', () => {
  it.each([
    ['status=failed&page=4', 'page_size=50&status=failed', true],
    ['sort=created_at&order=desc', '', true],
    ['owner=a&chain=b', 'chain=b&owner=a', true],
    ['status=failed', 'status=held', false],
  ])('%j and %j', (a, b, same) => {
    expect(viewOf(a) === viewOf(b)).toBe(same);
  });

  it('clear what they do not set', () => {
    expect(viewPatch('status=failed')).toEqual({
      page: undefined, search: undefined, status: 'failed', kind: undefined, alert_type: undefined, chain: undefined, owner: undefined,
      from: undefined, to: undefined, sort: undefined, order: undefined,
    });
  });

  it('count their filters', () => {
    expect(filterCount(readUrl('status=a&search=&page=2&owner=x', LIST))).toBe(2);
  });
});

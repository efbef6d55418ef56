import { expect, it } from 'vitest';

import { writeMark } from './writes';

it.each([
  [{ writes: 0, writes_verified: 0 }, undefined],
  [{ writes: 1, writes_verified: 1 }, { tone: 'verified', words: '1 verified' }],
  [{ writes: 3, writes_verified: 3 }, { tone: 'verified', words: '3 verified' }],
  [{ writes: 1, writes_verified: 0 }, { tone: 'write', words: '1 write not verified' }],
  [{ writes: 3, writes_verified: 1 }, { tone: 'write', words: '1 of 3 writes verified' }],
  [{ writes: 2 }, { tone: 'write', words: '2 writes' }],
])('%j', (counted, mark) => {
  expect(writeMark(counted)).toEqual(mark);
});

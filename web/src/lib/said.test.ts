import { expect, it } from 'vitest';

import { saidParts } from './said';

it.each([
  ['plain', ['plain']],
  ['the level is `controlled`', ['the level is ', '<controlled>']],
  ['[gate] `delly` is a node', ['<delly>', ' is a node']],
  ['on which [homepage] lives', ['on which [homepage] lives']],
  ['[x]', ['[x]']],
  ['a ` alone', ['a ` alone']],
  ['`a` and ` alone', ['<a>', ' and ` alone']],
])('%j', (text, expected) => {
  expect(saidParts(text).map((part) => (part.code ? `<${part.text}>` : part.text))).toEqual(expected);
});

import { describe, expect, it } from 'vitest';

import { reveal, unreveal } from './reveal';
import cases from './reveal.cases.json';

describe('what does not print is written out', () => {
  it.each(cases as [string, string][])('%j is %j', (text, shown) => {
    expect(reveal(text).text).toBe(shown);
    expect(reveal(text).hidden > 0).toBe(text !== shown);
    expect(unreveal(shown)).toBe(text);
  });
  it('gives nothing back for what is no revealed text', () => {
    for (const shown of ['⟦', '⟦x⟧', '⟦U+⟧']) expect(unreveal(shown)).toBeUndefined();
  });
});

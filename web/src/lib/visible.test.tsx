import { render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import cases from '../../../crates/protocol/tests/visible.json';
import { Markdown } from './markdown';
import { pieces, reveal, unreveal, visible } from './visible';

describe('hidden characters', () => {
  it.each(cases.map((one) => [one.what, one] as const))('%s', (_, one) => {
    expect(visible(one.text)).toBe(one.lines);
    expect(pieces(one.text).filter((piece) => piece.hidden)).toHaveLength(one.hidden);
    expect(reveal(one.text).text).toBe(one.plan);
    expect(reveal(one.text).hidden > 0).toBe(one.plan !== one.text);
    for (const shown of [visible(one.text), reveal(one.text).text]) {
      expect(unreveal(shown)).toBe(one.text);
    }
  });

  it('differ from an escape that is written as a text', () => {
    const texts = ['p\u0430th', 'p\\u{430}th', 'p\\u0430th', 'p⟦U+0430⟧th', 'path'];
    expect(new Set(texts.map(visible)).size).toBe(texts.length);
    expect(new Set(texts.map((text) => reveal(text).text)).size).toBe(texts.length);
  });

  it('give nothing back for what is no revealed text', () => {
    for (const shown of ['⟦', '⟦x⟧', '⟦U+⟧', '⟧', '⟦U+0041⟧⟧']) expect(unreveal(shown)).toBeUndefined();
  });

  it('are marked where Markdown shows them', () => {
    const { container } = render(<Markdown text={'a\u202eb `c\u200bd` [p\u0430y](https://evil.example/)'} />);
    expect([...container.querySelectorAll('[data-hidden]')].map((one) => one.textContent)).toEqual(['⟦U+202E⟧', '⟦U+200B⟧', '⟦U+0430⟧']);
    expect(container.textContent).not.toMatch(/[\u202e\u200b]/);
  });
});

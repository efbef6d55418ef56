import { render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import cases from '../../../crates/protocol/tests/visible.json';
import { Markdown } from './markdown';
import { pieces, visible } from './visible';

describe('hidden characters', () => {
  it.each(cases.map((one) => [one.what, one] as const))('%s', (_, one) => {
    expect(visible(one.text)).toBe(one.lines);
    expect(pieces(one.text).filter((piece) => piece.hidden)).toHaveLength(one.hidden);
  });

  it('are marked where Markdown shows them', () => {
    const { container } = render(<Markdown text={'a\u202eb `c\u200bd` [p\u0430y](https://evil.example/)'} />);
    expect([...container.querySelectorAll('[data-hidden]')].map((one) => one.textContent)).toEqual(['\\u{202e}', '\\u{200b}', '\\u{430}']);
    expect(container.textContent).not.toMatch(/[\u202e\u200b]/);
  });
});

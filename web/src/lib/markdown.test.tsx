import { render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { Markdown } from './markdown';
import { parseMarkdown, safeHref } from './markdown-parse';

function html(text: string): string {
  const made = render(<Markdown text={text} />).container.firstElementChild?.innerHTML ?? '';
  // CSS modules put something of their own around a name.
  return made.replaceAll(/class="_?(\w+?)(?:_[\w-]+)?"/g, 'class="$1"');
}

describe('what is rendered', () => {
  it.each([
    ['a **b** *c* `d`', '<p>a <strong>b</strong> <em>c</em> <code>d</code></p>'],
    ['# One\n## Two', '<p class="heading">One</p><p class="heading">Two</p>'],
    ['- [x] a\n- [ ] b', '<ul><li>[x] a</li><li>[ ] b</li></ul>'],
    ['https://a.example/b', '<p><a href="https://a.example/b" target="_blank" rel="noopener noreferrer nofollow" title="https://a.example/b">https://a.example/b</a></p>'],
    ['[docs](https://a.example/b)', '<p><a href="https://a.example/b" target="_blank" rel="noopener noreferrer nofollow" title="https://a.example/b">docs</a><span class="host"> (a.example)</span></p>'],
    ['- a\n- b\n  - c', '<ul><li>a</li><li><p>b</p><ul><li>c</li></ul></li></ul>'],
    ['3. a\n4. b', '<ol start="3"><li>a</li><li>b</li></ol>'],
    ['snake_case_name and 2*3*4', '<p>snake_case_name and 2<em>3</em>4</p>'],
    ['a\n\nb', '<p>a</p><p>b</p>'],
    ['\\*not\\*', '<p>*not*</p>'],
    ['**never closed', '<p>**never closed</p>'],
    ['`never closed', '<p>`never closed</p>'],
    ['> said', '<blockquote><p>said</p></blockquote>'],
    ['---', '<hr>'],
  ])('%j', (source, expected) => {
    expect(html(source)).toBe(expected);
  });

  it('shows code as it stands, also when it never ends', () => {
    expect(html('```sh\nls *x*\n```\nafter')).toContain('<code>ls *x*</code></pre><p>after</p>');
    expect(html('```\nopen')).toContain('<code>open</code>');
  });

  it('shows a table, also with missing cells', () => {
    const shown = html('| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 2 |');
    expect(shown).toContain('<th>a</th><th>b</th>');
    expect(shown).toContain('<td>1</td><td><code>x|y</code></td>');
    expect(shown).toContain('<td>2</td><td></td>');
  });
});

describe('hostile text', () => {
  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html;base64,PHNjcmlwdD4=)',
    '[x](//evil.example)',
    '[x](http://good.example@evil.example/)',
    '![x](http://evil.example/pixel.png)',
    '[x]( javascript:alert(1) "t")',
    '<a href="javascript:alert(1)">x</a>',
    '```"><script>alert(1)</script>\nx\n```',
    '| <script> |\n|---|\n| <iframe src="x"> |',
  ])('%j makes no element that does something', (source) => {
    const { container } = render(<Markdown text={source} />);
    expect(container.querySelectorAll('script, img, iframe, object, embed, form, style, svg')).toHaveLength(0);
    for (const link of container.querySelectorAll('a')) {
      expect(link.getAttribute('href')).toMatch(/^https?:\/\//);
      expect(link.getAttribute('rel')).toContain('noopener');
    }
    for (const element of container.querySelectorAll('*')) {
      expect(element.getAttributeNames().filter((name) => name.startsWith('on'))).toEqual([]);
    }
  });

  it.each(['*a '.repeat(20_000), '['.repeat(50_000), '`'.repeat(50_001), '> '.repeat(20_000), '- '.repeat(20_000), '**_'.repeat(10_000), '|'.repeat(50_000)])(
    'ends soon with %#',
    (source) => {
      const begun = performance.now();
      html(source);
      expect(performance.now() - begun).toBeLessThan(4000);
    },
  );

  it.each([
    ['https://example.org/a', 'https://example.org/a'],
    ['ftp://example.org', undefined],
    ['https://user:secret@example.org', undefined],
    ['vbscript:x', undefined],
    ['http://', undefined],
  ])('%s', (raw, expected) => {
    expect(safeHref(raw)).toBe(expected);
  });
});

describe('marks', () => {
  const mark = (text: string, part: string) => {
    const start = text.indexOf(part);
    return { start, end: start + part.length };
  };
  it.each([
    ['plain 48 of 48 end', '48 of 48'],
    ['- one\n- **two** words', 'two'],
    ['run `systemctl is-active` now', 'is-active'],
    ['| a | b |\n|---|---|\n| x | 42 % |', '42 %'],
    ['with \\* an escape and 17', '17'],
    ['line one\nline two', 'two'],
    ['> quoted\n> and 5 more', '5 more'],
    ['ünï 🙂 and lxc:delly:150.', 'lxc:delly:150'],
  ])('%j marks exactly %j', (text, part) => {
    const { container } = render(
      <Markdown text={text} marks={[mark(text, part)]} renderMark={(_, children, last) => <mark data-last={last}>{children}</mark>} />,
    );
    expect([...container.querySelectorAll('mark')].map((one) => one.textContent).join('')).toBe(part);
    expect(container.querySelectorAll('mark[data-last="true"]')).toHaveLength(1);
  });

  it('marks a part that spans emphasis in pieces, and ends it once', () => {
    const text = 'is **active** again';
    const { container } = render(
      <Markdown text={text} marks={[{ start: 0, end: text.length }]} renderMark={(_, children, last) => <mark data-last={last}>{children}</mark>} />,
    );
    expect(container.textContent).toBe('is active again');
    expect(container.querySelectorAll('mark[data-last="true"]')).toHaveLength(1);
  });
});

describe('long runs of spaces', () => {
  const spaces = ' '.repeat(200_000);
  it.each([
    ['a heading', `# a${spaces}b`, 'heading'],
    ['a heading that closes', `# a${spaces}## ${spaces}`, 'heading'],
    ['under a row of cells', `a | b\n${spaces}-${spaces}x`, 'paragraph'],
    ['in the rule of a table', `a | b\n|${spaces}---${spaces}|${spaces}:-:${spaces}|\n1 | 2`, 'table'],
    ['a rule', `-${spaces}-${spaces}-${spaces}`, 'rule'],
    ['no rule', `-${spaces}-${spaces}-${spaces}x`, 'list'],
  ])('%s', (_, source, type) => {
    expect(parseMarkdown(source)[0]?.type).toBe(type);
  });

  it.each([
    ['# a ##', 'a'], ['# C#', 'C#'], ['# a # b', 'a # b'], ['# ##', ''], ['# a\t#  ', 'a'],
  ])('the heading %j says %j', (source, text) => {
    const [block] = parseMarkdown(source);
    const [first] = block?.type === 'heading' ? block.children : [];
    expect(first?.type === 'text' ? first.text : '').toBe(text);
  });

  it.each([
    ['|---|:-:|', true], [' --- | ---: ', true], ['|', false], ['| : | - |', false], ['|--|  |', false], ['-', true], ['|-x|', false],
  ])('%j under cells makes a table: %s', (rule, table) => {
    expect(parseMarkdown(`a | b\n${rule}\n`)[0]?.type === 'table').toBe(table);
  });
});

// Renders Markdown that a model wrote: as elements, never as HTML. Images are not loaded, scripts cannot be, links go
// only to http(s) and show their host, hidden characters are written out, headings are bold lines. Parts can be marked by where they stand in the source.

import { Fragment, type ReactNode, useMemo } from 'react';

import classes from './markdown.module.css';
import { type Block, type Inline, parseMarkdown } from './markdown-parse';
import { pieces } from './visible';

/** A part of the source. */
export interface Mark {
  start: number;
  end: number;
}

interface Marking<M extends Mark> {
  marks: readonly M[];
  render: (mark: M, children: ReactNode, last: boolean) => ReactNode;
}

/** A text with its hidden characters written out and marked. */
export function Shown({ text }: { text: string }): ReactNode {
  const parts = pieces(text);
  if (parts.every((part) => !part.hidden)) return text;
  return parts.map((part, index) => (
    part.hidden
      ? <span key={index} className={classes.hidden} data-hidden title="A hidden or look-alike character">{part.text}</span>
      : <Fragment key={index}>{part.text}</Fragment>
  ));
}

/** Where a link leads, unless its text says just that. */
function host(href: string, children: readonly Inline[]): string | undefined {
  const [only, ...more] = children;
  if (more.length === 0 && only?.type === 'text' && (only.text === href || `${only.text}/` === href)) return undefined;
  return new URL(href).host;
}

function leaf<M extends Mark>(text: string, start: number, marking: Marking<M> | undefined): ReactNode {
  if (!marking) return <Shown text={text} />;
  const end = start + text.length;
  const out: ReactNode[] = [];
  let at = start;
  for (const mark of marking.marks) {
    if (mark.end <= at || mark.start >= end) continue;
    const from = Math.max(mark.start, at);
    const to = Math.min(mark.end, end);
    if (from > at) out.push(<Shown key={at} text={text.slice(at - start, from - start)} />);
    out.push(<Fragment key={`mark ${from}`}>{marking.render(mark, <Shown text={text.slice(from - start, to - start)} />, mark.end <= end)}</Fragment>);
    at = to;
  }
  if (at < end) out.push(<Shown key={at} text={text.slice(at - start)} />);
  return out;
}

function inline<M extends Mark>(nodes: readonly Inline[], marking: Marking<M> | undefined): ReactNode {
  return nodes.map((node, index) => {
    switch (node.type) {
      case 'text':
        return <Fragment key={index}>{leaf(node.text, node.start, marking)}</Fragment>;
      case 'code':
        return <code key={index}>{leaf(node.text, node.start, marking)}</code>;
      case 'link': {
        const leads = host(node.href, node.children);
        return (
          <Fragment key={index}>
            <a href={node.href} target="_blank" rel="noopener noreferrer nofollow" title={node.href}>
              {inline(node.children, marking)}
            </a>
            {leads !== undefined && <span className={classes.host}> ({leads})</span>}
          </Fragment>
        );
      }
      case 'strong':
        return <strong key={index}>{inline(node.children, marking)}</strong>;
      case 'em':
        return <em key={index}>{inline(node.children, marking)}</em>;
      case 'del':
        return <del key={index}>{inline(node.children, marking)}</del>;
    }
  });
}

function blocks<M extends Mark>(nodes: readonly Block[], marking: Marking<M> | undefined, tight = false): ReactNode {
  return nodes.map((node, index) => {
    switch (node.type) {
      case 'heading':
        // Headings are the page's own: one that a model writes is a bold line.
        return <p key={index} className={classes.heading}>{inline(node.children, marking)}</p>;
      case 'paragraph':
        if (tight && nodes.length === 1) return <Fragment key={index}>{inline(node.children, marking)}</Fragment>;
        return <p key={index}>{inline(node.children, marking)}</p>;
      case 'code':
        return (
          <pre key={index} tabIndex={0} aria-label={node.language === '' ? 'Code' : `Code: ${node.language}`}>
            <code>{leaf(node.text, node.start, marking)}</code>
          </pre>
        );
      case 'quote':
        return <blockquote key={index}>{blocks(node.children, marking)}</blockquote>;
      case 'rule':
        return <hr key={index} />;
      case 'list': {
        const items = node.items.map((item, place) => (
          <li key={place}>
            {item.checked !== undefined && (item.checked ? '[x] ' : '[ ] ')}
            {blocks(item.children, marking, true)}
          </li>
        ));
        return node.ordered ? (
          <ol key={index} start={node.first}>
            {items}
          </ol>
        ) : (
          <ul key={index}>{items}</ul>
        );
      }
      case 'table':
        return (
          <div key={index} className={classes.table}>
            <table>
              <thead>
                <tr>
                  {node.head.map((cell, place) => (
                    <th key={place}>{inline(cell, marking)}</th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {node.rows.map((row, number) => (
                  <tr key={number}>
                    {node.head.map((_, place) => (
                      <td key={place}>{inline(row[place] ?? [], marking)}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        );
    }
  });
}

interface MarkdownProps<M extends Mark> {
  text: string;
  /** Parts of the source, in order, that `renderMark` shows in its way. */
  marks?: readonly M[];
  /** `last` is whether this piece is the end of the part. */
  renderMark?: (mark: M, children: ReactNode, last: boolean) => ReactNode;
}

export function Markdown<M extends Mark>({ text, marks, renderMark }: MarkdownProps<M>) {
  const parsed = useMemo(() => parseMarkdown(text), [text]);
  const sorted = useMemo(() => [...(marks ?? [])].sort((a, b) => a.start - b.start), [marks]);
  return <div className={classes.prose}>{blocks(parsed, renderMark ? { marks: sorted, render: renderMark } : undefined)}</div>;
}

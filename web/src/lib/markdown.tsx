// Renders Markdown that a model wrote: as elements, never as HTML. Images are not loaded, scripts cannot be, links go
// only to http(s). Parts can be marked by where they stand in the source.

import { Fragment, type ReactNode, useMemo } from 'react';

import classes from './markdown.module.css';
import { type Block, type Inline, parseMarkdown } from './markdown-parse';

/** A part of the source. */
export interface Mark {
  start: number;
  end: number;
}

interface Marking<M extends Mark> {
  marks: readonly M[];
  render: (mark: M, children: ReactNode, last: boolean) => ReactNode;
}

function leaf<M extends Mark>(text: string, start: number, marking: Marking<M> | undefined): ReactNode {
  if (!marking) return text;
  const end = start + text.length;
  const out: ReactNode[] = [];
  let at = start;
  for (const mark of marking.marks) {
    if (mark.end <= at || mark.start >= end) continue;
    const from = Math.max(mark.start, at);
    const to = Math.min(mark.end, end);
    if (from > at) out.push(text.slice(at - start, from - start));
    out.push(<Fragment key={from}>{marking.render(mark, text.slice(from - start, to - start), mark.end <= end)}</Fragment>);
    at = to;
  }
  if (at < end) out.push(text.slice(at - start));
  return out;
}

function inline<M extends Mark>(nodes: readonly Inline[], marking: Marking<M> | undefined): ReactNode {
  return nodes.map((node, index) => {
    switch (node.type) {
      case 'text':
        return <Fragment key={index}>{leaf(node.text, node.start, marking)}</Fragment>;
      case 'code':
        return <code key={index}>{leaf(node.text, node.start, marking)}</code>;
      case 'link':
        return (
          <a key={index} href={node.href} target="_blank" rel="noopener noreferrer nofollow">
            {inline(node.children, marking)}
          </a>
        );
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
      case 'heading': {
        // The page has its own first headings.
        const Tag = (['h3', 'h4', 'h5', 'h6', 'h6', 'h6'] as const)[node.level - 1] ?? 'h6';
        return <Tag key={index}>{inline(node.children, marking)}</Tag>;
      }
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
            {item.checked !== undefined && <span aria-label={item.checked ? 'done' : 'not done'}>{item.checked ? '☑ ' : '☐ '}</span>}
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

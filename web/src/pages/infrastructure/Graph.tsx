// The graph: what lives on what, drawn by ourselves. Moves by dragging, scrolling and keys; the same is there as a list
// for those to whom a drawing says nothing.

import { ActionIcon, Button, Group, Text, Tooltip, VisuallyHidden } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type PointerEvent, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';

import type { Schemas } from '../../api/client';
import { plural } from '../../lib/format';
import { Icon } from '../../ui/icons';
import { type Direction, elbow, HEIGHT, type Layout, layout, neighbour, type Placed, WIDTH } from './layout';
import { ResourceLink } from './ResourceLink';
import { kindWords, standing } from './resources';
import { StateMark, StateShape } from './StateMark';

const SMALLEST = 0.4;
const LARGEST = 2;
/** More than this, and the graph opens folded: a wall of boxes answers nothing. */
const MANY = 150;
/** How many pixels of a box a name and a state share, and how wide their characters are. */
const ROOM = WIDTH - 26 - 8 - 10;
const NAME_CHARACTER = 7;
const STATE_CHARACTER = 6;
const LONGEST_STATE = 12;

const ARROWS: Record<string, Direction> = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' };

function short(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function foldable(made: Layout): string[] {
  return made.placed.filter(({ children }) => children.length > 0).map(({ node }) => node.id);
}

interface Props {
  topology: Schemas['Topology'];
  /** What the filter keeps; the others fade. */
  kept: ReadonlySet<string> | undefined;
}

export function Graph({ topology, kept }: Props) {
  const whole = useMemo(() => layout(topology), [topology]);
  const [folded, setFolded] = useState<ReadonlySet<string>>(
    () => new Set(whole.placed.length > MANY ? whole.placed.filter(({ depth }) => depth > 0).map(({ node }) => node.id) : []),
  );
  const made = useMemo(() => layout(topology, folded), [topology, folded]);
  const [selected, setSelected] = useState<string>();
  const [zoom, setZoom] = useState<number>();
  const [dragging, setDragging] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const drag = useRef<{ x: number; y: number; left: number; top: number; moved: boolean }>(undefined);
  const navigate = useNavigate();

  const fit = () => {
    const width = frame.current?.clientWidth ?? made.width;
    setZoom(Math.min(1, Math.max(0.75, width / Math.max(1, made.width))));
  };
  const fitOnce = useEffectEvent(() => {
    if (zoom === undefined) fit();
  });
  useEffect(() => {
    fitOnce();
  }, []);
  const scale = zoom ?? 1;
  const zoomBy = (factor: number) => {
    setZoom(Math.min(LARGEST, Math.max(SMALLEST, scale * factor)));
  };
  const wheel = useEffectEvent((event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.1 : 1 / 1.1);
  });
  useEffect(() => {
    const element = frame.current;
    // React listens passively; a wheel that zooms must be able to keep the page still.
    const listener = (event: WheelEvent) => {
      wheel(event);
    };
    element?.addEventListener('wheel', listener, { passive: false });
    return () => {
      element?.removeEventListener('wheel', listener);
    };
  }, []);

  const open = (id: string) => {
    void navigate({ to: '/infrastructure/$id', params: { id } });
  };
  const toggle = (id: string) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setFolded(next);
  };
  const select = (id: string | undefined) => {
    setSelected(id);
    const place = id === undefined ? undefined : made.byId.get(id);
    const element = frame.current;
    if (!place || !element) return;
    const keep = (from: number, size: number, at: number, room: number) => {
      if (from * scale < at + 16) return Math.max(0, from * scale - 16);
      if ((from + size) * scale > at + room - 16) return (from + size) * scale - room + 16;
      return at;
    };
    element.scrollTo({
      left: keep(place.x, WIDTH, element.scrollLeft, element.clientWidth),
      top: keep(place.y, HEIGHT, element.scrollTop, element.clientHeight),
    });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = ARROWS[event.key];
    if (direction && event.shiftKey) {
      const step = 80;
      frame.current?.scrollBy({
        left: direction === 'left' ? -step : direction === 'right' ? step : 0,
        top: direction === 'up' ? -step : direction === 'down' ? step : 0,
      });
    } else if (direction) select(neighbour(made, selected, direction));
    else if (event.key === '+' || event.key === '=') zoomBy(1.2);
    else if (event.key === '-') zoomBy(1 / 1.2);
    else if (event.key === '0') fit();
    else if (event.key === 'Enter' && selected !== undefined) open(selected);
    else if (event.key === ' ' && selected !== undefined) toggle(selected);
    else if (event.key === 'Escape' && selected !== undefined) setSelected(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.pointerType !== 'mouse' || event.button !== 0) return;
    const { scrollLeft: left, scrollTop: top } = event.currentTarget;
    drag.current = { x: event.clientX, y: event.clientY, left, top, moved: false };
  };
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const from = drag.current;
    if (!from) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.moved && Math.hypot(dx, dy) < 4) return;
    if (!from.moved) {
      from.moved = true;
      setDragging(true);
      event.currentTarget.setPointerCapture(event.pointerId);
    }
    event.currentTarget.scrollTo({ left: from.left - dx, top: from.top - dy });
  };
  const onPointerUp = () => {
    const moved = drag.current?.moved === true;
    setDragging(false);
    // The click that ends a drag is none.
    setTimeout(() => {
      drag.current = undefined;
    }, moved ? 50 : 0);
  };
  const clicked = (id: string) => {
    if (drag.current?.moved !== true) setSelected(id);
  };

  const here = selected === undefined ? undefined : made.byId.get(selected);
  return (
    <div className="graph-frame">
      <Group gap="xs" p="xs" wrap="wrap">
        <Tooltip label="Larger (+)">
          <ActionIcon variant="default" size={26} aria-label="Larger" onClick={() => { zoomBy(1.2); }}>
            <Icon name="plus" />
          </ActionIcon>
        </Tooltip>
        <Tooltip label="Smaller (-)">
          <ActionIcon variant="default" size={26} aria-label="Smaller" onClick={() => { zoomBy(1 / 1.2); }}>
            <svg width={16} height={16} viewBox="0 0 16 16" aria-hidden><path d="M3 8h10" stroke="currentColor" strokeWidth={1.5} /></svg>
          </ActionIcon>
        </Tooltip>
        <Button variant="default" size="compact-sm" onClick={fit}>Fit</Button>
        <Button variant="default" size="compact-sm" onClick={() => { setFolded(new Set(foldable(whole).filter((id) => (whole.byId.get(id)?.depth ?? 0) > 0))); }}>
          Fold
        </Button>
        <Button variant="default" size="compact-sm" onClick={() => { setFolded(new Set()); }}>Unfold</Button>
        <Text size="xs" c="dimmed" visibleFrom="sm">
          Arrows move, Space folds, Enter opens, + and − zoom, Shift+arrows scroll
        </Text>
      </Group>
      <div
        ref={frame}
        className="graph"
        role="application"
        tabIndex={0}
        aria-label="Graph of resources and their hosts. Arrow keys move, Enter opens, Space folds. The list below has the same content."
        data-dragging={dragging}
        onKeyDown={onKeyDown}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={onPointerUp}
      >
        <svg
          width={made.width * scale}
          height={made.height * scale}
          viewBox={`0 0 ${made.width} ${made.height}`}
          aria-hidden
          focusable="false"
        >
          {made.placed.map((child) => {
            const parent = child.parent === undefined ? undefined : made.byId.get(child.parent);
            if (!parent) return null;
            const on = selected !== undefined && (child.node.id === selected || parent.node.id === selected);
            return <path key={child.node.id} className="graph-edge" data-on={on} d={elbow(parent, child)} />;
          })}
          {made.placed.map((place) => (
            <Box
              key={place.node.id}
              place={place}
              selected={place.node.id === selected}
              faded={kept !== undefined && !kept.has(place.node.id)}
              onSelect={clicked}
              onOpen={open}
              onFold={toggle}
            />
          ))}
        </svg>
      </div>
      <div className="graph-about">
        {here ? (
          <Group gap="sm" wrap="wrap">
            <ResourceLink id={here.node.id} name={here.node.name} strong />
            <Text size="sm" c="dimmed">{kindWords(here.node.kind)}</Text>
            <StateMark state={here.node.state} />
            {here.children.length > 0 && <Text size="sm" c="dimmed">{plural(here.children.length, 'resource')} on it</Text>}
          </Group>
        ) : (
          <Text size="sm" c="dimmed">Select a resource to see its details; double-click or Enter opens it.</Text>
        )}
        <VisuallyHidden role="status">{here ? describe(here, made) : ''}</VisuallyHidden>
      </div>
    </div>
  );
}

function describe(place: Placed, made: Layout): string {
  const on = place.parent === undefined ? undefined : made.byId.get(place.parent)?.node.name;
  const parts = [place.node.name, kindWords(place.node.kind), place.node.state ?? 'state unknown'];
  if (on !== undefined) parts.push(`on ${on}`);
  if (place.children.length > 0) parts.push(`${plural(place.children.length, 'resource')} on it${place.folded ? ', folded' : ''}`);
  return parts.join(', ');
}

interface BoxProps {
  place: Placed;
  selected: boolean;
  faded: boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
  onFold: (id: string) => void;
}

function Box({ place, selected, faded, onSelect, onOpen, onFold }: BoxProps) {
  const { node } = place;
  const how = standing(node.state);
  const word = node.state ?? 'unknown';
  const shown = short(word, LONGEST_STATE);
  return (
    <g
      className={how === 'trouble' ? 'graph-node tone-icon' : 'graph-node'}
      data-tone={how === 'trouble' ? 'failed' : undefined}
      data-standing={how}
      data-selected={selected}
      data-faded={faded}
      data-id={node.id}
      transform={`translate(${place.x} ${place.y})`}
      onClick={() => { onSelect(node.id); }}
      onDoubleClick={() => { onOpen(node.id); }}
    >
      <title>{`${node.name} · ${kindWords(node.kind)} · ${word}`}</title>
      <rect width={WIDTH} height={HEIGHT} rx={4} />
      <g transform="translate(8 7)"><StateShape state={node.state} /></g>
      <text x={26} y={17}>{short(node.name, Math.floor((ROOM - shown.length * STATE_CHARACTER) / NAME_CHARACTER))}</text>
      <text className="graph-state" x={WIDTH - 8} y={17} textAnchor="end">{shown}</text>
      {place.folded && (
        <g
          className="graph-fold"
          transform={`translate(${WIDTH + 4} 4)`}
          onClick={(event) => {
            event.stopPropagation();
            onFold(node.id);
          }}
        >
          <rect width={30} height={HEIGHT - 8} rx={9} />
          <text x={15} y={13} textAnchor="middle">+{place.hidden}</text>
        </g>
      )}
    </g>
  );
}

/** The same as the graph, for reading. */
export function GraphList({ topology }: { topology: Schemas['Topology'] }) {
  const made = useMemo(() => layout(topology), [topology]);
  const roots = made.placed.filter(({ parent }) => parent === undefined);
  return (
    <ul className="graph-list" aria-label="Resources and their hosts">
      {roots.map((place) => <Item key={place.node.id} place={place} made={made} />)}
    </ul>
  );
}

function Item({ place, made }: { place: Placed; made: Layout }) {
  const below = place.children.map((id) => made.byId.get(id)).filter((child) => child !== undefined);
  return (
    <li>
      <Group gap="sm" wrap="wrap">
        <ResourceLink id={place.node.id} name={place.node.name} />
        <Text size="sm" c="dimmed">{kindWords(place.node.kind)}</Text>
        <StateMark state={place.node.state} />
      </Group>
      {below.length > 0 && (
        <ul>{below.map((child) => <Item key={child.node.id} place={child} made={made} />)}</ul>
      )}
    </li>
  );
}

import { Button, Tabs, Text, Title } from '@mantine/core';
import { useElementSize, useMediaQuery } from '@mantine/hooks';
import { useParams, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';

import { useConnection, useMay } from '../../api/hooks';
import { plural } from '../../lib/format';
import { setPageTitle } from '../../lib/title';
import { callsOf, sectionsOf } from '../../lib/timeline';
import { useUrl } from '../../lib/url';
import { useShortcut } from '../../ui/shortcuts';
import { Failed, Loading } from '../../ui/States';
import { isOpen } from '../../ui/Status';
import { Answer } from './Answer';
import { AskBox } from './AskBox';
import { useFill } from './fill';
import { isFilter } from './filter';
import { Header } from './Header';
import { lineOfRow, linesOf, step } from './lines';
import classes from './session.module.css';
import { TimelinePane } from './TimelinePane';
import { ToolsPane } from './ToolsPane';
import type { Target } from './VirtualList';
import { useSessionWatch } from './watch';

/** Toggles a member of a set that is state. */
function toggled(set: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(key)) next.add(key);
  return next;
}

const DEFAULTS = { tab: '', filter: 'all', find: '', state: '' };

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function Session() {
  const { id } = useParams({ strict: false });
  // Another session is another page: nothing that was unfolded or aimed at stays.
  return <SessionPage key={id} id={id ?? ''} />;
}

function SessionPage({ id }: { id: string }) {
  const { state, error, partial, ready, asking, watch } = useSessionWatch(id);
  const { detail } = state;
  const operate = useMay('operate');
  const connection = useConnection();
  const narrow = useMediaQuery('(max-width: 62em)', false, { getInitialValueInEffect: false });
  const [page, height] = useFill<HTMLDivElement>();
  const { ref: timelinePane, width } = useElementSize();
  const [url, setUrl] = useUrl(DEFAULTS);
  const searchBox = useRef<HTMLInputElement>(null);

  const [openRows, setOpenRows] = useState<ReadonlySet<string>>(new Set());
  const [openCalls, setOpenCalls] = useState<ReadonlySet<string>>(new Set());
  const [rowTarget, setRowTarget] = useState<Target>();
  const [callTarget, setCallTarget] = useState<Target>();
  const [current, setCurrent] = useState<string>();
  const [asked, setAsked] = useState(0);
  const [answerOpen, setAnswerOpen] = useState(true);

  const sections = useMemo(() => sectionsOf(state), [state]);
  const calls = useMemo(() => callsOf(sections), [sections]);
  const lines = useMemo(() => linesOf(sections, width > 640), [sections, width]);
  const resource = useMemo(() => calls.find((life) => life.resource !== undefined)?.resource, [calls]);

  const title = detail?.title ?? 'Session';
  useEffect(() => {
    setPageTitle(title);
  }, [title]);

  const toggleRow = useCallback((key: string) => { setOpenRows((set) => toggled(set, key)); }, []);
  const toggleCall = useCallback((key: string) => { setOpenCalls((set) => toggled(set, key)); }, []);

  // What the address points at is unfolded and shown: once when it is there, and whenever the address changes.
  const hash = useRouterState({ select: (router) => router.location.hash });
  const [aimed, setAimed] = useState('');
  const openEvidence = useCallback((evidence: string) => {
    const life = calls.find((one) => one.evidence.includes(evidence));
    if (!life) return;
    setOpenCalls((set) => new Set(set).add(life.key));
    setCallTarget((before) => ({ key: life.key, turn: (before?.turn ?? 0) + 1 }));
  }, [calls]);
  const openRow = (row: string) => {
    const line = lineOfRow(lines, row);
    if (line === undefined) return;
    setOpenRows((set) => new Set(set).add(row));
    setRowTarget((before) => ({ key: line, turn: (before?.turn ?? 0) + 1 }));
  };
  if (ready && lines.length > 0 && hash !== aimed) {
    setAimed(hash);
    if (hash.startsWith('evidence-')) openEvidence(hash.slice('evidence-'.length));
    if (hash.startsWith('row-')) openRow(decoded(hash.slice('row-'.length)));
  }
  // On a phone: what is over begins with its answer, what runs with what it does.
  const over = detail !== undefined && !isOpen(detail.status);
  const first = hash.startsWith('evidence-') ? 'tools' : hash === '' && over ? 'answer' : 'timeline';
  const tab = url.tab === '' ? first : url.tab;
  const showEvidence = useCallback((evidence: string) => {
    openEvidence(evidence);
    setUrl({ filter: undefined, find: undefined, state: undefined, tab: narrow ? 'tools' : undefined });
    window.history.replaceState(window.history.state, '', `#evidence-${evidence}`);
  }, [openEvidence, narrow, setUrl]);

  const move = (by: 1 | -1) => {
    const next = step(lines, current, by);
    if (next === undefined) return;
    setCurrent(next);
    setRowTarget((before) => ({ key: next, turn: (before?.turn ?? 0) + 1, near: true }));
  };
  useShortcut('j', 'Next row', () => { move(1); });
  useShortcut('k', 'Previous row', () => { move(-1); });
  useShortcut('e', 'Unfold or fold the row', () => {
    const line = lines.find((one) => one.key === current);
    if (line?.type === 'rows') for (const row of line.rows) if (row) toggleRow(row.key);
  });
  useShortcut('f', 'Filter the calls', () => {
    if (narrow) setUrl({ tab: 'tools' });
    searchBox.current?.focus();
  });

  if (error !== undefined) {
    return (
      <>
        <Title order={1} size="h3" mb="md">Session</Title>
        <Failed error={error} retry={watch.retry} />
      </>
    );
  }
  if (!detail) return <Loading what="the session" lines={6} />;

  const running = isOpen(detail.status);
  const timeline = (
    <TimelinePane
      lines={lines} ready={ready} follow={running} open={openRows} onToggle={toggleRow} onEvidence={showEvidence}
      target={rowTarget} toEnd={asked} current={current} asking={asking}
    />
  );
  const tools = (
    <ToolsPane
      session={id} calls={calls} filter={isFilter(url.filter) ? url.filter : 'all'} search={url.find} status={url.state} onFilter={setUrl}
      searchBox={searchBox} open={openCalls} onToggle={toggleCall} onEvidence={showEvidence} target={callTarget} follow={running}
    />
  );
  const ended = detail.full_answer !== undefined && detail.full_answer !== null ? true : !running;
  const ask = detail.can_ask && operate && <AskBox session={id} onAsked={() => { setAsked(asked + 1); watch.refresh(); }} />;

  return (
    <div ref={page} className={classes.page} style={{ height }}>
      <Header detail={detail} resource={resource} onChanged={watch.refresh} />
      {connection === 'lost' && running && <Text size="sm" c="dimmed" role="status">The connection to the server is lost. The page reconnects automatically, and no event is missed.</Text>}
      {partial !== undefined && <Failed error={partial} retry={watch.retry} />}
      {narrow ? (
        <>
          <Tabs value={tab} onChange={(value) => { setUrl({ tab: value ?? undefined }); }} variant="default">
            <Tabs.List grow>
              <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
              <Tabs.Tab value="tools">Tools {calls.length}</Tabs.Tab>
              <Tabs.Tab value="answer">{ended ? 'Answer' : 'Done so far'}</Tabs.Tab>
            </Tabs.List>
          </Tabs>
          {tab === 'answer' ? (
            <section className={`${classes.answer ?? ''} ${classes.answerFull ?? ''}`} aria-label="Answer">
              <div className={classes.answerBody}><Answer detail={detail} entries={state.entries} onEvidence={showEvidence} /></div>
            </section>
          ) : (
            <div className={classes.panes}>
              <section className={`${classes.pane ?? ''} ${classes.timelinePane ?? ''}`} aria-label={tab === 'tools' ? 'Evidence & tools' : 'Timeline'}>
                {tab === 'tools' ? tools : timeline}
              </section>
            </div>
          )}
        </>
      ) : (
        <>
          <div className={classes.panes}>
            <section ref={timelinePane} className={`${classes.pane ?? ''} ${classes.timelinePane ?? ''}`} aria-label="Timeline">
              <div className={classes.paneHead}>Timeline</div>
              {timeline}
            </section>
            <section className={`${classes.pane ?? ''} ${classes.toolsPane ?? ''}`} aria-label="Evidence & tools">
              <div className={classes.paneHead}>Evidence &amp; tools <span className="dim">{plural(calls.length, 'call')}</span></div>
              {tools}
            </section>
          </div>
          {(ended || detail.actions.length > 0) && (
            <section className={classes.answer} aria-label="Answer">
              <div className={classes.paneHead}>
                <span className="grow">{ended ? 'Answer' : 'Done so far'}</span>
                <Button size="compact-xs" variant="subtle" color="gray" aria-expanded={answerOpen} onClick={() => { setAnswerOpen(!answerOpen); }}>
                  {answerOpen ? 'Fold' : 'Show'}
                </Button>
              </div>
              {answerOpen && <div className={classes.answerBody}><Answer detail={detail} entries={state.entries} onEvidence={showEvidence} /></div>}
            </section>
          )}
        </>
      )}
      {ask}
    </div>
  );
}

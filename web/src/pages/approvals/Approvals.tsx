import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef, useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { canAskToNotify } from '../../ui/frame/useWaiting';
import { Icon } from '../../ui/icons';
import { Page } from '../../ui/Page';
import { useShortcut } from '../../ui/shortcuts';
import { Empty, Failed, Loading } from '../../ui/States';
import { type Column, DataTable } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { ToneBadge } from '../../ui/Tone';
import { ApprovalCard } from './ApprovalCard';
import { useCards } from './useCards';
import { type Approval, ending, planTitle, progress } from './words';

function Open() {
  const { query, ids } = useCards();
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const current = Math.max(0, Math.min(at, ids.length - 1));
  const go = (index: number) => {
    const next = Math.max(0, Math.min(ids.length - 1, index));
    setAt(next);
    const card = list.current?.children[next];
    if (card instanceof HTMLElement) {
      card.focus({ preventScroll: true });
      card.scrollIntoView({ block: 'nearest' });
    }
  };
  useShortcut('j', 'Next approval', () => { go(current + 1); }, { enabled: ids.length > 1 });
  useShortcut('k', 'Previous approval', () => { go(current - 1); }, { enabled: ids.length > 1 });
  if (query.isPending) return <Loading what="approvals" />;
  if (ids.length === 0 && query.isError) return <Failed error={query.error} retry={() => void query.refetch()} />;
  if (ids.length === 0) {
    return (
      <Empty title="No approvals waiting" command={'interlock approvals            # the same on the command line\ninterlock approvals show ID'}>
        When an agent wants to change something, the exact plan appears here, with a countdown. Nothing changes until you approve it.
      </Empty>
    );
  }
  return (
    <Stack gap="lg" ref={list} className="cards">
      {ids.map((id, index) => (
        <div key={id} tabIndex={-1} className="card-place" data-current={(ids.length > 1 && index === current) || undefined} onFocus={() => { setAt(index); }}>
          <ApprovalCard id={id} keys={index === current} />
        </div>
      ))}
    </Stack>
  );
}

function became(approval: Approval) {
  const last = progress(approval).at(-1) ?? ending(approval);
  const words = approval.action?.verification === 'verified' ? 'verified' : approval.action?.outcome ?? approval.status;
  return <ToneBadge tone={last?.tone ?? 'plain'} icon={last?.tone === 'plain' ? 'check' : undefined} title={last?.words}>{words}</ToneBadge>;
}

const COLUMNS: readonly Column<Approval>[] = [
  { key: 'became', title: 'Outcome', render: became, value: (row) => row.action?.verification ?? row.action?.outcome ?? row.status, width: 140 },
  { key: 'plan', title: 'Plan', render: (row) => planTitle(row.plan), value: (row) => planTitle(row.plan) },
  { key: 'decided', title: 'Decided', render: (row) => <Ago at={row.decided_at} />, value: (row) => row.decided_at, width: 110 },
  { key: 'by', title: 'By', render: (row) => row.decided_by ?? '–', value: (row) => row.decided_by, width: 120 },
  { key: 'reason', title: 'Reason', render: (row) => row.reason ?? '', value: (row) => row.reason },
  { key: 'session', title: 'Session', render: (row) => row.session_title, value: (row) => row.session_title },
  { key: 'id', title: 'Hold', render: (row) => <code className="mono">{row.id}</code>, value: (row) => row.id, hidden: true },
  { key: 'hash', title: 'Plan hash', render: (row) => <code className="mono">{row.plan_hash.slice(0, 12)}</code>, value: (row) => row.plan_hash, hidden: true },
];

function Decided() {
  const navigate = useNavigate();
  const query = useApi<Schemas['ApprovalList']>(['approvals'], '/approvals', { status: 'decided', limit: 50 });
  if (query.isPending) return <Loading what="decided approvals" />;
  if (query.isError) return <Failed error={query.error} retry={() => void query.refetch()} />;
  return (
    <DataTable
      name="decisions" label="Decided approvals" columns={COLUMNS} rows={query.data.approvals} rowKey={(row) => row.id}
      onOpen={(row) => void navigate({ to: '/approvals/$id', params: { id: row.id } })}
      empty={<Empty title="No decisions yet">Approved, denied and edited plans are listed here, with the person, the time and the outcome.</Empty>}
    />
  );
}

export function Approvals() {
  const { show } = useSearch({ from: '/frame/approvals' });
  const navigate = useNavigate();
  const [asked, setAsked] = useState(false);
  return (
    <Page
      title="Approvals"
      actions={
        <Group gap="sm">
          {!asked && canAskToNotify() && (
            <Button size="compact-sm" variant="subtle" color="gray" leftSection={<Icon name="bell" size={14} />} onClick={() => void Notification.requestPermission().then(() => { setAsked(true); })}>
              Notify me
            </Button>
          )}
          <SegmentedControl
            size="xs" aria-label="Show" value={show ?? 'open'} data={[{ value: 'open', label: 'Open' }, { value: 'decided', label: 'Decided' }]}
            onChange={(value) => void navigate({ to: '/approvals', search: value === 'decided' ? { show: 'decided' } : {} })}
          />
        </Group>
      }
    >
      {show === 'decided' ? <Decided /> : <Open />}
      {show !== 'decided' && <Text size="xs" c="dimmed" className="keys-hint">Keys: a then Enter approves, d denies, e edits, j and k select the next or previous, ? shows all keys</Text>}
    </Page>
  );
}

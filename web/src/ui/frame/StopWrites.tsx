// The switch that stops every write at once. Always in the same place; stopping is easy, resuming is for admins.

import { Button, Group, List, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useMay, useSend } from '../../api/hooks';
import { Icon } from '../icons';
import { Failed } from '../States';
import { Ago } from '../Time';
import { useOverview } from './overview';

type Writes = Schemas['Writes'];
const CHANGES = [['overview'], ['approval'], ['approvals']] as const;

function StopDialog({ onClose }: { onClose: () => void }) {
  const [reason, setReason] = useState('');
  const stop = useSend<Schemas['StopWrites'], Writes>('POST', '/writes/stop', { invalidates: CHANGES, onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title="Stop all writes?" centered>
      <Stack gap="md">
        <List size="sm" spacing={4}>
          <List.Item><b>No new write starts</b> in any session, even if it was approved: no restart, no file change, no command that changes something.</List.Item>
          <List.Item>A write that is <b>already in progress</b> runs to its end.</List.Item>
          <List.Item>Reads, questions and answers <b>continue</b>.</List.Item>
          <List.Item>Writes stay stopped, even after a restart, until an <b>admin</b> resumes them.</List.Item>
        </List>
        <Textarea
          label="Reason (shown to all users)" autosize minRows={2} value={reason} placeholder="Something restarts again and again" data-autofocus
          onChange={(event) => { setReason(event.currentTarget.value); }}
        />
        {stop.isError && <Failed error={stop.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>Back</Button>
          <Button className="danger" loading={stop.isPending} leftSection={<Icon name="stop" />} onClick={() => { stop.mutate({ reason: reason.trim() || null }); }}>
            Stop all writes
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function ResumeDialog({ revision, onClose }: { revision: number; onClose: () => void }) {
  // What was shown when it was opened: if somebody stops writes again meanwhile, that is not what is resumed.
  const [seen] = useState(revision);
  const resume = useSend<Schemas['ResumeWrites'], Writes>('POST', '/writes/resume', { invalidates: CHANGES, onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title="Resume writes?" centered>
      <Stack gap="md">
        <Text size="sm">
          Approved writes that have not expired may run at once. Each is checked again against the current state.
        </Text>
        {resume.isError && <Failed error={resume.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>Back</Button>
          <Button className="write" loading={resume.isPending} leftSection={<Icon name="play" />} onClick={() => { resume.mutate({ revision: seen }); }}>Resume writes</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** In the top bar: stops, or says that they are stopped. */
export function StopWrites() {
  const { data } = useOverview();
  const operate = useMay('operate');
  const admin = useMay('admin');
  const [open, setOpen] = useState(false);
  if (!data) return null;
  const close = () => { setOpen(false); };
  if (data.writes.stopped) {
    return (
      <>
        <Button size="compact-sm" className="danger" leftSection={<Icon name="stop" size={14} />} disabled={!admin} onClick={() => { setOpen(true); }} title={admin ? 'Resume writes' : 'An admin can resume'}>
          <span className="wide">Writes stopped</span><span className="thin">Stopped</span>
        </Button>
        {open && <ResumeDialog revision={data.writes.revision} onClose={close} />}
      </>
    );
  }
  if (!operate) return null;
  return (
    <>
      <Button size="compact-sm" variant="default" className="stop" leftSection={<Icon name="stop" size={14} />} onClick={() => { setOpen(true); }}>
        Stop writes
      </Button>
      {open && <StopDialog onClose={close} />}
    </>
  );
}

/** While writes are stopped: who, when, why, and how to resume. */
export function StoppedBanner() {
  const { data } = useOverview();
  const admin = useMay('admin');
  const [open, setOpen] = useState(false);
  if (!data?.writes.stopped) return null;
  const { by, at, reason, revision } = data.writes;
  return (
    <div className="banner" data-tone="refused" role="alert">
      <Icon name="stop" />
      <span className="grow">
        <b>All writes are stopped</b>
        {by && <> by {by}</>}
        {at && <>, <Ago at={at} /></>}
        {reason ? <>: “{reason}”</> : '.'}
        {!admin && ' An admin can resume them.'}
      </span>
      {admin && <Button size="compact-sm" variant="default" onClick={() => { setOpen(true); }}>Resume…</Button>}
      {open && <ResumeDialog revision={revision} onClose={() => { setOpen(false); }} />}
    </div>
  );
}

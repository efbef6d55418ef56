import { Button, Group, NativeSelect, SegmentedControl, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useEffect, useMemo, useRef, useState } from 'react';

import { plural } from '../../lib/format';
import { ChangeTable } from '../../ui/Json';
import { type Arguments, changesOf, type Draft, draftOf, type Field, fieldsOf, readDraft, readRaw } from './edit';
import type { Approval } from './words';

function Input({ field, value, error, onChange }: { field: Field; value: string | boolean | undefined; error: string | undefined; onChange: (value: string | boolean) => void }) {
  const common = { label: field.name, description: field.help, error, required: field.required };
  if (field.kind === 'switch') {
    return <Switch label={field.name} description={field.help} checked={value === true} onChange={(event) => { onChange(event.currentTarget.checked); }} />;
  }
  const text = typeof value === 'string' ? value : '';
  if (field.kind === 'choice') {
    const data = field.required ? field.choices : ['', ...field.choices];
    return <NativeSelect {...common} data={data.includes(text) ? data : [text, ...data]} value={text} onChange={(event) => { onChange(event.currentTarget.value); }} />;
  }
  if (field.kind === 'number') {
    return <TextInput {...common} inputMode="decimal" value={text} onChange={(event) => { onChange(event.currentTarget.value); }} />;
  }
  return (
    <Textarea
      {...common} autosize minRows={field.kind === 'json' ? 2 : 1} maxRows={16} value={text} spellCheck={false}
      classNames={{ input: 'mono' }} onChange={(event) => { onChange(event.currentTarget.value); }}
    />
  );
}

/** The arguments as a form (or as JSON), then what differs, then sending it to the gate. */
export function EditForm({ approval, busy, onSend, onCancel }: {
  approval: Approval;
  busy: boolean;
  onSend: (args: Arguments) => void;
  onCancel: () => void;
}) {
  const before: Arguments = approval.plan.arguments;
  const fields = useMemo(() => fieldsOf(approval.plan.schema, before), [approval.plan.schema, before]);
  const [mode, setMode] = useState<'form' | 'json'>('form');
  const [draft, setDraft] = useState<Draft>(() => draftOf(fields, before));
  const [raw, setRaw] = useState(() => JSON.stringify(before, null, 2));
  const [checking, setChecking] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLElement>('textarea, input:not([type=radio]), select, button.mantine-Button-root')?.focus();
  }, [checking]);

  const rawRead = readRaw(raw);
  const formRead = readDraft(fields, draft, before);
  const args: Arguments | undefined = mode === 'json'
    ? ('arguments' in rawRead ? rawRead.arguments : undefined)
    : Object.keys(formRead.errors).length === 0 ? formRead.arguments : undefined;
  const changes = args ? changesOf(before, args) : [];

  const isSet = (field: Field) => field.required || before[field.name] !== undefined;
  const input = (field: Field) => (
    <Input
      key={field.name} field={field} value={draft[field.name]} error={formRead.errors[field.name]}
      onChange={(value) => { setDraft({ ...draft, [field.name]: value }); }}
    />
  );
  const turn = (next: string) => {
    if (next === 'json') {
      setRaw(JSON.stringify(formRead.arguments, null, 2));
      setMode('json');
    } else if ('arguments' in rawRead) {
      setDraft(draftOf(fieldsOf(approval.plan.schema, { ...before, ...rawRead.arguments }), rawRead.arguments));
      setMode('form');
    }
  };

  if (checking && args) {
    return (
      <Stack gap="sm" ref={box} role="group" aria-label="Your changes" onKeyDown={(event) => { if (event.key === 'Escape' && !busy) setChecking(false); }}>
        <Text fw={600} size="sm">Your changes</Text>
        <ChangeTable changes={changes} />
        <Text size="sm" c="dimmed">
          The gate checks the changed plan again. If the gate accepts it, it waits for approval in a new card, and this card is closed.
        </Text>
        <Group gap="sm">
          <Button onClick={() => { onSend(args); }} loading={busy}>Submit changes</Button>
          <Button variant="default" onClick={() => { setChecking(false); }} disabled={busy}>Back to editing</Button>
          <Button variant="subtle" color="gray" onClick={onCancel} disabled={busy}>Discard changes</Button>
        </Group>
        {busy && <Text size="sm" role="status">The gate is checking the changed plan…</Text>}
      </Stack>
    );
  }

  return (
    <Stack
      gap="sm" ref={box} role="group" aria-label="Edit the arguments"
      onKeyDown={(event) => {
        // What was changed is not lost by a key.
        if (event.key === 'Escape' && args && changes.length === 0) onCancel();
      }}
    >
      <Group justify="space-between">
        <Text fw={600} size="sm">Edit the arguments</Text>
        <SegmentedControl
          size="xs" value={mode} onChange={turn} aria-label="How to edit"
          data={[{ value: 'form', label: 'Form', disabled: mode === 'json' && !('arguments' in rawRead) }, { value: 'json', label: 'JSON' }]}
        />
      </Group>
      {mode === 'json' ? (
        <Textarea
          label="Arguments as JSON" autosize minRows={6} maxRows={24} spellCheck={false} classNames={{ input: 'mono' }}
          value={raw} error={'error' in rawRead ? rawRead.error : undefined} onChange={(event) => { setRaw(event.currentTarget.value); }}
        />
      ) : (
        <>
          {fields.filter(isSet).map(input)}
          {fields.some((field) => !isSet(field)) && (
            <details>
              <summary>More: {plural(fields.filter((field) => !isSet(field)).length, 'argument')} not set in the plan</summary>
              <Stack gap="sm" mt="sm">{fields.filter((field) => !isSet(field)).map(input)}</Stack>
            </details>
          )}
        </>
      )}
      <Group gap="sm">
        <Button disabled={!args || changes.length === 0} onClick={() => { setChecking(true); }}>Review changes</Button>
        <Button variant="subtle" color="gray" onClick={onCancel}>Discard changes</Button>
        {args && changes.length === 0 && <Text size="sm" c="dimmed">No changes yet.</Text>}
      </Group>
    </Stack>
  );
}

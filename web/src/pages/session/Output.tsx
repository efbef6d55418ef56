import { Anchor, Button, Group, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { facts, number, text } from '../../lib/facts';
import { bytes } from '../../lib/format';
import { tableOf } from '../../lib/tabular';
import { CodeBlock, CopyButton, Mono } from '../../ui/Code';
import { JsonView } from '../../ui/Json';
import { Failed, Loading } from '../../ui/States';
import { Ago } from '../../ui/Time';

const ROWS = 200;

function AsTable({ columns, rows }: { columns: readonly string[]; rows: readonly (readonly string[])[] }) {
  return (
    <Table.ScrollContainer minWidth={columns.length * 90} maxHeight={480}>
      <Table verticalSpacing={2} stickyHeader fz="xs">
        <Table.Thead>
          <Table.Tr>{columns.map((column) => <Table.Th key={column}>{column}</Table.Th>)}</Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.slice(0, ROWS).map((row, index) => (
            <Table.Tr key={index}>{columns.map((column, place) => <Table.Td key={column} className="mono">{row[place]}</Table.Td>)}</Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {rows.length > ROWS && <Text size="xs" c="dimmed">The first {ROWS} of {rows.length} rows. “Copy” copies all of them.</Text>}
    </Table.ScrollContainer>
  );
}

function Data({ data }: { data: unknown }) {
  const found = facts(data);
  const stdout = text(found, 'stdout');
  const stderr = text(found, 'stderr');
  if (stdout === undefined && stderr === undefined) {
    return typeof data === 'string' ? <CodeBlock text={data} label="output" /> : <JsonView value={data} label="output" />;
  }
  const exit = number(found, 'exit_code');
  const whole = number(found, 'stdout_bytes');
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">
        {exit !== undefined && `exit code ${exit}`}
        {whole !== undefined && ` · ${bytes(whole)}`}
        {found.truncated === true && ' · shortened, because it was too long'}
      </Text>
      {stdout !== undefined && stdout !== '' && <CodeBlock text={stdout.trimEnd()} label="output" maxLines={16} />}
      {stderr !== undefined && stderr !== '' && <CodeBlock text={stderr.trimEnd()} label="error output" />}
      {(stdout ?? '') === '' && (stderr ?? '') === '' && <Text size="sm" c="dimmed">No output.</Text>}
    </Stack>
  );
}

/** What a call read, from the evidence that was kept. Asked for only when somebody looks. */
export function Output({ session, evidence }: { session: string; evidence: string }) {
  const found = useApi<Schemas['Evidence']>(['session', session, 'evidence', evidence], `/sessions/${session}/evidence/${evidence}`, undefined, {
    staleTime: Infinity,
  });
  const [asTable, setAsTable] = useState(false);
  if (found.isPending) return <Loading what="the evidence" lines={2} />;
  if (found.isError) return <Failed error={found.error} retry={() => void found.refetch()} />;
  const data: unknown = found.data.data;
  const table = tableOf(data);
  return (
    <Stack gap={4} id={`evidence-${evidence}`}>
      <Group gap="xs" justify="space-between">
        <Text size="xs" c="dimmed">
          evidence <Mono title={evidence}>{evidence.slice(0, 12)}</Mono> · read <Ago at={found.data.taken_at} />
          {!found.data.command && found.data.tool === 'code.observe' && ' by Interlock'}
        </Text>
        <Group gap={2}>
          {table !== undefined && (
            <Button size="compact-xs" variant="subtle" color="gray" aria-pressed={asTable} onClick={() => { setAsTable(!asTable); }}>
              {asTable ? 'as text' : 'as table'}
            </Button>
          )}
          <Anchor size="xs" c="dimmed" href={`/api/v1/sessions/${session}/evidence/${evidence}`} target="_blank" rel="noreferrer">open</Anchor>
          <CopyButton text={text(facts(data), 'stdout') ?? JSON.stringify(data, null, 2)} label="Copy the output" />
        </Group>
      </Group>
      {found.data.walls && (
        <Text size="xs" c={found.data.walls.sandboxed ? 'dimmed' : 'inherit'} title={found.data.walls.reason ?? ''}>
          {found.data.walls.sentence}
        </Text>
      )}
      {found.data.command && <Text size="xs" component="div" className="prewrap">command: <Mono>{found.data.command}</Mono></Text>}
      {asTable && table ? <AsTable {...table} /> : <Data data={data} />}
    </Stack>
  );
}

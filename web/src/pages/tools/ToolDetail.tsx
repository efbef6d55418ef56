// One tool, read at leisure: what it is for, its actions and what each does, its arguments in words.

import './tools.css';

import { Stack, Table, Text, Title } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { Mono } from '../../ui/Code';
import { JsonView } from '../../ui/Json';
import { KindBadge } from './KindBadge';
import { parameters } from './parameters';

export function ToolDetail({ tool }: { tool: Schemas['Tool'] }) {
  const rows = parameters(tool.parameters);
  return (
    <Stack gap="md">
      <Text size="sm" className="prewrap">{tool.description}</Text>
      {!tool.available && (
        <Text size="sm">No working connection can run this tool. See the connections for problems.</Text>
      )}
      {tool.actions.length > 0 && (
        <section>
          <Title order={3} size="h6" mb={4}>Actions</Title>
          <Table verticalSpacing={4} aria-label="Actions">
            <Table.Thead>
              <Table.Tr><Table.Th>Action</Table.Th><Table.Th>Effect</Table.Th></Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {tool.actions.map((action) => (
                <Table.Tr key={action.name}>
                  <Table.Td><Mono>{action.name}</Mono></Table.Td>
                  <Table.Td><KindBadge kind={action.kind} /></Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </section>
      )}
      <section>
        <Title order={3} size="h6" mb={4}>Arguments</Title>
        {rows.length === 0 ? (
          <Text size="sm" c="dimmed">No arguments.</Text>
        ) : (
          <div className="scroll-x" role="region" aria-label="Arguments" tabIndex={0}>
            <Table miw={380} verticalSpacing={4}>
              <Table.Thead>
                <Table.Tr><Table.Th>Name</Table.Th><Table.Th>Type</Table.Th><Table.Th>Description</Table.Th></Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {rows.map((row) => (
                  <Table.Tr key={row.name}>
                    <Table.Td>
                      <Mono>{row.name}</Mono>
                      {row.required && <Text size="xs" c="dimmed">required</Text>}
                    </Table.Td>
                    <Table.Td>{row.type}</Table.Td>
                    <Table.Td>
                      {row.description}
                      {row.limits.length > 0 && <Text size="xs" c="dimmed">{row.limits.join('; ')}</Text>}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </div>
        )}
      </section>
      <details>
        <summary>The JSON Schema</summary>
        <JsonView value={tool.parameters} label="schema" />
      </details>
    </Stack>
  );
}

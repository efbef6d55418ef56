// Resources under what they live on; each group folds.

import { Group, Table, Text, UnstyledButton } from '@mantine/core';
import { useMemo, useState } from 'react';

import { Mono } from '../../ui/Code';
import { Icon } from '../../ui/icons';
import { ResourceLink } from './ResourceLink';
import { byParent, kindWords, type Resource, standing } from './resources';
import { StateMark } from './StateMark';

interface Props {
  kept: readonly Resource[];
  all: readonly Resource[];
  onOpen: (resource: Resource) => void;
}

export function Grouped({ kept, all, onOpen }: Props) {
  const groups = useMemo(() => byParent(kept, all), [kept, all]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => {
    const next = new Set(closed);
    if (!next.delete(id)) next.add(id);
    setClosed(next);
  };
  return (
    <Table.ScrollContainer minWidth={520}>
      <Table verticalSpacing={4} highlightOnHover aria-label="Resources, grouped by host">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Type</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Id</Table.Th>
            <Table.Th>Source</Table.Th>
          </Table.Tr>
        </Table.Thead>
        {groups.map((group) => {
          const open = !closed.has(group.id);
          const trouble = group.rows.filter(({ state }) => standing(state) === 'trouble').length;
          const title = group.parent?.name ?? (group.id === '' ? 'No host' : group.id);
          return (
            <Table.Tbody key={group.id}>
              <Table.Tr bg="var(--mantine-color-default-hover)">
                <Table.Th colSpan={5} scope="colgroup">
                  <UnstyledButton aria-expanded={open} onClick={() => { toggle(group.id); }}>
                    <Group gap="sm">
                      <Icon name={open ? 'chevronDown' : 'chevronRight'} size={12} />
                      <Text size="sm" fw={600}>{title}</Text>
                      <Text size="sm" c="dimmed">
                        {group.parent ? `${kindWords(group.parent.kind)} · ` : ''}
                        {group.rows.length}
                        {trouble > 0 ? ` · ${trouble} with problems` : ''}
                      </Text>
                    </Group>
                  </UnstyledButton>
                </Table.Th>
              </Table.Tr>
              {open &&
                group.rows.map((resource) => (
                  <Table.Tr
                    key={resource.id}
                    data-open
                    onClick={(event) => {
                      if ((event.target as Element).closest('a, button') === null) onOpen(resource);
                    }}
                  >
                    <Table.Td pl="xl"><ResourceLink id={resource.id} name={resource.name} strong /></Table.Td>
                    <Table.Td>{kindWords(resource.kind)}</Table.Td>
                    <Table.Td><StateMark state={resource.state} /></Table.Td>
                    <Table.Td><Mono>{resource.id}</Mono></Table.Td>
                    <Table.Td>{resource.source}</Table.Td>
                  </Table.Tr>
                ))}
            </Table.Tbody>
          );
        })}
      </Table>
    </Table.ScrollContainer>
  );
}

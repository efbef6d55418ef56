// The effective configuration: every key, defaults included, secrets left out. For reading: it is changed in its file.

import './settings.css';

import { Group, Stack, Text, TextInput } from '@mantine/core';
import { useMemo } from 'react';

import type { Schemas } from '../../api/client';
import { useApi } from '../../api/hooks';
import { plural } from '../../lib/format';
import { useUrl } from '../../lib/url';
import { CopyButton, Mono } from '../../ui/Code';
import { Empty, Failed, Loading } from '../../ui/States';
import { lines, search, yaml } from './tree';

const DEFAULTS = { search: '' };

export function Configuration() {
  const [url, setUrl] = useUrl(DEFAULTS);
  const { data, error, refetch } = useApi<Schemas['ConfigForm']>(['config'], '/config');
  const all = useMemo(() => lines(data?.config), [data]);
  const shown = useMemo(() => search(all, url.search), [all, url.search]);
  if (error) return <Failed error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="the configuration" lines={8} />;
  return (
    <Stack gap="sm">
      <Group gap="sm" align="flex-end" wrap="wrap">
        <TextInput
          size="xs" w={260} label="Search" placeholder="a key or a value"
          value={url.search} onChange={(event) => { setUrl({ search: event.currentTarget.value }); }}
        />
        <Text size="xs" c="dimmed" mb={6}>
          {data.file ? <>from <Mono>{data.file}</Mono></> : 'no file: all defaults'}
          {url.search !== '' && ` · ${plural(shown.length, 'line')} of ${all.length}`}
        </Text>
      </Group>
      {shown.length === 0 ? (
        <Empty title="No key or value matches">Search for a part of a key, for example <Mono>server</Mono>.</Empty>
      ) : (
        <div className="config" role="region" aria-label="Configuration" tabIndex={0}>
          <span className="config-copy"><CopyButton text={yaml(shown)} label="Copy the configuration" /></span>
          {shown.map((line) => (
            <div key={line.path} className="config-line" title={line.path} style={{ paddingInlineStart: `${line.depth * 20}px` }}>
              <span className="config-key">{line.key === '-' ? '-' : `${line.key}:`}</span>{' '}
              {line.value !== undefined && <span>{line.value}</span>}
            </div>
          ))}
        </div>
      )}
    </Stack>
  );
}

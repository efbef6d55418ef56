import { Popover, Stack, Text } from '@mantine/core';

import { Icon } from '../icons';
import { useOverview } from './overview';
import { LEVELS, modeSays, pillTone } from './words';

/** Control level and mode as one; a click explains them. */
export function LevelPill() {
  const { data } = useOverview();
  if (!data) return null;
  const level = LEVELS[data.level];
  const { stopped } = data.writes;
  const mode = stopped ? 'writes stopped' : data.mode;
  return (
    <Popover position="bottom-start" width={320} withArrow trapFocus returnFocus>
      <Popover.Target>
        <button type="button" className="pill" data-tone={stopped ? 'refused' : pillTone(data.level, data.mode)} aria-label={`Control level ${level.name}, ${stopped ? '' : 'mode '}${mode}. Explain`}>
          <Icon name={data.level === 'read_only' ? 'read' : data.level === 'controlled' ? 'approvals' : 'line'} size={14} />
          <span>{level.name}</span>
          <span className="pill-mode">{mode}</span>
        </button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="sm" tabIndex={-1}>
          <div>
            <Text size="sm" fw={600}>Level: {level.name}</Text>
            <Text size="sm">{level.says}</Text>
          </div>
          <div>
            <Text size="sm" fw={600}>Mode: {data.mode}</Text>
            <Text size="sm">{modeSays(data.mode)}</Text>
          </div>
          {stopped && (
            <div>
              <Text size="sm" fw={600}>Writes are stopped</Text>
              <Text size="sm">No write starts until an admin resumes writes, whatever the level is.</Text>
            </div>
          )}
          {data.demo && (
            <div>
              <Text size="sm" fw={600}>Demo</Text>
              <Text size="sm">This is a simulated cluster. Everything works, but no real machine is changed.</Text>
            </div>
          )}
          {data.four_eyes && (
            <div>
              <Text size="sm" fw={600}>Four eyes</Text>
              <Text size="sm">The owner of a session may not approve its writes. Another person must approve them.</Text>
            </div>
          )}
          <Text size="xs" c="dimmed">Both are set in the configuration file of the server, not here.</Text>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

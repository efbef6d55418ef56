import { Button, Tooltip } from '@mantine/core';
import { useEffect, useState } from 'react';

import { useConnection } from '../../api/hooks';
import { live } from '../../api/live';
import { Icon } from '../icons';

/** Whether what is shown is live. Quiet while it is; a loss that lasts a moment shows. */
export function Connection() {
  const state = useConnection();
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (state === 'open') return undefined;
    const timer = setTimeout(() => {
      setLate(true);
    }, 800);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [state]);
  if (state === 'open') {
    return (
      <Tooltip label="Live: changes show at once">
        <span className="connection" role="status"><Icon name="line" size={14} /><span className="wide">live</span></span>
      </Tooltip>
    );
  }
  if (!late) return <span className="connection dim" role="status"><Icon name="line" size={14} /><span className="wide">connecting…</span></span>;
  return (
    <span className="connection" role="status" data-tone="failed">
      <Icon name="failed" size={14} />
      <span>{state === 'lost' ? <><span className="wide">connection </span>lost</> : 'connecting…'}</span>
      <Button size="compact-xs" variant="default" onClick={() => { live.hurry(); }}>Try now</Button>
    </span>
  );
}

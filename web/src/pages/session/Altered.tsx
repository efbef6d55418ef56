// What the page says above everything else when the rows of a session are not those that were signed.

import { Alert } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { Mono } from '../../ui/Code';

/** Nothing while the record is as it was signed. */
export function Altered({ head }: { head: Schemas['Head'] }) {
  if (head.record?.state !== 'altered') return null;
  return (
    <Alert color="red" role="alert" title="The record of this session was changed outside Interlock" mb="sm">
      {head.record.what ? <>Changed: {head.record.what}. </> : null}
      Nothing on this page is proven, and the session cannot be continued. Make a copy of the store, then run <Mono>interlock audit verify</Mono> on the server.
    </Alert>
  );
}

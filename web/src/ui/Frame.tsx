import { Outlet } from '@tanstack/react-router';

import { useMeQuery } from '../api/hooks';
import { Failed, Loading } from './States';

export function Frame() {
  const me = useMeQuery();
  if (me.isPending) return <Loading what="Interlock" />;
  if (me.isError) return <Failed error={me.error} retry={() => void me.refetch()} />;
  return <Outlet />;
}

// Around every page: where one can go, what waits, whether it is live, and the switch that stops all writes.

import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate, useRouter, useRouterState } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef } from 'react';

import { useChannel, useConnection, useMe, useMeQuery } from '../api/hooks';
import { live } from '../api/live';
import { Connection } from './frame/Connection';
import { BottomNav, Nav, type Place, PLACES } from './frame/Nav';
import { useOpenApprovals, useOverview } from './frame/overview';
import { Palette } from './frame/Palette';
import { LevelPill } from './frame/Pill';
import { StoppedBanner, StopWrites } from './frame/StopWrites';
import { UserMenu } from './frame/UserMenu';
import { useWaiting } from './frame/useWaiting';
import { Icon } from './icons';
import { ShortcutsHelp, useShortcut } from './shortcuts';
import { Failed, Loading } from './States';

/** What changed somewhere is asked again, once for many changes. */
function useFresh(): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useChannel('sessions', () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      for (const key of ['overview', 'approvals', 'sessions', 'incidents', 'incident']) void queries.invalidateQueries({ queryKey: [key] });
    }, 150);
  });
  // What passed by while the line was down has no event: ask for everything on the screen.
  const state = useConnection();
  const lost = useRef(false);
  useEffect(() => {
    if (state === 'lost') lost.current = true;
    if (state === 'open' && lost.current) {
      lost.current = false;
      void queries.invalidateQueries();
    }
  }, [state, queries]);
  useEffect(() => () => {
    clearTimeout(timer.current);
  }, []);
}

function Goto({ place }: { place: Place }) {
  const navigate = useNavigate();
  useShortcut(`g ${place.key}`, `Go to ${place.words}`, () => void navigate({ to: place.to }));
  return null;
}

function Shell() {
  const me = useMe();
  const overview = useOverview();
  const approvals = useOpenApprovals();
  const navigate = useNavigate();
  const said = useWaiting(approvals.data?.approvals);
  const waiting = approvals.data?.approvals.length ?? overview.data?.open_holds ?? 0;
  const totals = overview.data?.incidents;
  const counts = { waiting, incidents: totals ? totals.critical + totals.warning + totals.info : 0, critical: totals?.critical ?? 0 };
  const path = useRouterState({ select: (state) => state.location.pathname });
  useFresh();
  return (
    <div className="frame">
      <a href="#main" className="skip">Skip to content</a>
      <Nav counts={counts} />
      <header className="top">
        <LevelPill />
        {overview.data?.demo && <span className="demo" title="This is a simulated cluster. Everything works, but no real machine is changed.">Demo</span>}
        <Connection />
        <span className="grow" />
        <Palette />
        <StopWrites />
        <UserMenu />
      </header>
      <main id="main" className="main" tabIndex={-1}>
        <StoppedBanner />
        {overview.data?.demo === false && !me.has_password && me.user.sign_in !== 'oidc' && !path.startsWith('/settings') && (
          <div className="banner" data-tone="plain">
            <Icon name="key" />
            <span className="grow">You signed in with a one-time link and have no password yet. Without a password you need a new link to sign in again.</span>
            <Button size="compact-sm" variant="default" onClick={() => void navigate({ to: '/settings/$tab', params: { tab: 'profile' } })}>Set a password</Button>
          </div>
        )}
        <Outlet />
      </main>
      <BottomNav counts={counts} />
      <div role="status" aria-live="assertive" className="off-screen">{said}</div>
      <ShortcutsHelp />
      {PLACES.map((place) => <Goto key={place.to} place={place} />)}
    </div>
  );
}

/** Lets in who is signed in; sends everybody else to sign in, and back to where they wanted to go. */
export function Frame() {
  const me = useMeQuery();
  const router = useRouter();
  const gone = me.error?.status === 401;
  useEffect(() => {
    if (!gone) return;
    const here = router.state.location.href;
    void router.navigate({ to: '/sign-in', search: here === '/' ? {} : { to: here }, replace: true });
  }, [gone, router]);
  const refetch = useEffectEvent(() => me.refetch());
  const user = me.data?.user.id;
  useEffect(() => {
    if (user === undefined) return undefined;
    live.onRefused = () => {
      // Signed out: the answer is 401 and the page goes. Else it was about rights, and the line may stand again.
      void refetch().then((answer) => {
        if (answer.isSuccess) setTimeout(live.hurry, 5000);
      });
    };
    live.start();
    return () => {
      live.stop();
    };
  }, [user]);
  if (gone) return <main className="alone"><Loading what="the sign-in page" lines={1} /></main>;
  if (me.data) return <Shell />;
  if (me.isError) return <main className="alone"><Failed error={me.error} retry={() => void me.refetch()} /></main>;
  return <main className="alone"><Loading what="Interlock" /></main>;
}

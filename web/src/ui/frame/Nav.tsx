import { Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import { Icon, type IconName } from '../icons';

export interface Place {
  to: '/' | '/incidents' | '/approvals' | '/sessions' | '/chat' | '/infrastructure' | '/tools' | '/models' | '/settings';
  words: string;
  icon: IconName;
  key: string;
}

export const PLACES: readonly Place[] = [
  { to: '/', words: 'Overview', icon: 'overview', key: 'o' },
  { to: '/incidents', words: 'Incidents', icon: 'bell', key: 'n' },
  { to: '/approvals', words: 'Approvals', icon: 'approvals', key: 'a' },
  { to: '/sessions', words: 'Sessions', icon: 'sessions', key: 's' },
  { to: '/chat', words: 'Chat', icon: 'chat', key: 'c' },
  { to: '/infrastructure', words: 'Infrastructure', icon: 'infrastructure', key: 'i' },
  { to: '/tools', words: 'Tools', icon: 'tools', key: 't' },
  { to: '/models', words: 'Models', icon: 'models', key: 'm' },
  { to: '/settings', words: 'Settings', icon: 'settings', key: ',' },
];

/** What is counted beside a page: open incidents, and approvals that wait. */
export interface Counts {
  incidents: number;
  critical: number;
  waiting: number;
}

function countFor(place: Place, counts: Counts): { count: number; tone: 'failed' | 'waiting'; words: string } | undefined {
  if (place.to === '/approvals' && counts.waiting > 0) return { count: counts.waiting, tone: 'waiting', words: ', waiting: ' };
  if (place.to === '/incidents' && counts.incidents > 0) return { count: counts.incidents, tone: counts.critical > 0 ? 'failed' : 'waiting', words: ', open: ' };
  return undefined;
}

function Item({ place, counts }: { place: Place; counts: Counts }) {
  const beside = countFor(place, counts);
  return (
    <Link
      to={place.to} className="nav-item" activeProps={{ 'aria-current': 'page' }} activeOptions={{ exact: place.to === '/', includeSearch: false }}
      title={`${place.words} (g ${place.key})`}
    >
      <Icon name={place.icon} size={18} />
      <span className="nav-words">{place.words}</span>
      {beside && <span className="nav-count" data-tone={beside.tone}><span className="off-screen">{beside.words}</span>{beside.count}</span>}
    </Link>
  );
}

/** On the left; on a phone at the bottom, with the rest behind “More”. */
export function Nav({ counts }: { counts: Counts }) {
  return (
    <nav className="nav" aria-label="Pages">
      <Link to="/" className="brand" aria-label="Interlock, overview">
        <img src="/favicon.svg" alt="" width={20} height={20} />
        <span className="nav-words">Interlock</span>
      </Link>
      {PLACES.map((place) => <Item key={place.to} place={place} counts={counts} />)}
    </nav>
  );
}

export function BottomNav({ counts }: { counts: Counts }) {
  return (
    <nav className="bottom-nav" aria-label="Pages">
      {PLACES.slice(0, 4).map((place) => <Item key={place.to} place={place} counts={counts} />)}
      <Menu position="top-end" width={200}>
        <Menu.Target>
          <button type="button" className="nav-item"><Icon name="menu" size={18} /><span className="nav-words">More</span></button>
        </Menu.Target>
        <Menu.Dropdown>
          {PLACES.slice(4).map((place) => (
            <Menu.Item key={place.to} component={Link} to={place.to} leftSection={<Icon name={place.icon} />}>{place.words}</Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </nav>
  );
}

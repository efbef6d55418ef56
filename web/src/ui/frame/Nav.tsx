import { Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';

import { Icon, type IconName } from '../icons';

export interface Place {
  to: '/' | '/approvals' | '/sessions' | '/chat' | '/infrastructure' | '/tools' | '/models' | '/settings';
  words: string;
  icon: IconName;
  key: string;
}

export const PLACES: readonly Place[] = [
  { to: '/', words: 'Overview', icon: 'overview', key: 'o' },
  { to: '/approvals', words: 'Approvals', icon: 'approvals', key: 'a' },
  { to: '/sessions', words: 'Sessions', icon: 'sessions', key: 's' },
  { to: '/chat', words: 'Chat', icon: 'chat', key: 'c' },
  { to: '/infrastructure', words: 'Infrastructure', icon: 'infrastructure', key: 'i' },
  { to: '/tools', words: 'Tools', icon: 'tools', key: 't' },
  { to: '/models', words: 'Models', icon: 'models', key: 'm' },
  { to: '/settings', words: 'Settings', icon: 'settings', key: ',' },
];

function Item({ place, waiting }: { place: Place; waiting: number }) {
  const count = place.to === '/approvals' && waiting > 0 ? waiting : undefined;
  return (
    <Link
      to={place.to} className="nav-item" activeProps={{ 'aria-current': 'page' }} activeOptions={{ exact: place.to === '/', includeSearch: false }}
      title={`${place.words} (g ${place.key})`}
    >
      <Icon name={place.icon} size={18} />
      <span className="nav-words">{place.words}</span>
      {count !== undefined && <span className="nav-count" data-tone="waiting"><span className="off-screen">, waiting: </span>{count}</span>}
    </Link>
  );
}

/** On the left; on a phone at the bottom, with the rest behind “More”. */
export function Nav({ waiting }: { waiting: number }) {
  return (
    <nav className="nav" aria-label="Pages">
      <Link to="/" className="brand" aria-label="Interlock, overview">
        <img src="/favicon.svg" alt="" width={20} height={20} />
        <span className="nav-words">Interlock</span>
      </Link>
      {PLACES.map((place) => <Item key={place.to} place={place} waiting={waiting} />)}
    </nav>
  );
}

export function BottomNav({ waiting }: { waiting: number }) {
  return (
    <nav className="bottom-nav" aria-label="Pages">
      {PLACES.slice(0, 4).map((place) => <Item key={place.to} place={place} waiting={waiting} />)}
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

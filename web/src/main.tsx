import './link';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './styles.css';

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { App } from './app';
import { loadPages } from './router';

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

// When there is nothing else to do, the other pages are fetched: a lost line then still shows them.
const idle = () => void loadPages();
window.addEventListener('load', () => {
  if ('requestIdleCallback' in window) window.requestIdleCallback(idle, { timeout: 5000 });
  else setTimeout(idle, 2000);
});

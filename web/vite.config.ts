import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The page is served by the binary, from inside it: no network, no inline scripts, so that a strict CSP holds.
export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: {
      '/api': { target: process.env.INTERLOCK_URL ?? 'http://127.0.0.1:7878', ws: true },
      '/docs': { target: process.env.INTERLOCK_URL ?? 'http://127.0.0.1:7878' },
    },
  },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/test-setup.ts'],
  },
});

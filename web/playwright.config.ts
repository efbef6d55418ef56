import { defineConfig } from '@playwright/test';

// The page in a real browser, against the real server over the simulated cluster; `e2e/fixtures.ts` starts them, once for
// each worker. The patience is that of a machine with other things to do: nothing waits longer than it must.
// INTERLOCK_BIN=../target/debug/interlock npm run e2e
export default defineConfig({
  testDir: 'e2e',
  workers: 2,
  fullyParallel: true,
  forbidOnly: true,
  retries: 0,
  timeout: 300_000,
  expect: { timeout: 60_000, toHaveScreenshot: { maxDiffPixelRatio: 0.01, animations: 'disabled', caret: 'hide' } },
  reporter: [['list']],
  snapshotPathTemplate: '{testDir}/pictures/{arg}{ext}',
  use: {
    viewport: { width: 1400, height: 900 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync',
        '--no-first-run', '--font-render-hinting=none',
        // There is no network: no name means anything but this machine's own.
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      ],
    },
  },
});

import { expect, it } from 'vitest';

import { amount, factLabel, facts, tick } from './facts';

it.each([
  ['memory_total_bytes', 'Memory total'],
  ['cpu_percent', 'CPU'],
  ['ip', 'IP'],
  ['restart_count', 'Restart count'],
])('%s reads %s', (name, label) => {
  expect(factLabel(name)).toBe(label);
});

it.each([
  [1536, 'bytes', '1.5 KiB'],
  [12.34, 'percent', '12.3 %'],
  [90, 'seconds', '1 min 30 s'],
  [2048, 'bytes_per_second', '2.0 kB/s'],
  [12_345_678, 'bytes/s', '12.3 MB/s'],
  [999.7, 'bytes/s', '1.0 kB/s'],
  [12, 'bytes/s', '12 B/s'],
  [12345, 'count', '12,345'],
  [0.12345, '', '0.123'],
  [3, 'load', '3 load'],
  [1, 'bool', 'up'],
  [0, 'bool', 'down'],
  [0.5, 'bool', '50 %'],
])('%s in %s is %s', (value, unit, text) => {
  expect(amount(value, unit)).toBe(text);
});

it.each([
  [2_000_000, 'bytes/s', '2 MB'],
  [3, 'load', '3'],
  [1, 'bool', 'up'],
  [0.5, 'bool', ''],
  [50, 'percent', '50 %'],
])('%s in %s at an axis is %s', (value, unit, text) => {
  expect(tick(value, unit)).toBe(text);
});

it('says used and total in one line, and keeps what it does not understand', () => {
  expect(
    facts({
      memory_bytes: 1024,
      memory_total_bytes: 4096,
      disk_total_bytes: 1024,
      ip: ['10.0.0.1', '10.0.0.2'],
      tags: [],
      template: true,
      labels: { a: 'b' },
      lock: null,
    }),
  ).toEqual([
    { label: 'Memory', text: '1.0 KiB of 4.0 KiB (25 %)' },
    { label: 'Disk total', text: '1.0 KiB' },
    { label: 'IP', text: '10.0.0.1, 10.0.0.2' },
    { label: 'Tags', text: 'none' },
    { label: 'Template', text: 'yes' },
    { label: 'Labels', value: { a: 'b' } },
  ]);
});

// The first page, all in all: what index.html itself loads, compressed. More than the limit fails.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const LIMIT = 350 * 1000;
const dist = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist');
const html = readFileSync(join(dist, 'index.html'));
const tags = [...html.toString().matchAll(/<(script|link)\b[^>]*>/g)].map(([tag]) => tag);
const files = tags.flatMap((tag) => {
  const wanted = tag.startsWith('<script') || /rel="(stylesheet|modulepreload)"/.test(tag);
  const address = /(?:src|href)="([^"]+)"/.exec(tag)?.[1];
  return wanted && address ? [address] : [];
});
let total = gzipSync(html, { level: 9 }).length;
for (const file of files) {
  const size = gzipSync(readFileSync(join(dist, file)), { level: 9 }).length;
  total += size;
  console.log(`${(size / 1000).toFixed(1).padStart(8)} kB  ${file}`);
}
console.log(`${(total / 1000).toFixed(1).padStart(8)} kB  in all, of ${LIMIT / 1000} kB`);
if (files.length === 0 || total > LIMIT) {
  console.error(files.length === 0 ? 'index.html loads nothing: is dist built?' : 'The first page is too large.');
  process.exit(1);
}

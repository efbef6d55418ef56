// The first page must be small: everything that index.html loads at once, compressed.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const MOST = 350 * 1024;
const html = readFileSync('dist/index.html', 'utf8');
const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((match) => match[1]);
let total = gzipSync(html).length;
for (const file of new Set(files)) total += gzipSync(readFileSync(`dist${file}`)).length;
console.log(`first page: ${(total / 1024).toFixed(1)} kB gzip in ${files.length} files, at most ${MOST / 1024} kB`);
if (total > MOST) process.exit(1);

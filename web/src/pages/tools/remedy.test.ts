import { expect, it } from 'vitest';

import { remedy } from './remedy';

it.each([
  ['connection refused (10.0.0.5:8006)', /not reachable/],
  ['401 Unauthorized', /credentials/],
  ['403 Forbidden', /Permission denied/],
  ['invalid peer certificate: UnknownIssuer', /certificate/],
  ['failed to resolve pve.example', /does not resolve/],
  ['timed out after 5 s', /Timeout/],
  ['something new', /doctor/],
  [null, /doctor/],
])('for %j', (problem, words) => {
  expect(remedy(problem)).toMatch(words);
});

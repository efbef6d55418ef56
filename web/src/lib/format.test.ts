import { describe, expect, it } from 'vitest';

import { csv, csvCell } from './csv';
import { ago, bytes, clock, duration, money, percent, plural, shortId } from './format';
import { localPath } from './here';

describe('numbers for people', () => {
  it.each([
    [bytes(0), '0 B'], [bytes(1536), '1.5 KiB'], [bytes(250 * 1024 ** 3), '250 GiB'], [bytes(undefined), '–'],
    [percent(42.13), '42.1 %'], [percent(100), '100 %'], [percent(null), '–'],
    [duration(0), '0 s'], [duration(0.0842), '84 ms'], [duration(0.9999), '1.0 s'], [duration(9.96), '10 s'], [duration(59.6), '1 min'],
    [duration(200), '3 min 20 s'], [duration(7500), '2 h 5 min'], [duration(97 * 3600), '4 d 1 h'], [duration(null), '–'],
    [clock(581), '09:41'], [clock(-3), '00:00'], [clock(3723), '1:02:03'],
    [money(0), '0.00'], [money(0.0012), '0.0012'], [money(12.345), '12.35'],
    [shortId('ses_1'), 'ses_1'], [shortId('ses_0123456789abcdef'), '…89abcdef'],
    [plural(1, 'write'), '1 write'], [plural(1200, 'write'), '1,200 writes'],
    [ago(3000), 'just now'], [ago(-4000), 'just now'], [ago(42_000), '42 s ago'], [ago(-90_000), 'in 2 min'], [ago(3 * 3_600_000), '3 h ago'],
    [ago(72 * 3_600_000), '3 d ago'],
  ])('%s is %s', (got, wanted) => {
    expect(got).toBe(wanted);
  });
});

describe('CSV', () => {
  it.each([
    ['plain', 'plain'], ['a,b', '"a,b"'], ['say "x"', '"say ""x"""'], ['=cmd()', "'=cmd()"], ['@x', "'@x"], ['-1', "'-1"], [-1, '-1'], [null, ''],
  ])('%j becomes %s', (value, wanted) => {
    expect(csvCell(value)).toBe(wanted);
  });
  it('has a head and rows', () => {
    expect(csv(['a', 'b'], [[1, 'x']])).toBe('a,b\r\n1,x');
  });
});

describe('where to go after signing in', () => {
  it.each([
    ['/sessions/ses_1?tab=a#evidence-1', '/sessions/ses_1?tab=a#evidence-1'],
    ['/approvals', '/approvals'],
    [undefined, '/'],
    ['', '/'],
    ['https://evil.example/', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['/..//evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['/sign-in?to=/sign-in', '/'],
    ['/api/v1/auth/sign-out', '/'],
    [['/x'], '/'],
  ])('%j leads to %s', (wanted, path) => {
    expect(localPath(wanted)).toBe(path);
  });
});

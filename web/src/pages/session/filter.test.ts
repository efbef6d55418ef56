import { describe, expect, it } from 'vitest';

import fixture from '../../lib/fixtures/session.json';
import { callsOf, emptyTimeline, recordEvent, reduceTimeline, sectionsOf } from '../../lib/timeline';
import { countCalls, type Filter, matching } from './filter';

const events = fixture.events.map((event) => recordEvent(event)).filter((event) => event !== undefined);
const calls = callsOf(sectionsOf(reduceTimeline(emptyTimeline, { type: 'events', events })));

describe('which calls are shown', () => {
  it('counts', () => {
    expect(countCalls(calls)).toEqual({ all: 8, errors: 0, writes: 1, refused: 4 });
  });

  it.each<[Filter, string, string, string[]]>([
    ['writes', '', '', ['call_7_0']],
    ['refused', '', '', ['call_0_0', 'call_2_0', 'call_3_0', 'call_5_0']],
    ['refused', 'loop_detected', '', ['call_5_0']],
    ['all', 'systemctl IS-active', '', ['call_4_0', 'call_5_0']],
    ['all', '', 'verified', ['call_7_0']],
    ['all', 'nowhere', '', []],
  ])('%s %j %j', (filter, search, status, expected) => {
    expect(matching(calls, filter, search, status).map((life) => life.call)).toEqual(expected);
  });
});

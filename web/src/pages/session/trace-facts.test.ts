import { describe, expect, it } from 'vitest';

import { interactionOf, stepOf } from './trace-facts';

describe('a call to a model', () => {
  it('is read from what was kept', () => {
    const found = interactionOf(
      {
        execution: 'exe_1', number: 3, provider: 'p', model: 'big', request: '{"a":1}', raw_reply: 'not json',
        facts: {
          name: 'default', reply: { text: '', thinking: 'hm', calls: [{ name: 'infra_read' }] },
          usage: { input_tokens: 5, output_tokens: 7 }, timing: { first_chunk: { secs: 0, nanos: 5e8 }, total: { secs: 1, nanos: 0 } },
        },
      },
      0,
    );
    expect(found).toMatchObject({
      number: 3, model: 'default', inputTokens: 5, outputTokens: 7, firstSeconds: 0.5, seconds: 1, thinking: 'hm',
      summary: 'asked for infra_read', request: '{\n  "a": 1\n}', reply: 'not json', failed: undefined,
    });
  });

  it('says why there was no answer', () => {
    expect(interactionOf({ attempts: [{ failed: 'timeout', message: 'it took too long' }] }, 4)).toMatchObject({ number: 5, failed: 'it took too long' });
  });

  it.each([null, 7, [], 'x'])('%j does no harm', (raw) => {
    expect(interactionOf(raw, 0).model).toBe('model');
  });
});

describe('a question to the gate', () => {
  it.each([
    [{ ask: 'decide', call: { tool: 't', arguments: { command: 'ls' } } }, { answer: 'refused', code: 'X' }, 'decide on a call', 't ls', 'refused: X', 'refused'],
    [{ ask: 'decide', call: { tool: 't' } }, { answer: 'allowed', kind: 'write' }, 'decide on a call', 't', 'allowed', 'write'],
    [{ ask: 'redeem' }, { answer: 'held' }, 'decide on an approved plan', '', 'held', 'waiting'],
    [{ ask: 'begin', permit: 'p' }, 'started', 'use permit', 'p', 'started', 'plain'],
    [{ ask: 'answer', text: 'done' }, { released: 'completed', replaced: true }, 'decide on the answer', 'done', 'replaced', 'refused'],
    [{ ask: 'something_new' }, null, 'something new', '', 'noted', 'plain'],
  ])('%j', (input, outcome, ask, about, answer, tone) => {
    expect(stepOf({ number: 1, input, outcome }, 0)).toMatchObject({ ask, about, answer, tone });
  });
});

import { describe, expect, it } from 'vitest';

import { parameters, typeWords } from './parameters';

describe('the arguments of a tool', () => {
  it('reads a schema as rows, the required first', () => {
    expect(
      parameters({
        type: 'object',
        required: ['unit'],
        $defs: { Verb: { type: 'string', enum: ['start', 'stop'], description: 'What to do.' } },
        properties: {
          lines: { type: 'integer', minimum: 1, maximum: 500, default: 100 },
          unit: { type: 'string', description: 'The unit.', maxLength: 64 },
          verb: { $ref: '#/$defs/Verb' },
        },
      }),
    ).toEqual([
      { name: 'unit', type: 'string', required: true, description: 'The unit.', limits: ['at most 64 characters'] },
      { name: 'lines', type: 'integer', required: false, description: '', limits: ['1 to 500', 'default 100'] },
      { name: 'verb', type: 'string', required: false, description: 'What to do.', limits: ['one of start, stop'] },
    ]);
  });

  it.each([
    [undefined, 'anything'],
    [{}, 'anything'],
    [{ type: ['string', 'null'] }, 'string or nothing'],
    [{ type: 'array', items: { type: 'number' } }, 'list of number'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string or nothing'],
    [{ const: 'on' }, 'on'],
    [{ $ref: '#/gone' }, 'anything'],
    [{ enum: ['a'] }, 'string'],
  ])('%j is %s', (schema, words) => {
    expect(typeWords(schema)).toBe(words);
  });

  it.each([[undefined], [null], ['text'], [[]], [{ properties: 3 }]])('has no rows for %j', (schema) => {
    expect(parameters(schema)).toEqual([]);
  });

  it('does not follow references for ever', () => {
    const loop = { properties: { a: { $ref: '#/properties/a' } } };
    expect(parameters(loop)[0]?.type).toBe('anything');
  });
});

import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../api/client';
import { commandChoices, completed, completing, mentionChoices, oneSpace, said } from './compose';

function resource(id: string, name: string, ...aliases: string[]): Schemas['Resource'] {
  return { id, kind: 'lxc', name, aliases, parent: null, state: 'running', source: 'pve', facts: {} };
}

describe('completing', () => {
  it.each([
    ['@', 1, { kind: 'mention', query: '', from: 0, to: 1 }],
    ['why is @jel', 11, { kind: 'mention', query: 'jel', from: 7, to: 11 }],
    ['why is @jel down', 11, { kind: 'mention', query: 'jel', from: 7, to: 11 }],
    ['(@lxc:delly:1', 13, { kind: 'mention', query: 'lxc:delly:1', from: 1, to: 13 }],
    ['mail root@host', 14, undefined],
    ['@jelly fin', 10, undefined],
    ['/re', 3, { kind: 'command', query: 're', from: 0, to: 3 }],
    ['/resume x', 9, undefined],
    ['say /re', 7, undefined],
    ['', 0, undefined],
  ])('%j at %i', (text, caret, expected) => {
    expect(completing(text, caret)).toEqual(expected);
  });

  it.each([
    ['why is @jel', '@jellyfin', 'why is @jellyfin ', 17],
    ['why is @jel down', '@jellyfin', 'why is @jellyfin down', 17],
  ])('puts the choice into %j', (text, choice, expected, caret) => {
    const at = completing(text, 11);
    expect(at && completed(text, at, choice)).toEqual({ text: expected, caret });
  });
});

describe('a space after a choice', () => {
  it.each([
    ['is @jellyfin ', 12, 'is @jellyfin  ', 'is @jellyfin '],
    ['is @jellyfin ', 12, 'is @jellyfin d', 'is @jellyfin d'],
    ['is @jellyfin ', undefined, 'is @jellyfin  ', 'is @jellyfin  '],
    ['a @b c', 4, 'a @b  c', 'a @b c'],
  ])('%j with its space at %s, then %j', (before, space, next, expected) => {
    expect(oneSpace(before, space, next)).toBe(expected);
  });
});

describe('choices', () => {
  const resources = [resource('lxc:delly:150', 'jellyfin', '10.0.0.5'), resource('lxc:delly:151', 'web'), resource('lxc:minipc:151', 'web'), resource('vm:delly:9', 'my box')];
  it.each([
    ['jel', ['@jellyfin']],
    ['10.0.0', ['@jellyfin']],
    ['web', ['@lxc:delly:151', '@lxc:minipc:151']],
    ['box', ['@vm:delly:9']],
    ['nothing', []],
  ])('for %j', (query, expected) => {
    expect(mentionChoices(resources, query).map((choice) => choice.insert)).toEqual(expected);
  });

  it.each([
    ['web', ['lxc:a:2', 'lxc:a:3', 'lxc:a:1', 'vm:a:4']],
    ['lxc:a:1', ['lxc:a:1']],
  ])('for %j put its own name before a beginning, that before another name', (query, expected) => {
    const some = [resource('lxc:a:1', 'proxy', 'web'), resource('lxc:a:3', 'web-2'), resource('vm:a:4', 'old-web'), resource('lxc:a:2', 'web')];
    expect(mentionChoices(some, query).map((choice) => choice.key)).toEqual(expected);
  });

  it('are commands after a slash', () => {
    expect(commandChoices('re').map((choice) => choice.insert)).toEqual(['/resume']);
    expect(commandChoices('')).toHaveLength(5);
  });
});

describe('what was said', () => {
  it.each([
    ['  ', { type: 'nothing' }],
    ['why?', { type: 'question', text: 'why?' }],
    ['/new', { type: 'new' }],
    ['/resume ses_1', { type: 'resume', name: 'ses_1' }],
    ['/model  big one', { type: 'model', name: 'big one' }],
    ['/model', { type: 'wrong', problem: '/model needs the name of a model.' }],
    ['/etc/passwd is odd', { type: 'wrong', problem: 'Unknown command /etc/passwd. /help lists all commands.' }],
  ])('%j', (text, expected) => {
    expect(said(text)).toEqual(expected);
  });
});

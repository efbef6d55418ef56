// What is being written in the composer: a mention to complete, a command to run, or a question.

import type { Schemas } from '../../api/client';

export interface Command {
  name: string;
  takes: string;
  words: string;
}

export const COMMANDS: readonly Command[] = [
  { name: '/new', takes: '', words: 'start a new conversation' },
  { name: '/chats', takes: '', words: 'list past conversations' },
  { name: '/resume', takes: 'ID', words: 'open a past conversation' },
  { name: '/model', takes: 'NAME', words: 'choose the model for the next questions' },
  { name: '/help', takes: '', words: 'show this list' },
];

export interface Completing { kind: 'mention' | 'command'; query: string; from: number; to: number }

/** What stands before the caret and can be completed. */
export function completing(text: string, caret: number): Completing | undefined {
  const before = text.slice(0, caret);
  const command = /^\/(\S*)$/.exec(before);
  if (command) return { kind: 'command', query: command[1] ?? '', from: 0, to: caret };
  const mention = /(?:^|[\s(,;])@([^\s@]*)$/.exec(before);
  if (!mention) return undefined;
  const query = mention[1] ?? '';
  return { kind: 'mention', query, from: caret - query.length - 1, to: caret };
}

/** The text with the choice in place, and where the caret stands then. */
export function completed(text: string, at: Completing, choice: string): { text: string; caret: number } {
  const after = text.slice(at.to);
  const put = after.startsWith(' ') ? choice : `${choice} `;
  const caret = at.from + put.length + (after.startsWith(' ') ? 1 : 0);
  return { text: text.slice(0, at.from) + put + after, caret };
}

/** What is there after somebody typed, where a choice was put in just before and its space stands at `space`: one space is enough. */
export function oneSpace(before: string, space: number | undefined, next: string): string {
  if (space === undefined || before.charAt(space) !== ' ') return next;
  return next === `${before.slice(0, space + 1)} ${before.slice(space + 1)}` ? before : next;
}

export interface Choice {
  key: string;
  insert: string;
  label: string;
  words: string;
}

const MOST = 8;
/** What a mention can be made of, as the server reads it. */
const MENTIONABLE = /^[\p{L}\p{N}._:/-]*[\p{L}\p{N}]$/u;

/** How close it is: its own name or id before what begins so, that before another name of it, that before a part. */
function rank(resource: Schemas['Resource'], query: string): number {
  const own = [resource.name.toLowerCase(), resource.id.toLowerCase()];
  const others = resource.aliases.map((name) => name.toLowerCase());
  const ways: ((names: readonly string[]) => boolean)[] = [
    (names) => names.includes(query), (names) => names.some((name) => name.startsWith(query)), (names) => names.some((name) => name.includes(query)),
  ];
  const order: readonly (readonly [number, readonly string[]])[] = [[0, own], [1, own], [0, others], [1, others], [2, own], [2, others]];
  return order.findIndex(([way, names]) => ways[way]?.(names) === true);
}

/** Resources that fit what was typed, the closest first. A name that several have is written as its id. */
export function mentionChoices(resources: readonly Schemas['Resource'][], query: string): Choice[] {
  const wanted = query.toLowerCase();
  const named = new Map<string, number>();
  for (const resource of resources) named.set(resource.name, (named.get(resource.name) ?? 0) + 1);
  return resources
    .map((resource) => ({ resource, rank: rank(resource, wanted) }))
    .filter((one) => one.rank >= 0)
    .sort((a, b) => a.rank - b.rank || a.resource.id.length - b.resource.id.length || a.resource.id.localeCompare(b.resource.id))
    .slice(0, MOST)
    .map(({ resource }) => ({
      key: resource.id,
      insert: `@${named.get(resource.name) === 1 && MENTIONABLE.test(resource.name) ? resource.name : resource.id}`,
      label: resource.name,
      words: [resource.id, resource.state].filter((part) => part !== undefined && part !== null && part !== '').join(' · '),
    }));
}

export function commandChoices(query: string): Choice[] {
  return COMMANDS.filter((command) => command.name.slice(1).startsWith(query.toLowerCase())).map((command) => ({
    key: command.name, insert: command.name, label: `${command.name} ${command.takes}`.trim(), words: command.words,
  }));
}

export type Said =
  | { type: 'nothing' }
  | { type: 'question'; text: string }
  | { type: 'new' | 'chats' | 'help' }
  | { type: 'resume' | 'model'; name: string }
  | { type: 'wrong'; problem: string };

/** What the text says. A line that begins with `/` is a command, or none: it is never sent as a question. */
export function said(text: string): Said {
  const trimmed = text.trim();
  if (trimmed === '') return { type: 'nothing' };
  if (!trimmed.startsWith('/')) return { type: 'question', text: trimmed };
  const [name = '', ...rest] = trimmed.split(/\s+/);
  const argument = rest.join(' ');
  switch (name) {
    case '/new':
    case '/chats':
    case '/help':
      return { type: name.slice(1) as 'new' | 'chats' | 'help' };
    case '/resume':
    case '/model':
      if (argument === '') return { type: 'wrong', problem: `${name} needs ${name === '/model' ? 'the name of a model' : 'the id of a conversation'}.` };
      return { type: name.slice(1) as 'resume' | 'model', name: argument };
    default:
      return { type: 'wrong', problem: `Unknown command ${name}. /help lists all commands.` };
  }
}

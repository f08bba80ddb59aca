// A view as one line of text, so that a terminal and a browser write and change it alike: words for what it shows, and its
// name behind "=", as in `tag:late unread = Late parcels`. Pure.
import { queueLimits } from '../protocol/codes.ts';
import { priorities, queueModes, queueSorts } from '../protocol/queue-enums.ts';
import type { QueueFilter } from '../sdk/staff-types.ts';

/** A view as it was written. */
export interface WrittenView {
  readonly name: string;
  readonly shared: boolean;
  readonly query: QueueFilter;
}

/** Words that say something by themselves. */
const bareWords: Readonly<Record<string, QueueFilter>> = {
  pending: { status: 'pending' },
  active: { status: 'active' },
  closed: { status: 'closed' },
  mine: { assignedTo: 'me' },
  unassigned: { assignedTo: 'none' },
  unread: { unread: true },
  read: { unread: false },
  untagged: { untagged: true },
  tagged: { untagged: false },
  snoozed: { snoozed: true },
};

/** Words with a value behind a colon: how it becomes part of the question; null: it can't. */
const valueWords: Readonly<Record<string, (value: string) => QueueFilter | null>> = {
  tag: (tag) => ({ tag: [tag] }),
  priority: (value) => {
    const found = value.split(',').map((one) => priorities.find((priority) => priority === one));
    return found.some((one) => one === undefined)
      ? null
      : { priority: found.filter((one) => one !== undefined) };
  },
  waiting: (value) =>
    /^\d{1,6}$/.test(value) && Number(value) <= queueLimits.waitingMinutes
      ? { waitingLonger: Number(value) }
      : null,
  sort: (value) => {
    const sort = queueSorts.find((one) => one === value);
    return sort === undefined ? null : { sort };
  },
  mode: (value) => {
    const mode = queueModes.find((one) => one === value);
    return mode === undefined ? null : { mode };
  },
  snoozed: (value) => (value === 'all' ? { snoozed: 'all' } : value === 'no' ? { snoozed: false } : null),
  assigned: (assignedTo) => ({ assignedTo }),
  application: (applicationId) => ({ applicationId }),
  visitor: (visitorId) => ({ visitorId }),
  channel: (value) => (value === 'chat' || value === 'email' ? { channel: value } : null),
  words: (q) => ({ q }),
};

const sharedWord = 'shared';

/** Words to offer while one is written, the organization's tags behind them. */
export function viewWords(tags: readonly string[]): readonly string[] {
  return [
    ...Object.keys(bareWords).filter((word) => word !== 'read' && word !== 'tagged'),
    ...priorities.toReversed().map((one) => `priority:${one}`),
    'waiting:30',
    'channel:email',
    ...queueSorts.map((one) => `sort:${one}`),
    sharedWord,
    ...tags.map((tag) => `tag:${quoted(tag)}`),
  ];
}

/** The line as far as it is read, and the word that is being written at its end; empty: none, or the name is. */
export function lastViewWord(line: string): { readonly before: string; readonly word: string } {
  if (nameAt(line) >= 0) return { before: line, word: '' };
  const word = /(?:[^\s"]|"[^"]*"?)*$/.exec(line)?.[0] ?? '';
  return { before: line.slice(0, line.length - word.length), word };
}

/** @returns what was written; null: it has no name, or a word that is none */
export function parseView(line: string): WrittenView | null {
  const at = nameAt(line);
  if (at < 0) return null;
  const name = line.slice(at + 1).trim();
  if (name === '' || Array.from(name).length > queueLimits.viewName) return null;
  let query: QueueFilter = {};
  let shared = false;
  for (const [word] of line.slice(0, at).matchAll(/(?:[^\s"]|"[^"]*")+/g)) {
    if (word === sharedWord) {
      shared = true;
      continue;
    }
    const part = partOf(word);
    if (part === null) return null;
    const tag = [...(query.tag ?? []), ...(part.tag ?? [])];
    query = { ...query, ...part, ...(tag.length > 0 && { tag }) };
  }
  return { name, shared, query };
}

/** A view as the line that is read as it. */
export function writeView({ name, shared, query }: WrittenView): string {
  const words = Object.entries(query).flatMap(([field, value]: [string, unknown]): readonly string[] => {
    if (field === 'tag') return [value].flat().map((tag) => `tag:${quoted(String(tag))}`);
    if (field === 'q') return [`words:${quoted(String(value))}`];
    const plain = Object.keys(bareWords).find((word) => {
      const [only] = Object.entries(bareWords[word] ?? {});
      return only?.[0] === field && only[1] === value;
    });
    if (plain !== undefined) return [plain];
    if (field === 'snoozed') return [`snoozed:${value === false ? 'no' : 'all'}`];
    const word = wordOf[field] ?? field;
    return [`${word}:${[value].flat().join(',')}`];
  });
  return [...words, ...(shared ? [sharedWord] : []), '=', name].join(' ');
}

/** Words that are named otherwise than what they ask for. */
const wordOf: Readonly<Record<string, string>> = {
  waitingLonger: 'waiting',
  assignedTo: 'assigned',
  applicationId: 'application',
  visitorId: 'visitor',
};

function partOf(word: string): QueueFilter | null {
  const colon = word.indexOf(':');
  if (colon < 0) return bareWords[word.toLowerCase()] ?? null;
  const value = word.slice(colon + 1).replaceAll('"', '');
  const read = valueWords[word.slice(0, colon).toLowerCase()];
  return value === '' || read === undefined ? null : read(value);
}

/** Where the name begins; -1: nowhere yet. */
function nameAt(line: string): number {
  const before = /^(?:[^"=]|"[^"]*")*/.exec(line)?.[0].length ?? 0;
  return line[before] === '=' ? before : -1;
}

/** A quotation mark can't be told from one that quotes. */
function quoted(value: string): string {
  return /[\s=,"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value;
}

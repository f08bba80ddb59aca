// The filters of the queue as options: `inbox` asks with them, and `views save` keeps them.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { conversationStatuses, priorities, queueSorts } from '../protocol/queue-enums.ts';
import type { Priority } from '../protocol/entities.ts';
import type { QueueSort, ViewQuery } from '../protocol/queue.ts';
import { appendValue } from './command-builder.ts';

export interface FilterOptions {
  readonly status?: (typeof statuses)[number];
  readonly mine?: boolean;
  readonly search?: string;
  readonly tag?: readonly string[];
  readonly untagged?: boolean;
  readonly unread?: boolean;
  readonly snoozed?: boolean;
  readonly priority?: readonly Priority[];
  readonly waiting?: number;
  readonly sort?: QueueSort;
}

const statuses = [...conversationStatuses, 'all'] as const;

/** @param statusAbout what the status is unless it is said */
export function addFilterOptions(command: Command, statusAbout = 'all unless given'): Command {
  return command
    .addOption(new Option('--status <S>', statusAbout).choices(statuses))
    .option('--mine', 'only those that are assigned to you')
    .option('--search <WORDS>', 'only those with these words in messages, subject or visitor')
    .option('--tag <NAME>', 'only those with this tag; with several, those with all', appendValue)
    .option('--untagged', 'only those without a tag')
    .option('--unread', 'only those with a message that you have not read')
    .option('--snoozed', 'only those that are snoozed')
    .addOption(
      new Option('--priority <P>', 'only those of this priority; several may be given').argParser(priority),
    )
    .option('--waiting <MINUTES>', 'only those whose visitor has waited so long', minutes)
    .addOption(new Option('--sort <ORDER>', 'in which order').choices(queueSorts));
}

function priority(value: string, before: readonly Priority[] | undefined): readonly Priority[] {
  const found = priorities.find((one) => one === value);
  if (found === undefined) throw new InvalidArgumentError(`It must be one of: ${priorities.join(', ')}.`);
  return [...(before ?? []), found];
}

function minutes(text: string): number {
  if (!/^[0-9]{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of minutes.');
  return Number(text);
}

/** What the options ask of the queue. */
export function filterOf(options: FilterOptions): ViewQuery {
  const { status, mine, search, tag, untagged, unread, snoozed, priority: urgency, waiting, sort } = options;
  return {
    ...(status !== undefined && status !== 'all' && { status }),
    ...(mine === true && { assignedTo: 'me' }),
    ...(search !== undefined && { q: search }),
    ...(tag !== undefined && { tag: [...tag] }),
    ...(untagged === true && { untagged: true }),
    ...(unread === true && { unread: true }),
    ...(snoozed === true && { snoozed: true }),
    ...(urgency !== undefined && { priority: [...urgency] }),
    ...(waiting !== undefined && { waitingLonger: waiting }),
    ...(sort !== undefined && { sort }),
  };
}

/** The same as a query string: what is a list is said several times. */
export function filterQuery(filter: Readonly<Record<string, unknown>>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter))
    for (const one of [value].flat())
      if (typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean')
        query.append(name, String(one));
  return query;
}

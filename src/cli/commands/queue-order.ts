// deskbell tag, untag, priority, snooze, wake, reopen, unread and bulk: order in the queue, conversation by conversation
// or many at once. Holds no rule.
import { Argument, Option, type Command } from 'commander';
import { bulkActs, priorities } from '../../protocol/queue-enums.ts';
import type { Priority } from '../../protocol/entities.ts';
import type { StaffConversation } from '../../sdk/staff-types.ts';
import { parseDuration } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { findConversationId, shortId } from '../conversation-lookup.ts';
import { CommandError, UsageError } from '../errors.ts';
import { addServerOptions, withRemote, type Remote, type ServerOptions } from '../remote.ts';
import { findMemberId, performAct, postAct } from './conversations.ts';

const idAbout = 'its id, or at least six characters of its beginning or end';

interface SnoozeOptions extends ServerOptions {
  readonly for?: number;
  readonly until?: string;
}

export function addQueueOrderCommands(program: Command, act: WrapHandler): void {
  const add = (name: string, about: string): Command =>
    addServerOptions(program.command(name).description(about).argument('<ID>', idAbout));
  add('tag', 'add tags to a conversation')
    .argument('<TAG...>', 'tags; a new name becomes a tag of the organization')
    .action(
      act<ServerOptions>((context, options, [id = '', ...names]) =>
        performAct(context, options, id, 'tagged', (remote, whole) => eachTag(remote, whole, 'PUT', names)),
      ),
    );
  add('untag', 'take tags off a conversation')
    .argument('<TAG...>', 'tags')
    .action(
      act<ServerOptions>((context, options, [id = '', ...names]) =>
        performAct(context, options, id, `no longer tagged ${names.join(', ')}`, (remote, whole) =>
          eachTag(remote, whole, 'DELETE', names),
        ),
      ),
    );
  add('priority', 'say how urgent a conversation is')
    .addArgument(new Argument('<PRIORITY>', 'how urgent it is').choices(priorities))
    .action(
      act<ServerOptions>((context, options, [id = '', priority = '']) =>
        performAct(context, options, id, `of priority ${priority}`, async ({ call }, whole) =>
          conversationOf(await call('PATCH', `/staff/conversations/${whole}`, { priority })),
        ),
      ),
    );
  addSnoozeOptions(add('snooze', 'leave a conversation out of the queue until a time')).action(
    act<SnoozeOptions>((context, options, [id = '']) => {
      const until = snoozeEnd(options);
      return performAct(context, options, id, `snoozed until ${until}`, (remote, whole) =>
        postAct(remote, whole, 'snooze', { until }),
      );
    }),
  );
  add('wake', 'put a snoozed conversation back into the queue').action(
    act<ServerOptions>((context, options, [id = '']) =>
      performAct(context, options, id, 'in the queue', async ({ call }, whole) =>
        conversationOf(await call('DELETE', `/staff/conversations/${whole}/snooze`)),
      ),
    ),
  );
  add('reopen', 'open a closed conversation again, assigned to you').action(
    act<ServerOptions>((context, options, [id = '']) =>
      performAct(context, options, id, 'open again', (remote, whole) => postAct(remote, whole, 'reopen')),
    ),
  );
  add('unread', "mark a conversation's newest message of the visitor as unread, for you").action(
    act<ServerOptions>((context, options, [id = '']) =>
      performAct(context, options, id, 'unread', (remote, whole) => postAct(remote, whole, 'unread')),
    ),
  );
  addBulkCommand(program, act);
}

type Answer = { readonly conversation: StaffConversation };
const conversationOf = ({ conversation }: Answer): StaffConversation => conversation;

async function eachTag(
  { call }: Remote,
  id: string,
  method: 'PUT' | 'DELETE',
  names: readonly string[],
): Promise<StaffConversation> {
  let last: StaffConversation | undefined;
  for (const name of names)
    last = conversationOf(
      await call<Answer>(method, `/staff/conversations/${id}/tags/${encodeURIComponent(name)}`),
    );
  if (last === undefined) throw new UsageError('Name a tag.');
  return last;
}

function addSnoozeOptions(command: Command): Command {
  return command
    .option('--for <TIME>', 'how long: 30m, 2h, 7d', parseDuration)
    .option('--until <TIME>', 'until when, as 2026-12-24T09:00 in the time of this machine');
}

/** @throws UsageError unless one of the two options is a time */
function snoozeEnd(options: SnoozeOptions): string {
  const { for: seconds, until } = options;
  if ((seconds === undefined) === (until === undefined))
    throw new UsageError('Say how long, as --for 2h, or until when, as --until 2026-12-24T09:00.');
  const time = until === undefined ? Date.now() + (seconds ?? 0) * 1_000 : Date.parse(until);
  if (!Number.isFinite(time))
    throw new UsageError(`${JSON.stringify(until)} is no time. Write for example 2026-12-24T09:00.`);
  return new Date(time).toISOString();
}

interface BulkOptions extends SnoozeOptions {
  readonly tag?: string;
  readonly priority?: Priority;
  readonly member?: string;
}

/** What an act needs to be told beside the conversations, and how it is typed. */
const bulkNeeds: Readonly<Partial<Record<string, readonly ['tag' | 'priority' | 'member', string]>>> = {
  transfer: ['member', '--member MEMBER'],
  tag: ['tag', '--tag NAME'],
  untag: ['tag', '--tag NAME'],
  priority: ['priority', '--priority P'],
};

interface BulkResult {
  readonly id: string;
  readonly ok: boolean;
  readonly message?: string;
}

function addBulkCommand(program: Command, act: WrapHandler): void {
  addSnoozeOptions(
    addServerOptions(
      program
        .command('bulk')
        .description('do the same to up to 100 conversations')
        .addArgument(new Argument('<ACT>', 'what to do').choices(bulkActs))
        .argument('<ID...>', 'their ids, or at least six characters of their beginnings or ends')
        .option('--tag <NAME>', 'the tag, for tag and untag')
        .addOption(new Option('--priority <P>', 'the priority, for priority').choices(priorities))
        .option('--member <MEMBER>', 'who gets them, for transfer'),
    ),
  ).action(act<BulkOptions>(bulk));
}

async function bulk(
  context: Context,
  options: BulkOptions,
  [name = '', ...typed]: readonly string[],
): Promise<void> {
  const { tag, priority, member } = options;
  const [needed, typedAs] = bulkNeeds[name] ?? [];
  if (needed !== undefined && options[needed] === undefined)
    throw new UsageError(`${name} needs ${typedAs}.`);
  const until = name === 'snooze' ? snoozeEnd(options) : undefined;
  const results = await withRemote(context, options, async (remote) => {
    const ids: string[] = [];
    for (const one of typed) ids.push(await findConversationId(context, remote, one));
    return (
      await remote.call<{ results: readonly BulkResult[] }>('POST', '/staff/conversations/bulk', {
        ids: [...new Set(ids)],
        act: name,
        ...(tag !== undefined && { tag }),
        ...(priority !== undefined && { priority }),
        ...(until !== undefined && { until }),
        ...(member !== undefined && { memberId: await findMemberId(remote, member) }),
      })
    ).results;
  });
  const { print } = context;
  const refused = results.filter(({ ok }) => !ok);
  if (print.json) print.document({ results });
  else {
    print.table(
      ['ID', 'RESULT'],
      results.map(({ id, ok, message = '' }) => [
        print.interactive ? shortId(id) : id,
        ok ? 'done' : message,
      ]),
      '',
    );
  }
  if (refused.length > 0 && !print.json)
    throw new CommandError(refusedSentence(refused.length, results.length));
}

function refusedSentence(refused: number, all: number): string {
  const done = all - refused;
  const others = done === 0 ? '' : done === 1 ? ', the other one is done' : ', the others are done';
  return `${refused} of ${all} ${refused === 1 ? 'was' : 'were'} refused${others}.`;
}

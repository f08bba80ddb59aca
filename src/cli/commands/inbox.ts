// deskbell inbox and show: the queue and one conversation, for people without a terminal
// of their own and for scripts. Reads only.
import { InvalidArgumentError, type Command } from 'commander';
import { sizeLimits } from '../../protocol/codes.ts';
import type { Message } from '../../protocol/entities.ts';
import type { StaffConversation, StaffConversationListItem } from '../../sdk/staff-types.ts';
import type { WrapHandler, Context } from '../context.ts';
import { findConversationId, getConversation, explainRefusal, shortId } from '../conversation-lookup.ts';
import { formatBytes } from '../../text/text.ts';
import type { StyledText, Style } from '../print.ts';
import type { ViewQuery } from '../../protocol/queue.ts';
import { addFilterOptions, filterOf, filterQuery, type FilterOptions } from '../queue-filters.ts';
import { findView } from './tags.ts';
import { addServerOptions, withRemote, type Remote, type ServerOptions } from '../remote.ts';

interface InboxOptions extends ServerOptions, FilterOptions {
  readonly view?: string;
  readonly limit: number;
  readonly test?: boolean;
}

export function addInboxCommands(program: Command, act: WrapHandler): void {
  addFilterOptions(
    addServerOptions(
      program
        .command('inbox')
        .description('list conversations: the pending ones, or others')
        .option('--view <NAME>', 'those of a saved view; other filters are left out')
        .option('--limit <N>', 'how many at most', count(sizeLimits.pageMax), 20)
        .option('--test', 'conversations of test keys instead of live ones'),
    ),
    'pending, unless --mine (active), --search or another filter (all) is given',
  ).action(act<InboxOptions>(inbox));
  addServerOptions(
    program
      .command('show')
      .description('show a conversation with its newest messages')
      .argument('<ID>', 'its id, or at least six characters of its beginning or end')
      .option('--limit <N>', 'how many messages at most', count(1_000), 20),
  ).action(act<ServerOptions & { readonly limit: number }>(show));
}

function count(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^[1-9][0-9]*$/.test(text) || value > most)
      throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
    return value;
  };
}

async function inbox(context: Context, options: InboxOptions): Promise<void> {
  const { limit, test = false } = options;
  const asked = filterOf(options);
  const status = options.status ?? defaultStatus(asked);
  const { conversations, total } = await withRemote(context, options, async (remote) => {
    const filter =
      options.view === undefined
        ? { ...asked, ...(status !== 'all' && { status }), mode: test ? 'test' : 'live' }
        : { mode: 'live', ...(await findView(context, remote, options.view)).query };
    const query = filterQuery(filter);
    query.set('limit', String(limit));
    return remote.call<{ conversations: readonly StaffConversationListItem[]; total: number }>(
      'GET',
      `/staff/conversations?${query.toString()}`,
    );
  });
  const { print } = context;
  if (print.json) return print.document({ items: conversations, total });
  const now = Date.now();
  print.table(
    ['ID', 'STATUS', 'SINCE', 'UNREAD', 'WHOSE', 'VISITOR', 'ORDER', 'LAST'],
    conversations.map((one) => [
      print.interactive ? shortId(one.id) : one.id,
      one.status,
      age(now - Date.parse(one.waitingSince ?? one.updatedAt)),
      one.unreadCount === 0 ? '' : String(one.unreadCount),
      one.assignedToName ?? '',
      visitorName(one),
      orderWords(one),
      lastWords(one),
    ]),
    status === 'pending' && options.view === undefined && !isNarrowed(asked)
      ? 'No visitor is waiting.'
      : 'No such conversations.',
  );
  if (total > conversations.length)
    print.line(['dim', `${conversations.length} of ${total}; ${howToSeeMore(options)}.`]);
  return undefined;
}

/** A list has at most a page; what is behind it shows only in a narrower one. */
function howToSeeMore({ limit, view }: InboxOptions): string {
  if (limit < sizeLimits.pageMax) return 'more with --limit';
  return view === undefined
    ? 'narrow it with --search or another filter'
    : 'a view with more filters shows others';
}

/** Whether anything in particular is asked for. */
function isNarrowed({ status: _status, sort: _sort, ...others }: ViewQuery): boolean {
  return Object.keys(others).length > 0;
}

/** Who asks for something in particular wants it in every status. */
function defaultStatus(asked: ViewQuery): 'pending' | 'active' | 'all' {
  const { assignedTo, ...others } = asked;
  if (isNarrowed(others)) return 'all';
  return assignedTo === undefined ? 'pending' : 'active';
}

/** Priority, tags and snooze, where there is something to say. */
function orderWords({ priority, tags, snoozedUntil }: StaffConversationListItem): string {
  return [
    ...(priority === 'normal' ? [] : [priority]),
    ...tags.map((name) => `#${name}`),
    ...(snoozedUntil === null ? [] : [`snoozed until ${localTime(snoozedUntil)}`]),
  ].join(' ');
}

function visitorName({ visitor }: StaffConversationListItem): string {
  return visitor.name ?? visitor.email ?? `visitor ${shortId(visitor.id)}`;
}

/** As much as tells what it is about. */
function lastWords({ subject, lastMessage }: StaffConversationListItem): string {
  const words =
    lastMessage === null ? '' : `${lastMessage.internal === true ? '(note) ' : ''}${lastMessage.preview}`;
  return [...(subject === undefined ? [] : [`[${subject}]`]), words].join(' ').trim();
}

/** @param ms how long ago; below zero where two clocks differ */
function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} d`;
}

async function show(
  context: Context,
  options: ServerOptions & { readonly limit: number },
  [typed = '']: readonly string[],
): Promise<void> {
  const { conversation, messages } = await withRemote(context, options, async (remote) => {
    const id = await findConversationId(context, remote, typed);
    try {
      return {
        conversation: await getConversation(remote, id),
        messages: await newest(remote, id, options.limit),
      };
    } catch (error) {
      throw await explainRefusal(context, remote, id, error);
    }
  });
  const { print } = context;
  if (print.json) return print.document({ conversation, messages });
  sayConversation(context, conversation);
  for (const message of messages) await sayMessage(context, message);
  return undefined;
}

const pageSize = 100;

/** The newest messages, oldest first. */
async function newest({ call }: Remote, id: string, limit: number): Promise<Message[]> {
  const found: Message[] = [];
  while (found.length < limit) {
    const size = Math.min(pageSize, limit - found.length);
    const before = found.at(-1)?.id;
    const query = new URLSearchParams({
      order: 'desc',
      limit: String(size),
      ...(before !== undefined && { before }),
    });
    const { messages } = await call<{ messages: readonly Message[] }>(
      'GET',
      `/staff/conversations/${id}/messages?${query.toString()}`,
    );
    found.push(...messages);
    if (messages.length < size) break;
  }
  return found.toReversed();
}

function sayConversation({ print }: Context, one: StaffConversation): void {
  const { visitor } = one;
  print.fields([
    ...(one.subject === undefined ? [] : [['subject', one.subject] as const]),
    ['visitor', visitorName(one)],
    ...(visitor.email === null ? [] : [['e-mail', visitor.email] as const]),
    ['verified', visitor.verifiedFields.join(', ') || 'nothing'],
    ...(one.channel === 'email' ? [['channel', 'e-mail'] as const] : []),
    ...(one.continues === undefined ? [] : [['continues', one.continues] as const]),
    ['status', one.assignedToName === null ? one.status : `${one.status}, ${one.assignedToName}'s`],
    ...(orderWords(one) === '' ? [] : [['order', orderWords(one)] as const]),
    ['application', one.application.name],
    ['begun', localTime(one.createdAt)],
    ['id', one.id],
  ]);
  const attributes = Object.entries(visitor.attributes);
  if (attributes.length === 0) return;
  print.line();
  print.line(['bold', 'ATTRIBUTES']);
  // Behind their heading and indented: their names are the visitor's, and must not pass for ours.
  print.fields(attributes.map(([name, value]) => [`  ${name}`, String(value)]));
}

/** Two columns in front of every line of a message's text. */
const indent = '  ';

async function sayMessage({ print }: Context, message: Message): Promise<void> {
  const { contentLines } = await import('../console/text/rich-lines.ts');
  const marks = [
    ...(message.internal === true ? ['note'] : []),
    ...(message.editedAt === null ? [] : ['edited']),
    ...(message.via === undefined ? [] : ['by e-mail']),
    ...(message.emailed === undefined ? [] : [`mail ${message.emailed.state}`]),
  ];
  const style: Style =
    message.internal === true ? 'yellow' : message.senderRole === 'visitor' ? 'green' : 'cyan';
  print.line();
  print.line(
    [style, message.senderName],
    ['dim', ` ${localTime(message.createdAt)}${marks.length === 0 ? '' : ` (${marks.join(', ')})`}`],
  );
  const columns = Number.isFinite(print.columns) ? Math.max(10, print.columns - indent.length) : 1_000_000;
  for (const line of contentLines(message, columns)) print.line(indent, ...line.map(piece));
  for (const { name, size, url } of message.attachments ?? [])
    print.line(indent, ['bold', name], ['dim', ` ${formatBytes(size)}  ${url}`]);
}

/** A span of the console's in the few styles that commands have. */
function piece({
  text,
  bold = false,
  dim = false,
  color,
}: {
  text: string;
  bold?: boolean;
  dim?: boolean;
  color?: string;
}): StyledText {
  if (bold) return ['bold', text];
  if (dim) return ['dim', text];
  return color === 'cyan' || color === 'green' || color === 'yellow' || color === 'red'
    ? [color, text]
    : text;
}

function localTime(iso: string): string {
  const at = new Date(iso);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

// tail --follow: what a server tells a member over the live connection, a line each.
// Comes back by itself when the connection is lost. Reads only, and joins no room.
import {
  createStaffClient,
  type StaffClient,
  type StaffConversationListItem,
  type StaffEvents,
} from '../sdk/staff.ts';
import type { Context } from './context.ts';
import type { SignIn } from './credentials.ts';
import { shortId } from './conversation-lookup.ts';
import type { Printer, Style } from './print.ts';
import { isSdkError, toCommandError } from './remote.ts';
import { serverEnvironment } from './server-environment.ts';
import { onStopSignal } from './signals.ts';

const styles = {
  'conversation:activity': 'green',
  'conversation:new': 'yellow',
  'conversation:accepted': 'cyan',
  'conversation:released': 'yellow',
  'conversation:resolved': 'cyan',
  'conversation:reopened': 'yellow',
  'conversation:changed': 'cyan',
} as const satisfies Partial<Record<keyof StaffEvents, Style>>;

type PrintedEvent = keyof typeof styles;

const typeWidth = 'conversation:accepted'.length;

/**
 * Prints until it is asked to end.
 * @throws CommandError when the sign-in is over or the server can't be reached at first
 */
export async function followServer(context: Context, signIn: SignIn): Promise<void> {
  const { print } = context;
  using stop = onStopSignal(context.io.outputClosed);
  const client = createStaffClient({ baseUrl: signIn.url, mode: 'all', environment: serverEnvironment() });
  const stopTelling = printConnectionChanges(client, print, signIn);
  try {
    const over = Promise.withResolvers<Error>();
    client.on('signed-out', () => over.resolve(new Error('signed out')));
    printEvents(client, print);
    await client.resume(signIn.token);
    const ended = await Promise.race([stop.requested, over.promise]);
    if (ended instanceof Error)
      throw Object.assign(ended, { name: 'SdkError', code: 'unauthorized', status: 401 });
  } catch (error) {
    throw isSdkError(error) ? toCommandError(context, error, signIn) : error;
  } finally {
    // The end that was asked for is no lost connection.
    stopTelling();
    client.stop();
  }
}

/** @returns ends it */
function printConnectionChanges(
  client: StaffClient,
  print: Printer,
  { organizationName, url }: SignIn,
): () => void {
  let before: 'none' | 'online' | 'lost' = 'none';
  /** The last message of each conversation that was told of, or was there before. */
  const told = new Map<string, string>();
  client.on('conversation:activity', ({ conversationId, lastMessageId }) =>
    told.set(conversationId, lastMessageId),
  );
  return client.on('connection', ({ status }) => {
    if (status === 'online' && before === 'none') {
      print.note(`Listening to ${organizationName} at ${url}; Ctrl-C ends.`);
      void newest(client).then((items) => remember(items, told));
    }
    if (status === 'online' && before === 'lost') {
      print.note('The connection is back.');
      void newest(client).then((items) => catchUp(client, print, remember(items, told)));
    }
    if (status === 'offline' && before === 'online')
      print.note('The connection is lost; it is tried again by itself.');
    if (status === 'online') before = 'online';
    else if (status === 'offline' && before === 'online') before = 'lost';
  });
}

/** The newest live and test conversations, or as many as the server gives. */
async function newest(client: StaffClient): Promise<readonly StaffConversationListItem[]> {
  const pages = await Promise.all(
    ['live', 'test'].map((mode) =>
      client
        .call<{ conversations: readonly StaffConversationListItem[] }>(
          'GET',
          `/conversations?mode=${mode}&limit=100`,
        )
        .catch(() => ({ conversations: [] })),
    ),
  );
  return pages.flatMap(({ conversations }) => conversations);
}

/** @returns those with a message that was not told of */
function remember(
  items: readonly StaffConversationListItem[],
  told: Map<string, string>,
): readonly StaffConversationListItem[] {
  return items.filter(({ id, lastMessage }) => {
    if (lastMessage === null || told.get(id) === lastMessage.id) return false;
    told.set(id, lastMessage.id);
    return true;
  });
}

/** Of what was written before the connection was open only the last message is shown: the live connection does not repeat it. */
function catchUp(client: StaffClient, print: Printer, changed: readonly StaffConversationListItem[]): void {
  for (const { id, updatedAt, lastMessage, waitingSince } of changed) {
    if (lastMessage === null) continue;
    const { id: lastMessageId, ...message } = lastMessage;
    printEvent(client, print, 'conversation:activity', id, {
      conversationId: id,
      lastMessageId,
      updatedAt,
      waiting: waitingSince !== null,
      ...message,
    });
  }
}

function printEvents(client: StaffClient, print: Printer): void {
  client.on('conversation:new', (event) => printEvent(client, print, 'conversation:new', event.id, event));
  client.on('conversation:activity', (event) =>
    printEvent(client, print, 'conversation:activity', event.conversationId, event),
  );
  client.on('conversation:accepted', (event) =>
    printEvent(client, print, 'conversation:accepted', event.conversationId, event),
  );
  client.on('conversation:released', (event) =>
    printEvent(client, print, 'conversation:released', event.conversationId, event),
  );
  client.on('conversation:resolved', (event) =>
    printEvent(client, print, 'conversation:resolved', event.conversationId, event),
  );
  client.on('conversation:reopened', (event) =>
    printEvent(client, print, 'conversation:reopened', event.conversationId, event),
  );
  client.on('conversation:changed', (event) =>
    printEvent(client, print, 'conversation:changed', event.conversationId, event),
  );
}

function printEvent(
  client: StaffClient,
  print: Printer,
  type: PrintedEvent,
  id: string,
  payload: object,
): void {
  const createdAt = new Date().toISOString();
  if (print.json) return print.jsonLine({ type, conversationId: id, createdAt, payload });
  const known = client.getState().conversations.find((one) => one.id === id);
  return print.line(
    ['dim', `${new Date(createdAt).toTimeString().slice(0, 8)} `],
    ['dim', `${print.columns < 120 ? shortId(id) : id} `],
    [styles[type], type.padEnd(typeWidth)],
    `  ${known?.mode === 'test' ? '[test] ' : ''}${describe(payload)}`,
  );
}

function describe(payload: object): string {
  const facts: Readonly<Record<string, unknown>> = { ...payload };
  const fact = (name: string): string => (typeof facts[name] === 'string' ? facts[name] : '');
  if (facts['preview'] !== undefined)
    return `${fact('senderName')}${facts['internal'] === true ? ' (note)' : ''}: ${fact('preview')}`;
  if (facts['assignedToName'] !== undefined) return `by ${fact('assignedToName')}`;
  if (facts['resolvedBy'] !== undefined) return `by ${fact('resolvedBy')}`;
  return fact('subject');
}

// What the commands on one conversation share: finding it by a part of its id, the text
// to send, and what a refused act means. Prints nothing.
import { sizeLimits, staffTokenPrefix } from '../protocol/codes.ts';
import type { StaffConversation, StaffConversationListItem } from '../sdk/staff-types.ts';
import type { Context } from './context.ts';
import { CommandError, UsageError } from './errors.ts';
import { isSdkError, type Remote } from './remote.ts';
import { readStandardInput } from './standard-input.ts';

const whole = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const part = /^[0-9a-f-]{6,36}$/i;

/** Whether a person typed a whole id. */
export function isWholeId(typed: string): boolean {
  return whole.test(typed);
}

/** How many conversations are looked at for a part of an id: those that wait, then the newest. */
const lookedAt = 500;

/**
 * The whole id of a conversation.
 * @param typed an id, or six or more characters of its beginning or its end
 * @throws UsageError for what can't be an id; CommandError when nothing fits, or several do
 */
export async function findConversationId(context: Context, { call }: Remote, typed: string): Promise<string> {
  if (isWholeId(typed)) return typed.toLowerCase();
  if (!part.test(typed))
    throw new UsageError(
      `${JSON.stringify(typed)} is not the id of a conversation. See: ${context.remoteCommand('inbox')}`,
    );
  const text = typed.toLowerCase();
  const found = new Set<string>();
  for (const mode of ['live', 'test']) {
    for (let offset = 0; offset < lookedAt; offset += sizeLimits.pageMax) {
      const page = await call<{ conversations: readonly StaffConversationListItem[]; total: number }>(
        'GET',
        `/staff/conversations?mode=${mode}&snoozed=all&limit=${sizeLimits.pageMax}&offset=${offset}`,
      );
      for (const { id } of page.conversations) if (id.startsWith(text) || id.endsWith(text)) found.add(id);
      if (offset + sizeLimits.pageMax >= page.total) break;
    }
  }
  const [only, ...others] = found;
  if (only === undefined)
    throw new CommandError(
      `No recent conversation has the id ${typed}. Give the whole id. See: ${context.remoteCommand('inbox --status all')}`,
    );
  if (others.length > 0)
    throw new CommandError(
      `${typed} fits ${found.size} conversations: ${[...found].slice(0, 5).join(', ')}. Give more of the id.`,
    );
  return only;
}

/** An id as lists show it to people: the end, where ids of the same minute differ. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** A conversation as it now stands. @throws SdkError */
export async function getConversation({ call }: Remote, id: string): Promise<StaffConversation> {
  return (await call<{ conversation: StaffConversation }>('GET', `/staff/conversations/${id}`)).conversation;
}

/**
 * Turns a refusal into what the person should do, with the conversation as it now stands.
 * @returns the error to throw in place of the given one
 */
export async function explainRefusal(
  context: Context,
  remote: Remote,
  id: string,
  error: unknown,
): Promise<unknown> {
  if (isSdkError(error, 'not_found') && /conversation/i.test(error.message))
    return new CommandError(
      `There is no conversation ${id}. See: ${context.remoteCommand('inbox --status all')}`,
      { cause: error },
    );
  if (!isAboutOwner(error, remote)) return error;
  const { status, assignedTo, assignedToName } = await getConversation(remote, id);
  if (status === 'closed')
    return new CommandError(
      `The conversation is closed. Open it again: ${context.remoteCommand(`reopen ${id}`)}`,
      { cause: error },
    );
  if (status === 'pending')
    return new CommandError(
      `The conversation is pending. Accept it first: ${context.remoteCommand(`accept ${id}`)}`,
      { cause: error },
    );
  if (assignedTo === remote.signIn.member.id) return error;
  return new CommandError(
    `${assignedToName ?? 'A colleague'} has the conversation. Have it transferred to you, or write a note: ${context.remoteCommand(`note ${id} TEXT`)}`,
    { cause: error },
  );
}

/**
 * Whether the reason is who has the conversation, or that it is closed. What a token lacks has the same code, so its
 * refusals are told in the server's words.
 */
function isAboutOwner(error: unknown, { signIn }: Remote): boolean {
  if (isSdkError(error, 'conversation_not_active')) return true;
  return isSdkError(error, 'forbidden') && !signIn.token.startsWith(staffTokenPrefix);
}

/**
 * The text of a message or a canned reply: the argument, or all of standard input for `-` and when something is piped in.
 * @param usage the command with the text as an argument
 * @param done what was not done where there is none
 * @throws UsageError when there is none, it is too long or no UTF-8
 */
export async function readText(
  context: Context,
  typed: string | undefined,
  usage: string,
  done: 'sent' | 'saved',
): Promise<string> {
  const { input } = context.io;
  if (typed !== undefined && typed !== '-') return typed;
  if (typed === undefined && input.isTTY === true)
    throw new UsageError(
      `Give the text: ${context.remoteCommand(usage)}, or - to type it and end with Ctrl-D.`,
    );
  const text = await readStandardInput(input, maxTextBytes, {
    tooLong: `What came on standard input is too long for a message; nothing was ${done}.`,
    notText: `What came on standard input is not UTF-8 text; nothing was ${done}.`,
  });
  if (text.trim() === '') throw new UsageError(`Nothing came on standard input; nothing was ${done}.`);
  return text.replace(/\r?\n$/, '');
}

/** Text of this many bytes can't be within the limit of characters any more. */
const maxTextBytes = sizeLimits.contentRest * 4;

/** A typed text as the content of a message: Lexical for Markdown, else plain. */
export async function toContent(
  text: string,
  markdown = false,
): Promise<{ content: string; contentFormat: 'plain' | 'lexical' }> {
  if (!markdown) return { content: text, contentFormat: 'plain' };
  // Loaded here: most commands need no Markdown.
  const { markdownToLexical } = await import('../text/markdown.ts');
  return { content: await markdownToLexical(text), contentFormat: 'lexical' };
}

// deskbell reply and note: one message into a conversation, sent once however often it
// has to be tried.
import { InvalidArgumentError, type Command } from 'commander';
import { fileLimits, sizeLimits } from '../../protocol/codes.ts';
import type { SentMessage } from '../../protocol/entities.ts';
import { browserEnvironment } from '../../sdk/browser-environment.ts';
import { isRetryable } from '../../sdk/error.ts';
import { newMessageKey } from '../../sdk/outbox-entries.ts';
import type { WrapHandler, Context } from '../context.ts';
import { openAttachments, uploadAttachments } from '../attachments.ts';
import { findConversationId, explainRefusal, shortId, readText, toContent } from '../conversation-lookup.ts';
import { addServerOptions, isSdkError, withRemote, type Remote, type ServerOptions } from '../remote.ts';

interface SendOptions extends ServerOptions {
  readonly markdown?: boolean;
  readonly once?: string;
  readonly attach?: readonly string[];
}

export function addReplyCommands(program: Command, act: WrapHandler): void {
  const add = (name: 'reply' | 'note', about: string): void => {
    addServerOptions(
      program
        .command(name)
        .description(about)
        .argument('<ID>', "the conversation's id, or at least six characters of its beginning or end")
        .argument('[TEXT]', 'what to say; - or nothing: standard input')
        .option('--markdown', 'the text is Markdown: bold, italic, code, lists, links')
        .option(
          '--once <KEY>',
          'an idempotency key: with the same key the message is stored once, however often this runs',
          key,
        )
        .option('--attach <FILE>', 'a file to send with it; may be given several times', collect),
    ).action(act<SendOptions>((context, options, [id = '', text]) => send(context, options, name, id, text)));
  };
  add('reply', 'answer the visitor, in a conversation that is yours');
  add('note', 'write a note that only members see');
}

function collect(file: string, before: readonly string[] = []): readonly string[] {
  if (before.length >= fileLimits.perMessage)
    throw new InvalidArgumentError(`A message has at most ${fileLimits.perMessage} files.`);
  return [...before, file];
}

function key(text: string): string {
  if (text === '' || text.length > sizeLimits.clientMessageId)
    throw new InvalidArgumentError(`It must have 1 to ${sizeLimits.clientMessageId} characters.`);
  return text;
}

async function send(
  context: Context,
  options: SendOptions,
  kind: 'reply' | 'note',
  typed: string,
  given: string | undefined,
): Promise<void> {
  const { attach = [] } = options;
  const files = await openAttachments(attach);
  // With a file, nothing need be said.
  const text =
    given === undefined && files.length > 0
      ? files.map(({ name }) => name).join(', ')
      : await readText(context, given, `${kind} ${typed} TEXT`, 'sent');
  const content = await toContent(text, options.markdown);
  const clientMessageId = options.once ?? newMessageKey(browserEnvironment());
  const body = {
    ...content,
    clientMessageId,
    ...(kind === 'note' && { internal: true }),
  };
  const message = await withRemote(context, options, async (remote) => {
    const id = await findConversationId(context, remote, typed);
    try {
      const attachments = await uploadAttachments(remote, files, clientMessageId);
      return await sendOnce(remote, id, { ...body, ...(attachments.length > 0 && { attachments }) });
    } catch (error) {
      throw await explainRefusal(context, remote, id, error);
    }
  });
  const { print } = context;
  if (print.json) print.document(message);
  else print.line(kind === 'note' ? 'Noted in ' : 'Sent to ', shortId(message.conversationId), '.');
}

/** Pauses before another attempt, ms. */
const pauses = [300, 1_500];

/** Tries again when no answer came: the key makes sure that the message is stored once. */
async function sendOnce({ call }: Remote, id: string, body: object): Promise<SentMessage> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return (await call<{ message: SentMessage }>('POST', `/staff/conversations/${id}/messages`, body))
        .message;
    } catch (error) {
      const pause = pauses[attempt];
      if (!isSdkError(error) || !isRetryable(error) || pause === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

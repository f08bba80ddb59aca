// deskbell transcript: a conversation as a text without notes, or by mail to its visitor.
import type { Command } from 'commander';
import type { Context, WrapHandler } from '../context.ts';
import { findConversationId, getConversation, shortId } from '../conversation-lookup.ts';
import { addServerOptions, withRemote, type ServerOptions } from '../remote.ts';

interface TranscriptOptions extends ServerOptions {
  readonly mail?: boolean;
}

/** Adds the command. */
export function addTranscriptCommand(program: Command, act: WrapHandler): void {
  addServerOptions(
    program
      .command('transcript')
      .description('print a conversation without its notes, or mail it to its visitor')
      .argument('<ID>', 'its id, or at least six characters of its beginning or end')
      .option('--mail', "mail it to the visitor's address"),
  ).action(act<TranscriptOptions>((context, options, [id = '']) => transcribe(context, options, id)));
}

async function transcribe(context: Context, options: TranscriptOptions, typed: string): Promise<void> {
  const { print } = context;
  await withRemote(context, options, async (remote) => {
    const id = await findConversationId(context, remote, typed);
    if (options.mail === true) {
      await remote.call('POST', `/staff/conversations/${id}/transcript`);
      const { visitor } = await getConversation(remote, id);
      if (print.json) return print.document({ id, mailedTo: visitor.email });
      return print.line(`The conversation ${shortId(id)} is on its way to ${visitor.email ?? ''}.`);
    }
    const { transcript } = await remote.call<{
      transcript: { readonly subject: string; readonly text: string; readonly html: string };
    }>('GET', `/staff/conversations/${id}/transcript`);
    if (print.json) return print.document({ id, ...transcript });
    print.line(['bold', transcript.subject]);
    print.line();
    for (const line of transcript.text.split('\n')) print.line(line);
    return undefined;
  });
}

// deskbell canned: the texts that operators keep under a shortcut and call up with "/" in the console. Through the
// server, like every command of operators; holds no rule.
import type { Command } from 'commander';
import { sizeLimits } from '../../protocol/codes.ts';
import type { CannedReply } from '../../protocol/entities.ts';
import type { WrapHandler, Context } from '../context.ts';
import { readText, toContent } from '../conversation-lookup.ts';
import { CommandError } from '../errors.ts';
import { addCommandGroup } from '../command-builder.ts';
import { addServerOptions, withRemote, type Remote, type ServerOptions } from '../remote.ts';

export function addCannedCommands(program: Command, act: WrapHandler): void {
  const group = addCommandGroup(
    program,
    'canned',
    'canned replies: texts under a shortcut, for every operator of the organization',
  );
  const aboutShortcut = 'letters, digits, hyphens, underscores';
  addServerOptions(group.command('list').description('list the canned replies')).action(
    act<ServerOptions>(list),
  );
  addServerOptions(
    group
      .command('set')
      .description('create or replace a canned reply')
      .argument('<SHORTCUT>', aboutShortcut)
      .argument('[TEXT]', 'what it says; - or nothing: standard input')
      .option('--markdown', 'the text is Markdown: bold, italic, code, lists, links'),
  ).action(act<ServerOptions & { readonly markdown?: boolean }>(set));
  addServerOptions(
    group.command('remove').description('remove a canned reply').argument('<SHORTCUT>', aboutShortcut),
  ).action(act<ServerOptions>(remove));
}

async function list(context: Context, options: ServerOptions): Promise<void> {
  const replies = await withRemote(context, options, allReplies);
  const { print } = context;
  if (print.json) return print.document({ items: replies });
  const { contentLines } = await import('../console/text/rich-lines.ts');
  const words = (reply: CannedReply): string =>
    contentLines(reply, sizeLimits.contentSocket)
      .map((line) => line.map(({ text }) => text).join(''))
      .join(' ');
  const empty = `There are no canned replies yet. Create one: ${context.remoteCommand('canned set hello TEXT')}`;
  return print.table(
    ['SHORTCUT', 'TEXT'],
    replies.map((reply) => [`/${reply.shortcut}`, words(reply)]),
    empty,
  );
}

async function set(
  context: Context,
  options: ServerOptions & { readonly markdown?: boolean },
  [typed = '', given]: readonly (string | undefined)[],
): Promise<void> {
  const text = await readText(context, given, `canned set ${typed} TEXT`, 'saved');
  const content = await toContent(text, options.markdown);
  const shortcut = bare(typed);
  const reply = await withRemote(context, options, async (remote) => {
    const old = (await allReplies(remote)).find((one) => one.shortcut === shortcut);
    const [method, path] = old === undefined ? (['POST', ''] as const) : (['PATCH', `/${old.id}`] as const);
    return (
      await remote.call<{ cannedReply: CannedReply }>(method, `/staff/canned-replies${path}`, {
        shortcut,
        ...content,
      })
    ).cannedReply;
  });
  const { print } = context;
  if (print.json) print.document(reply);
  else print.line('Saved. In the console, begin a message with ', ['cyan', `/${reply.shortcut}`], '.');
}

async function remove(
  context: Context,
  options: ServerOptions,
  [typed = '']: readonly string[],
): Promise<void> {
  const shortcut = bare(typed);
  await withRemote(context, options, async (remote) => {
    const known = (await allReplies(remote)).find((one) => one.shortcut === shortcut);
    if (known === undefined)
      throw new CommandError(
        `There is no canned reply /${shortcut}. See: ${context.remoteCommand('canned list')}`,
      );
    await remote.call('DELETE', `/staff/canned-replies/${known.id}`);
  });
  const { print } = context;
  if (print.json) print.document({ success: true });
  else print.line(`Removed the canned reply /${shortcut}.`);
}

/** As it is stored: people type it as they use it, with the slash. */
function bare(typed: string): string {
  return typed.trim().replace(/^\//, '').toLowerCase();
}

async function allReplies({ call }: Remote): Promise<CannedReply[]> {
  const found: CannedReply[] = [];
  for (;;) {
    const { cannedReplies, total } = await call<{ cannedReplies: readonly CannedReply[]; total: number }>(
      'GET',
      `/staff/canned-replies?limit=${sizeLimits.pageMax}&offset=${found.length}`,
    );
    found.push(...cannedReplies);
    if (cannedReplies.length === 0 || found.length >= total) return found;
  }
}

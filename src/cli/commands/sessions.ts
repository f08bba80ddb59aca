// deskbell session …: where a member is signed in. Through the server; holds no rule.
import type { Command } from 'commander';
import type { StaffSession } from '../../protocol/sign-in.ts';
import { addCommandGroup } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { UsageError } from '../errors.ts';
import { addServerOptions, withRemote, type Remote, type ServerOptions } from '../remote.ts';
import { counted } from '../../text/text.ts';

interface EndOptions extends ServerOptions {
  readonly others?: boolean;
}

export function addSessionCommands(program: Command, act: WrapHandler): void {
  const group = addCommandGroup(program, 'session', 'where you are signed in');
  addServerOptions(group.command('list').description('your sessions')).action(act<ServerOptions>(list));
  addServerOptions(
    group.command('end').description('end one of your sessions').argument('[ID]', "the session's id"),
  )
    .option('--others', 'all but the one in use')
    .action(act<EndOptions>(end));
}

async function list(context: Context, options: ServerOptions): Promise<void> {
  const sessions = await withRemote(context, options, allSessions);
  const { print } = context;
  if (print.json) return print.document({ items: sessions });
  return print.table(
    ['', 'ID', 'SINCE', 'LAST SEEN', 'FROM', 'SECOND FACTOR'],
    sessions.map((one) => [
      one.current ? '*' : '',
      one.id,
      one.createdAt,
      one.lastSeenAt,
      one.address ?? 'command line',
      one.secondFactor ? 'yes' : 'no',
    ]),
    'There are no sessions.',
  );
}

async function allSessions({ call }: Remote): Promise<readonly StaffSession[]> {
  return (await call<{ sessions: readonly StaffSession[] }>('GET', '/staff/sessions')).sessions;
}

async function end(
  context: Context,
  { others = false, ...options }: EndOptions,
  [id]: readonly (string | undefined)[],
): Promise<void> {
  if ((id === undefined) !== others) throw new UsageError('Name a session: its ID, or --others.');
  const ended = await withRemote(context, options, async (remote) => {
    const ids =
      id === undefined
        ? (await allSessions(remote)).filter(({ current }) => !current).map((one) => one.id)
        : [id];
    for (const one of ids) await remote.call('DELETE', `/staff/sessions/${encodeURIComponent(one)}`);
    return ids;
  });
  if (context.print.json) context.print.document({ items: ended.map((one) => ({ id: one })) });
  else context.print.line(`Ended ${counted(ended.length, 'session')}.`);
}

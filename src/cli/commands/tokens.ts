// deskbell token …: tokens for scripts, at a server. Shows a token's text once, where it was made. Holds no rule.
import { Option, type Command } from 'commander';
import { tokenScopes } from '../../protocol/enums.ts';
import type { StaffToken } from '../../protocol/sign-in.ts';
import { addCommandGroup, appendValue, parseDuration } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { UsageError } from '../errors.ts';
import { addServerOptions, tokenCommand, withRemote, type ServerOptions } from '../remote.ts';

interface CreateOptions extends ServerOptions {
  readonly name: string;
  readonly scope: readonly string[];
  readonly expires: number;
}

export function addTokenCommands(program: Command, act: WrapHandler): void {
  const group = addCommandGroup(program, 'token', 'tokens for scripts, with scopes and an end');
  addServerOptions(group.command('create').description('make a token; it is shown once'))
    .requiredOption('--name <N>', 'what it is for')
    .addOption(
      new Option('--scope <SCOPE>', 'what it may do; may be given several times')
        .argParser(appendScope)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--expires <TIME>', 'how long it works: 24h, 90d; at most 366d')
        .argParser(parseDuration)
        .default(90 * 86_400, '90d'),
    )
    .action(act<CreateOptions>(create));
  addServerOptions(group.command('list').description('your tokens, without their text')).action(
    act<ServerOptions>(list),
  );
  addServerOptions(
    group.command('revoke').description('end a token, at once').argument('<ID>', "the token's id"),
  ).action(act<ServerOptions>(revoke));
}

function appendScope(value: string, before: readonly string[] | undefined): readonly string[] {
  if (!tokenScopes.some((one) => one === value))
    throw new UsageError(`There is no scope ${JSON.stringify(value)}. Scopes: ${tokenScopes.join(', ')}.`);
  return appendValue(value, before);
}

async function create(context: Context, { name, scope, expires, ...options }: CreateOptions): Promise<void> {
  const expiresAt = new Date(Date.now() + expires * 1000).toISOString();
  const { token } = await withRemote(context, options, ({ call }) =>
    call<{ token: StaffToken & { readonly token: string } }>('POST', '/staff/tokens', {
      name,
      scopes: scope,
      expiresAt,
    }),
  );
  const { print } = context;
  if (print.json) return print.document(token);
  print.fields([
    ['token', token.token],
    ['id', token.id],
    ['name', token.name],
    ['scopes', token.scopes.join(', ')],
    ['until', token.expiresAt],
  ]);
  if (print.interactive) print.line(['dim', 'Keep it now: it is not shown again.']);
  return undefined;
}

async function list(context: Context, options: ServerOptions): Promise<void> {
  const { tokens } = await withRemote(context, options, ({ call }) =>
    call<{ tokens: readonly StaffToken[] }>('GET', '/staff/tokens'),
  );
  const { print } = context;
  if (print.json) return print.document({ items: tokens });
  return print.table(
    ['ID', 'NAME', 'SCOPES', 'UNTIL', 'LAST USED'],
    tokens.map((one) => [one.id, one.name, one.scopes.join(' '), one.expiresAt, one.lastUsedAt ?? 'never']),
    `You have no tokens. Create one: ${tokenCommand(context)}`,
  );
}

async function revoke(context: Context, options: ServerOptions, [id = '']: readonly string[]): Promise<void> {
  const done = await withRemote(context, options, ({ call }) =>
    call<object>('DELETE', `/staff/tokens/${encodeURIComponent(id)}`),
  );
  if (context.print.json) context.print.document(done);
  else context.print.line('The token is revoked.');
}

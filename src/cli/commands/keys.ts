// deskbell key …: the API keys of an application. Holds no rule; shows a key's text
// only where it was asked for.
import { Option, type Command } from 'commander';
import type { ApiKey, ApiKeyWithSecret } from '../../protocol/entities.ts';
import { counted } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { addCommandGroup, parseDuration } from '../command-builder.ts';
import { runLocal } from '../local.ts';

interface CreateOptions {
  readonly app: string;
  readonly test?: boolean;
  readonly name?: string;
}

export function addKeyCommands(program: Command, act: WrapHandler): void {
  const key = addCommandGroup(program, 'key', "API keys, for the customer's own backend");
  const id = (command: Command): Command => command.argument('<ID>', "the key's id");

  key
    .command('create')
    .description('create an API key')
    .requiredOption('--app <ID>', 'the application (appId)')
    .option('--test', 'a key that sees and makes test data only')
    .option('--name <N>', 'what it is for')
    .action(act<CreateOptions>(createKey));
  key
    .command('list')
    .description('list the API keys of an application, without their text')
    .requiredOption('--app <ID>', 'the application (appId)')
    .action(act<{ app: string }>(listKeys));
  id(key.command('reveal').description("show a key's text again; the audit log says so")).action(
    act(async (context, _options, [keyId = '']) =>
      showKey(context, await runLocal(context, 'keys.reveal', { keyId })),
    ),
  );
  id(key.command('rotate').description('replace a key; the old one works for a while'))
    .addOption(
      new Option('--grace <TIME>', 'how long the old one works: 24h, 30m, 7d or 0')
        .argParser(parseDuration)
        .default(86_400, '24h'),
    )
    .action(act<{ grace: number }>(rotateKey));
  id(key.command('revoke').description('revoke a key, at once')).action(act(revokeKey));
}

async function createKey(context: Context, { app, test = false, name }: CreateOptions): Promise<void> {
  const made = await runLocal(context, 'keys.create', {
    applicationId: app,
    mode: test ? 'test' : 'live',
    name,
  });
  showKey(context, made);
  context.print.next(context.command(`snippet --app ${app}`));
}

function showKey({ print }: Context, { id, key, mode, applicationId, name }: ApiKeyWithSecret): void {
  if (print.json) return print.document({ id, key, mode, applicationId, name });
  print.fields([
    ['key', key],
    ['id', id],
    ['mode', mode],
    ['name', name],
    ['appId', applicationId],
  ]);
  if (print.interactive) print.line(['dim', 'Keep it on your server, never in a page or an app.']);
}

async function listKeys(context: Context, { app }: { app: string }): Promise<void> {
  const { keys } = await runLocal(context, 'keys.list', { applicationId: app });
  const { print } = context;
  if (print.json) return print.document({ items: keys });
  print.table(
    ['ID', 'NAME', 'MODE', 'KEY', 'STATE', 'LAST USED'],
    keys.map((one) => [one.id, one.name, one.mode, one.hint, keyState(one), one.lastUsedAt ?? 'never']),
    `No keys yet. Create one: ${context.command(`key create --app ${app}`)}`,
  );
}

function keyState({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt === null) return 'works';
  return Date.parse(expiresAt) > Date.now() ? `works until ${expiresAt}` : 'over';
}

async function rotateKey(
  context: Context,
  { grace }: { grace: number },
  [keyId = '']: readonly string[],
): Promise<void> {
  const made = await runLocal(context, 'keys.rotate', { keyId, graceSeconds: grace });
  showKey(context, made);
  if (context.print.interactive)
    context.print.line(
      grace === 0 ? 'The old key has ended.' : `The old key works for ${describeSeconds(grace)} more.`,
    );
}

function describeSeconds(seconds: number): string {
  if (seconds % 86_400 === 0) return counted(seconds / 86_400, 'day');
  if (seconds % 3600 === 0) return counted(seconds / 3600, 'hour');
  return seconds % 60 === 0 ? counted(seconds / 60, 'minute') : counted(seconds, 'second');
}

async function revokeKey(context: Context, _options: object, [keyId = '']: readonly string[]): Promise<void> {
  const done = await runLocal(context, 'keys.revoke', { keyId });
  if (context.print.json) context.print.document(done);
  else context.print.line('The key is revoked.');
}

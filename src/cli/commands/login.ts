// deskbell login and logout: a member's session at a server, kept in a private file.
// Never takes a password as an argument, and never shows a token.
import type { Command } from 'commander';
import type { WrapHandler, Context } from '../context.ts';
import type { SignIn } from '../credentials.ts';
import { CommandError, UsageError } from '../errors.ts';
import { addServerOptions, credentialsOf, savedSignIn, signInFilter, type ServerOptions } from '../remote.ts';
import { endSession, signIn, signInWithToken } from '../sign-in.ts';

interface LoginOptions extends ServerOptions {
  readonly email?: string;
  readonly passwordStdin?: boolean;
  readonly tokenStdin?: boolean;
  readonly list?: boolean;
}

export function addLoginCommands(program: Command, act: WrapHandler): void {
  program
    .command('login')
    .description('sign in to a server; asks for what is not given')
    .option('--url <URL>', 'the server (default: the one on this data folder, else http://127.0.0.1:4600)')
    .option('--org <S>', "the organization's slug")
    .option('--email <E>', 'your e-mail address')
    .option(
      '--password-stdin',
      'read the password from standard input (else DESKBELL_PASSWORD, else a question)',
    )
    .option('--token-stdin', 'read a staff token (dbt_…) from standard input instead; for scripts')
    .option('--list', 'list where you are signed in')
    .action(
      act<LoginOptions>((context, options) =>
        options.list === true ? list(context) : login(context, options),
      ),
    );
  addServerOptions(program.command('logout').description('end a session on its server and remove it here'))
    .option('--all', 'every session')
    .action(act<ServerOptions & { readonly all?: boolean }>(logout));
}

/** A sign-in as it may be shown. */
function shown({ url, organization, organizationName, member, expiresAt }: SignIn): object {
  return { url, organization, organizationName, member, expiresAt };
}

async function login(
  context: Context,
  { url, org, email, passwordStdin, tokenStdin }: LoginOptions,
): Promise<void> {
  if (tokenStdin === true && (org !== undefined || email !== undefined || passwordStdin === true))
    throw new UsageError('A token already says who you are: leave --org, --email and --password-stdin out.');
  const made =
    tokenStdin === true
      ? await signInWithToken(context, url)
      : await signIn(context, { url, organization: org?.trim().toLowerCase(), email, passwordStdin });
  const { print } = context;
  if (print.json) return print.document(shown(made));
  print.line('Signed in to ', ['bold', made.organizationName], ` at ${made.url} as ${made.member.name}.`);
  print.next(context.remoteCommand('console'), context.remoteCommand('inbox'));
  return undefined;
}

async function list(context: Context): Promise<void> {
  const signIns = await credentialsOf(context).list();
  const { print } = context;
  if (print.json)
    return print.document({ items: signIns.map((one, index) => ({ ...shown(one), current: index === 0 })) });
  print.table(
    ['', 'SERVER', 'ORGANIZATION', 'MEMBER', 'EMAIL'],
    signIns.map(({ url, organization, member }, index) => [
      index === 0 ? '*' : '',
      url,
      organization,
      member.name,
      member.email,
    ]),
    `You are not signed in anywhere. Sign in: ${context.remoteCommand('login')}`,
  );
  return undefined;
}

async function logout(
  context: Context,
  { all = false, ...options }: ServerOptions & { readonly all?: boolean },
): Promise<void> {
  if (all && (options.url !== undefined || options.org !== undefined))
    throw new UsageError('--all means every session; leave --url and --org out.');
  const credentials = credentialsOf(context);
  const meant = signInFilter(options);
  const ending = all ? await credentials.list() : [await savedSignIn(context, options)];
  if (
    meant.url !== undefined &&
    meant.organization === undefined &&
    (await credentials.list()).filter(({ url }) => url === meant.url).length > 1
  )
    throw new CommandError(
      `You are signed in to several organizations at ${meant.url}. Give --org S, or --all`,
    );
  const { print } = context;
  const ended = await Promise.all(
    ending.map(async (one) => {
      const heard = await endSession(one);
      await credentials.remove(one);
      return { one, heard };
    }),
  );
  if (print.json)
    return print.document({
      items: ended.map(({ one, heard }) => ({ url: one.url, organization: one.organization, ended: heard })),
    });
  if (ended.length === 0) print.line('You were not signed in anywhere.');
  for (const { one, heard } of ended) {
    const where = `${one.organization} at ${one.url}`;
    if (heard) print.line(`Signed out of ${where}.`);
    else
      print.line(
        `Removed the session of ${where} here, but the server could not be reached. There it ends by ${one.expiresAt}, or when an admin sets a new password.`,
      );
  }
  return undefined;
}

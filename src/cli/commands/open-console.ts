// deskbell console: finds a sign-in, or asks for one, and opens the operator's console.
// The console itself is loaded here and nowhere else.
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import type { runConsole } from '../console/start.tsx';
import { queueModes } from '../../protocol/queue-enums.ts';
import { disableColors, userFolders, terminalEnvironment } from '../../config/user-environment.ts';
import type { WrapHandler, Context } from '../context.ts';
import type { SignIn } from '../credentials.ts';
import { CommandError, UsageError } from '../errors.ts';
import { addServerOptions, credentialsOf, stateFolder, signInFilter, type ServerOptions } from '../remote.ts';
import { serverHere, type ServerAddress } from '../running-server.ts';
import { serverEnvironment } from '../server-environment.ts';
import { signInLocally } from '../local-sign-in.ts';
import { signIn } from '../sign-in.ts';

interface ConsoleFlags extends ServerOptions {
  readonly bell?: boolean;
  readonly desktop?: boolean;
  readonly title?: boolean;
  readonly keys?: string;
  readonly mode?: (typeof queueModes)[number];
  readonly screenReader?: boolean;
}

export function addConsoleCommand(program: Command, act: WrapHandler): void {
  addServerOptions(program.command('console').description("the operator's console, live on this terminal"))
    .option('--no-bell', 'do not ring the bell')
    .option('--no-desktop', 'no desktop notifications')
    .option('--no-title', "do not change the window's title")
    .option('--keys <FILE>', 'a JSON file with your own keys (default: keys.json beside the saved sessions)')
    .addOption(
      new Option('--mode <M>', 'live conversations, those of test keys, or both')
        .choices(queueModes)
        .default('live'),
    )
    .option('--screen-reader', 'plain lines in one column')
    .action(act<ConsoleFlags>(openConsole));
}

/**
 * Opens the console and stays until it is left.
 * @throws UsageError where there is no terminal; CommandError when no member could sign in
 */
export async function openConsole(context: Context, flags: ConsoleFlags): Promise<void> {
  const { io, print } = context;
  if (print.json || io.input.isTTY !== true || io.output.isTTY !== true)
    throw new UsageError(
      `The console needs a terminal. Without one: ${context.remoteCommand('inbox')}, ${context.remoteCommand('reply ID TEXT')}, ${context.remoteCommand('tail --follow')}`,
    );
  const loading = loadConsole();
  await run(context, flags, await sessionFor(context, flags), loading);
}

/** Opens the console on a server that runs on this machine's data folder, without asking for a password. */
export async function openLocalConsole(context: Context, server: ServerAddress): Promise<void> {
  const loading = loadConsole();
  const kept = await credentialsOf(context).find({ url: server.url });
  await run(context, {}, kept ?? (await signInLocally(context, server, undefined)), loading);
}

/**
 * The saved session; else, on the server's own machine, one without a password; else the usual questions. Who names a data
 * folder means the server on it, and not the one that was used last.
 */
async function sessionFor(context: Context, flags: ServerOptions): Promise<SignIn> {
  const meant = signInFilter(flags);
  const isLocal = meant.url === undefined;
  const named = isLocal && context.data !== undefined ? await serverHere(context.config()) : null;
  const credentials = credentialsOf(context);
  const kept = await credentials.find(named === null ? meant : { ...meant, url: named.url });
  if (kept !== null) {
    // It is the one used last from here on. Where that can't be written down, it works all the same.
    await credentials.save(kept).catch(() => undefined);
    return kept;
  }
  if (isLocal) {
    const server = named ?? (await serverHere(context.config()));
    if (server !== null) return signInLocally(context, server, meant.organization);
  }
  return signIn(context, meant);
}

interface LoadedConsole {
  readonly runConsole: typeof runConsole;
}

/** Begun before anything else is asked or read: it takes longest. */
function loadConsole(): Promise<LoadedConsole> {
  disableColors();
  return import('../console/start.tsx');
}

async function run(
  context: Context,
  flags: ConsoleFlags,
  session: SignIn,
  loading: Promise<LoadedConsole>,
): Promise<void> {
  const { bell = true, desktop = true, title = true, mode = 'live', screenReader = false } = flags;
  const [{ runConsole: runIt }, state, keysFile] = await Promise.all([
    loading,
    stateFolder(),
    keysFileOf(flags.keys),
  ]);
  const code = await runIt({
    baseUrl: session.url,
    token: session.token,
    organization: session.organization,
    stateFolder: state,
    keysFile,
    mode,
    notifications: { bell, desktop, title },
    screenReader,
    environment: terminalEnvironment(),
    clientEnvironment: serverEnvironment(),
    onSignedOut: () => again(context, session),
  });
  if (code !== 0) throw new CommandError('The console ended because of an error. What you typed is kept.');
}

/** The session is over: the same server and organization, another password. */
async function again(context: Context, { url, organization, member }: SignIn): Promise<string | null> {
  context.print.note(`The session of ${organization} at ${url} has ended.`);
  try {
    const server = await serverHere(context.config());
    if (server?.url === url) return (await signInLocally(context, server, organization)).token;
    return (await signIn(context, { url, organization, email: member.email })).token;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    context.print.note(error.message);
    return null;
  }
}

async function keysFileOf(typed: string | undefined): Promise<string | null> {
  if (typed !== undefined) return resolve(typed);
  const usual = join(userFolders().config, 'keys.json');
  return (await stat(usual).catch(() => null)) === null ? null : usual;
}

// The saved sessions: one private file with a token for each server and organization. Never holds a password, and never
// prints what it holds.
import { randomBytes } from 'node:crypto';
import { access, chmod, constants, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { shellWord } from './context.ts';
import { CommandError, messageOf } from './errors.ts';
import { errorCode } from '../net/network-errors.ts';

export interface SignIn {
  /** The server's origin. */
  readonly url: string;
  /** The organization's slug. */
  readonly organization: string;
  readonly organizationName: string;
  readonly token: string;
  /** ISO 8601; what the server said when it was kept. Each use extends it. */
  readonly expiresAt: string;
  readonly member: { readonly id: string; readonly name: string; readonly email: string };
}

/** The one used last stands first: it is the current one, and the first of a server is that server's current one. */
interface Kept {
  readonly version: 1;
  readonly signIns: readonly SignIn[];
}

/** Which sign-in is meant; what is left out may be any. */
export interface SignInFilter {
  readonly url?: string | undefined;
  readonly organization?: string | undefined;
}

export interface Credentials {
  /** The path of the file, for messages. */
  readonly path: string;
  /** All sign-ins, the current one first. @throws CommandError naming a file that can't be read or trusted */
  list(): Promise<readonly SignIn[]>;
  /** The one that was used last among those that fit. @throws CommandError as above */
  find(wanted: SignInFilter): Promise<SignIn | null>;
  /** Makes the folder. @throws CommandError where nothing can be kept there: to be known before a session is begun */
  prepare(): Promise<void>;
  /** Saves a session in place of an earlier one for the same server and organization, and makes it the current one. */
  save(signIn: SignIn): Promise<void>;
  /** Removes one; nothing happens when it is not saved. */
  remove(signIn: Pick<SignIn, 'url' | 'organization'>): Promise<void>;
}

export interface CredentialsOptions {
  /** The folder; made for its owner only when it is missing. */
  readonly folder: string;
  /** Called once when the file could be read by others and no longer can. */
  readonly warn: (sentence: string) => void;
  readonly platform?: NodeJS.Platform;
}

const othersMayRead = 0o077;
const othersMayWrite = 0o022;
const sticky = 0o1000;

/** The saved sessions of a folder. Nothing is read or made before it is asked for. */
export function openCredentials({
  folder,
  warn,
  platform = process.platform,
}: CredentialsOptions): Credentials {
  const path = join(folder, 'credentials.json');
  // Windows keeps a profile's folders to its user by itself, and shows no such bits.
  const hasBits = platform !== 'win32';

  async function list(): Promise<readonly SignIn[]> {
    let text: string;
    try {
      if (hasBits) await closeToOthers();
      text = await readFile(path, 'utf8');
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT' || code === 'ENOTDIR') return [];
      if (error instanceof CommandError) throw error;
      throw new CommandError(`The saved sessions can't be read: ${messageOf(error)}.`, {
        cause: error,
      });
    }
    const kept = parsed(text);
    if (isKept(kept)) return kept.signIns;
    throw new CommandError(
      `${path} is damaged, or was written by a newer Deskbell. Remove it and sign in again: rm ${shellWord(path)} && deskbell login`,
    );
  }

  /** A token in a file that others can read is no secret; a file that others can write may name any server. */
  async function closeToOthers(): Promise<void> {
    const found = await stat(path);
    if (process.getuid !== undefined && found.uid !== process.getuid())
      throw new CommandError(
        `${path} belongs to another user, so it is not used. Remove it, or name another folder with DESKBELL_CONFIG.`,
      );
    const around = await stat(folder);
    if ((around.mode & othersMayWrite) !== 0 && (around.mode & sticky) === 0)
      throw new CommandError(
        `Others may write in ${folder}, so the sessions there are not used. Close it: chmod go-w ${shellWord(folder)}`,
      );
    if ((found.mode & othersMayRead) === 0) return;
    await chmod(path, 0o600);
    warn(
      `${path} could be read by others and no longer can. If another user may have read it, end these sessions: deskbell logout --all`,
    );
  }

  async function prepare(): Promise<void> {
    try {
      // For its owner only, whatever the umask: what is made above it, too.
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await access(folder, constants.W_OK);
    } catch (error) {
      throw new CommandError(
        `No session can be kept in ${folder}: ${messageOf(error)}. Name a folder of yours with DESKBELL_CONFIG.`,
        { cause: error },
      );
    }
  }

  /** Reads, changes and writes while no other command does. */
  async function change(work: (before: readonly SignIn[]) => readonly SignIn[]): Promise<void> {
    await prepare();
    const unlock = await takeTurn(`${path}.lock`);
    try {
      await replace(
        path,
        `${JSON.stringify({ version: 1, signIns: work(await list()) } satisfies Kept, null, 2)}\n`,
      );
    } finally {
      await unlock();
    }
  }

  const same = (
    one: Pick<SignIn, 'url' | 'organization'>,
    other: Pick<SignIn, 'url' | 'organization'>,
  ): boolean => one.url === other.url && one.organization === other.organization;

  return {
    path,
    list,
    prepare,
    find: async ({ url, organization }) =>
      (await list()).find(
        (one) =>
          (url === undefined || one.url === url) &&
          (organization === undefined || one.organization === organization),
      ) ?? null,
    save: (fresh) => change((before) => [fresh, ...before.filter((one) => !same(one, fresh))]),
    remove: (removed) => change((before) => before.filter((one) => !same(one, removed))),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Checked by hand: loading a schema library would take longer than the console may take to start.
function isKept(value: unknown): value is Kept {
  return (
    hasTexts(value, []) &&
    value['version'] === 1 &&
    Array.isArray(value['signIns']) &&
    value['signIns'].every(isSignIn)
  );
}

function isSignIn(value: unknown): value is SignIn {
  return (
    hasTexts(value, ['url', 'organization', 'organizationName', 'token', 'expiresAt']) &&
    hasTexts(value['member'], ['id', 'name', 'email'])
  );
}

/** An object in which each of the names is a text with something in it. */
function hasTexts(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const record: Readonly<Record<string, unknown>> = { ...value };
  return names.every((name) => typeof record[name] === 'string' && record[name] !== '');
}

/** A reader sees the old file or the new one, also after a loss of power. */
async function replace(path: string, text: string): Promise<void> {
  const fresh = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.new`;
  try {
    const handle = await open(fresh, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw new CommandError(`The session can't be saved in ${dirname(path)}: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

/** Writing a small file takes less: a lock file this old was left by a command that died. */
const staleAfterMs = 5_000;

async function takeTurn(lock: string): Promise<() => Promise<void>> {
  const until = performance.now() + 2 * staleAfterMs;
  for (;;) {
    try {
      await (await open(lock, 'wx', 0o600)).close();
      return () => rm(lock, { force: true });
    } catch (error) {
      if (errorCode(error) !== 'EEXIST')
        throw new CommandError(`The session can't be saved in ${dirname(lock)}: ${messageOf(error)}.`, {
          cause: error,
        });
    }
    const age = Date.now() - ((await stat(lock).catch(() => null))?.mtimeMs ?? Date.now());
    if (age > staleAfterMs || age < -staleAfterMs) await rm(lock, { force: true });
    else if (performance.now() > until)
      throw new CommandError(`Another command holds ${lock}. If none runs, remove that file.`);
    else await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

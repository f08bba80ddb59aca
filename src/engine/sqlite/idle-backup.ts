// Writes a backup in a process of the idle class (Linux's SCHED_IDLE), which gets only the time that no other process
// wants. At the lowest priority of the usual class it would still take the core from a server for milliseconds at a time,
// whenever that waits for the disk. Where there is no such class, where the process fails and where it gets too little, the
// backup is written in this process, and what is wrong is said by that. Not where no room is left: it would fill the disk twice.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  isManifest,
  removeBackupFiles,
  writeBackup,
  type WriteBackup,
  type WrittenBackup,
} from './backup.ts';
import type { BackupTask, NoRoom } from './backup-process.ts';
import { BackupError } from './sealed-backup.ts';
import { StarvationWatch, type Phase, type Progress } from './starvation.ts';

/** Beside this file as a source, and as a bundle. */
const programFile = import.meta.url.endsWith('.ts') ? './backup-process.ts' : './backup-process.mjs';

/**
 * In the short forms, which util-linux and busybox know. The class of the disk is said as well: it would follow that of the
 * processor, and what a process of the idle class has begun to write could hold up the commit of a server that waits for it.
 */
const startIdle = 'chrt';
const idleArguments = ['-i', '0', 'ionice', '-c', '2', '-n', '7'];

/** Between two looks at what the process has done, ms. */
const lookMs = 250;

export interface IdleOptions {
  /** Of the process; its PATH is where the program is looked for that sets the class. */
  readonly environment: Readonly<Record<string, string>>;
  /** ms of a clock that is never set. */
  readonly now?: () => number;
  /** What a process has done; null where that can't be told. */
  readonly progressOf?: (pid: number) => Progress | null;
  /** What writes it in this process. */
  readonly writeHere?: WriteBackup;
}

/**
 * As `writeBackup`: the same files, the same facts, the same errors.
 * @param files none of them exists
 * @throws BackupError, too, where the process has found no room: the disk is full, and is not filled once more
 */
export async function writeInIdleTime(
  { writeHere = writeBackup, ...options }: IdleOptions,
  ...work: Parameters<WriteBackup>
): Promise<WrittenBackup> {
  const [database, files, key, madeAt, passphrase] = work;
  if (process.platform === 'linux') {
    const { target, unsealed, folder } = files;
    const task: BackupTask = {
      database,
      target,
      unsealed,
      folder,
      key: Buffer.from(key).toString('base64'),
      madeAt,
      passphrase,
    };
    const written = await writeInProcess(task, options);
    if (written !== null) return written;
    await removeBackupFiles(files);
  }
  return writeHere(...work);
}

/**
 * @returns null: it failed, or got too little time. The process has ended by then.
 * @throws BackupError no room was left
 */
async function writeInProcess(
  task: BackupTask,
  { environment, now = () => performance.now(), progressOf = readProgress }: IdleOptions,
): Promise<WrittenBackup | null> {
  const child = startProcess(environment);
  const pid = child?.pid;
  if (child === null || pid === undefined) return null;
  const { promise: exited, resolve: exit } = Promise.withResolvers<void>();
  child.once('exit', () => exit());
  const { promise: answered, resolve: answer } = Promise.withResolvers<WrittenBackup | NoRoom | null>();
  // Comes behind the last message, which the end of the process does not.
  child.once('disconnect', () => answer(null));
  // A process that starves can't tell that the copy has begun.
  const copy = task.passphrase === null ? task.target : task.unsealed;
  let copied = false;
  const phaseNow = (): Phase => {
    if (copied) return 'copied';
    return existsSync(copy) ? 'copying' : 'starting';
  };
  child.on('message', (message: unknown) => {
    if (message === 'copied') copied = true;
    else answer(isWritten(message) || isNoRoom(message) ? message : null);
  });
  const watch = new StarvationWatch();
  const timer = setInterval(() => {
    const progress = progressOf(pid);
    // What can't be watched must not go on.
    if (progress === null || watch.isStarving(now(), phaseNow(), progress)) child.kill('SIGKILL');
  }, lookMs);
  // Without a channel nothing can be told to it.
  if (child.connected) child.send(task, () => undefined);
  else answer(null);
  const written = await answered;
  clearInterval(timer);
  child.kill('SIGKILL');
  await exited;
  if (!isNoRoom(written)) return written;
  throw new BackupError(
    `There is not enough room for the backup (${written.noRoom}). What was written of it is removed. Free as much as the database and its files take${task.passphrase === null ? '' : ', and once more in the data folder, where the copy lies until it is encrypted'}, or name a file on another disk.`,
  );
}

/**
 * Without the flags of this process; those in NODE_OPTIONS are the person's, for all.
 * @returns null, or one without a number, where the system starts none: some of its reasons are thrown, others told later
 */
function startProcess(environment: IdleOptions['environment']): ChildProcess | null {
  const program = fileURLToPath(new URL(programFile, import.meta.url));
  try {
    const child = spawn(startIdle, [...idleArguments, process.execPath, program], {
      env: environment,
      // What is wrong is said once, by this process.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // It shows in what comes of the process.
    child.on('error', () => undefined);
    return child;
  } catch {
    return null;
  }
}

function isNoRoom(value: unknown): value is NoRoom {
  return typeof value === 'object' && value !== null && 'noRoom' in value && typeof value.noRoom === 'string';
}

function isWritten(value: unknown): value is WrittenBackup {
  return (
    typeof value === 'object' &&
    value !== null &&
    'facts' in value &&
    isManifest(value.facts) &&
    'keyCheck' in value &&
    (value.keyCheck === null || typeof value.keyCheck === 'string')
  );
}

/** Linux counts the time of a process in hundredths of a second, whatever its own clock. */
const tickMs = 10;

/** @returns null where Linux does not say, or the process is gone */
function readProgress(pid: number): Progress | null {
  try {
    const io = readFileSync(`/proc/${pid}/io`, 'latin1');
    const count = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1]);
    // The name of the program comes second, in parentheses, and may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    const progress = {
      moved: count('rchar') + count('wchar'),
      cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs,
    };
    return Number.isFinite(progress.moved + progress.cpuMs) ? progress : null;
  } catch {
    return null;
  }
}

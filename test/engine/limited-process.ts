// Owns the process whose files can't grow beyond a limit, as a test sees it: what can be asked of limited-server.ts, and
// how much room its log has left. Must not know what is asked for.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { databaseFile, openConnection } from '../../src/engine/open-engine.ts';
import { cleanEnvironment } from '../helpers/command.ts';
import type { LimitedRequests } from './limited-server.ts';

/** A frame of SQLite's write-ahead log: a page of 4,096 bytes and its header. */
export const frameBytes = 4_120;
const logHeaderBytes = 32;
/** What POSIX counts `ulimit -f` in. */
const blockBytes = 512;

type Answer = { readonly value: unknown } | { readonly error: string; readonly code: unknown };

/** A refusal, as {@link LimitedProcess.ask} throws it. */
export class AskedError extends Error {
  readonly code: unknown;
  constructor(message: string, code: unknown) {
    super(message);
    this.code = code;
  }
}

/** One question at a time. */
export class LimitedProcess {
  /** No file of the process grows beyond so many bytes. */
  readonly limit: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;

  private constructor(blocks: number) {
    this.limit = blocks * blockBytes;
    const program = join(import.meta.dirname, 'limited-server.ts');
    this.#child = spawn(
      'sh',
      ['-c', 'ulimit -f "$0" && exec "$@"', String(blocks), process.execPath, program],
      {
        env: cleanEnvironment(),
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    );
    this.#ended = once(this.#child, 'exit');
  }

  /** @param blocks of 512 bytes */
  static async start(blocks: number): Promise<LimitedProcess> {
    const made = new LimitedProcess(blocks);
    await made.#answer();
    return made;
  }

  /** @throws AskedError what the process was asked for was refused; Error: it has ended */
  async ask<Name extends keyof LimitedRequests>(
    name: Name,
    ...values: Parameters<LimitedRequests[Name]>
  ): Promise<Awaited<ReturnType<LimitedRequests[Name]>>> {
    const answered = this.#answer();
    this.#child.send({ name, values });
    const answer = (await answered) as Answer;
    if ('error' in answer) throw new AskedError(answer.error, answer.code);
    return answer.value as Awaited<ReturnType<LimitedRequests[Name]>>;
  }

  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }

  async #answer(): Promise<unknown> {
    const answered = once(this.#child, 'message');
    const ended = this.#ended.then(([code, signal]) => {
      throw new Error(`the limited process ended: ${String(code)} ${String(signal)}`);
    });
    const [message] = (await Promise.race([answered, ended])) as unknown[];
    return message;
  }
}

/** What fills up a database's log from outside the process that is limited. */
export interface LogFiller {
  /**
   * Fills an empty log with commits of one page each.
   * @param limit of the file, in bytes
   * @param room how much of it is to be left, less than a frame more
   */
  leaveRoom(limit: number, room: number): void;
  /** Moves the log into the database, which may be longer than the limit afterwards. */
  clear(): void;
  close(): void;
}

export function openLogFiller(folder: string): LogFiller {
  const file = databaseFile(folder);
  const connection = openConnection(file, { durability: 'normal', lockTimeoutMs: 5_000 });
  connection.pragma('wal_autocheckpoint = 0');
  connection.exec(
    'create table if not exists log_filler (n integer); delete from log_filler; insert into log_filler values (0)',
  );
  const count = connection.prepare('update log_filler set n = n + 1');
  const clear = (): void => {
    const [{ busy } = { busy: 1 }] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (busy !== 0) throw new Error('another connection reads the log');
  };
  clear();
  return {
    leaveRoom: (limit, room) => {
      const frames = Math.floor((limit - logHeaderBytes - room) / frameBytes);
      if (frames < 0) throw new Error(`the limit is smaller than ${room}`);
      for (let index = 0; index < frames; index += 1) count.run();
      const { size } = statSync(`${file}-wal`);
      if (frames > 0 && size !== logHeaderBytes + frames * frameBytes)
        throw new Error(`the log has ${size} bytes after ${frames} commits`);
    },
    clear,
    close: () => void connection.close(),
  };
}

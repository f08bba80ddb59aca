// Reads: those that arrive in one turn of the loop share a connection and a snapshot, and their statements travel
// together. Holds no query of a noun.
import type { ReadTx } from '../engine.ts';
import { refusal, type Link, type Statement } from './link.ts';
import { createRepositories } from './repositories.ts';
import { createRunner } from './runner.ts';

/** A read that waits for its snapshot. */
interface WaitingRead {
  /** Runs it. What it resolves to answers the caller. */
  readonly run: (tx: ReadTx) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
}

/** A snapshot, and whether the database has refused a statement in it: whatever comes behind that is refused, too. */
interface Snapshot extends ReadTx {
  readonly spoilt: boolean;
}

const begin: Statement = { name: 'begin_read', text: 'begin isolation level repeatable read read only' };
const commit: Statement = { name: 'commit', text: 'commit' };

/** Runs work in a snapshot of its own on a connection. */
async function inSnapshot<T>(link: Link, work: (tx: Snapshot) => Promise<T>): Promise<T> {
  let over = false;
  let spoilt = false;
  const begun = link.query(begin);
  begun.catch(() => undefined);
  const runner = createRunner(link, {
    before: () => {
      if (over) throw new Error('A snapshot was used after its end.');
    },
    refused: () => (spoilt = true),
  });
  try {
    return await work({
      repositories: createRepositories(runner),
      get spoilt() {
        return spoilt;
      },
    });
  } finally {
    over = true;
    await link.query(commit).catch(() => undefined);
    await begun;
  }
}

export class Reads {
  readonly #open: () => Promise<Link>;
  readonly #idle: (Link | null)[];
  readonly #waiting: WaitingRead[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #planned = false;

  /**
   * @param open makes a connection
   * @param connections how many snapshots there may be at a time
   */
  constructor(open: () => Promise<Link>, connections: number) {
    this.#open = open;
    this.#idle = Array.from({ length: connections }, () => null);
  }

  /** Runs work in a snapshot that is taken after this call; once more where another's statement was refused in it. */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ run: (tx) => work(tx).then((value) => () => resolve(value)), reject });
      this.#plan();
    });
  }

  /** Ends when nothing is read any more. */
  async close(): Promise<void> {
    while (this.#underWay.size > 0 || this.#waiting.length > 0)
      await (this.#underWay.size > 0
        ? Promise.all(this.#underWay)
        : new Promise((resolve) => setImmediate(resolve)));
    for (const link of this.#idle) await link?.close();
  }

  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    setImmediate(() => {
      this.#planned = false;
      if (this.#waiting.length === 0) return;
      const link = this.#idle.pop();
      // All connections are in use: the first that is free takes everything that waits by then.
      if (link === undefined) return;
      const reads = this.#waiting.splice(0);
      const running = this.#run(link, reads).finally(() => this.#underWay.delete(running));
      this.#underWay.add(running);
    });
  }

  async #run(kept: Link | null, reads: readonly WaitingRead[]): Promise<void> {
    let link = kept;
    try {
      if (link === null || link.lost) {
        void link?.close();
        link = null;
        link = await this.#open();
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
    try {
      if (link !== null) await this.#runOn(link, reads);
    } finally {
      // The next one is taken from the end: where the database has no more connections, those that there are do the work.
      if (link?.lost === false) this.#idle.push(link);
      else this.#idle.unshift(link);
      if (this.#waiting.length > 0) this.#plan();
    }
  }

  /** Answers every caller, and never rejects. */
  async #runOn(link: Link, reads: readonly WaitingRead[]): Promise<void> {
    const again: WaitingRead[] = [];
    await inSnapshot(link, (tx) =>
      Promise.all(
        reads.map(async (read) => {
          try {
            (await read.run(tx))();
          } catch (error) {
            if (tx.spoilt && !link.lost && reads.length > 1) again.push(read);
            else read.reject(refusal(error));
          }
        }),
      ),
    ).catch(() => undefined);
    // One of them was refused, and it took the others with it: each by itself.
    for (const read of again) await this.#runOn(link, [read]);
  }
}

/** Runs work in a snapshot on a connection of its own, which may wait for something else. */
export async function readAlone<T>(open: () => Promise<Link>, work: (tx: ReadTx) => Promise<T>): Promise<T> {
  const link = await open();
  try {
    return await inSnapshot(link, work);
  } catch (error) {
    throw refusal(error);
  } finally {
    await link.close();
  }
}

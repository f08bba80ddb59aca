// Which of PostgreSQL's advisory locks a scope takes. A part holds its organization shared, an organization the server:
// so what is wider waits for what is under way in it, and holds up what comes after.
import { createHash } from 'node:crypto';
import type { Scope } from '../engine.ts';

export interface ScopeLock {
  /** The lock's number. The wider the scope, the smaller: in this order they are taken, so no two wait for each other. */
  readonly id: bigint;
  readonly exclusive: boolean;
}

const levels = { server: 0n, organization: 1n, part: 2n } as const;

function lockId(level: keyof typeof levels, name: string): bigint {
  const digest = createHash('sha256').update(name).digest();
  // Three levels above 60 bits of the name: always less than the lock of the log.
  return (levels[level] << 60n) | (digest.readBigUInt64BE(0) >> 4n);
}

const server = lockId('server', '');

/** The locks of one or more scopes, each once, in the order in which they must be taken. */
export function locksOf(scope: Scope | readonly Scope[]): ScopeLock[] {
  const locks = new Map<bigint, boolean>();
  const add = (id: bigint, exclusive: boolean): void =>
    void locks.set(id, exclusive || locks.get(id) === true);
  for (const one of [scope].flat()) {
    if (one === 'server') {
      add(server, true);
      continue;
    }
    add(server, false);
    if (typeof one === 'string') add(lockId('part', one), true);
    else {
      add(lockId('organization', one.organization), one.part === undefined);
      if (one.part !== undefined) add(lockId('part', `${one.organization} ${one.part}`), true);
    }
  }
  return inOrder(locks);
}

/** The locks of several operations together. */
export function together(operations: readonly (readonly ScopeLock[])[]): ScopeLock[] {
  const locks = new Map<bigint, boolean>();
  for (const { id, exclusive } of operations.flat()) locks.set(id, exclusive || locks.get(id) === true);
  return inOrder(locks);
}

function inOrder(locks: ReadonlyMap<bigint, boolean>): ScopeLock[] {
  return [...locks].map(([id, exclusive]) => ({ id, exclusive })).toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Lets operations of one transaction that exclude each other run one after another. */
export class Turns {
  readonly #holders = new Map<bigint, { exclusive: Promise<unknown> | null; shared: Promise<unknown>[] }>();

  /**
   * Takes a place behind the operations that this one excludes.
   * @param done settles when the operation has ended
   * @returns what it has to wait for first; null: nothing
   */
  queue(locks: readonly ScopeLock[], done: Promise<unknown>): Promise<unknown> | null {
    const before: Promise<unknown>[] = [];
    for (const { id, exclusive } of locks) {
      const holders = this.#holders.get(id) ?? { exclusive: null, shared: [] };
      this.#holders.set(id, holders);
      if (holders.exclusive !== null) before.push(holders.exclusive);
      if (exclusive) {
        before.push(...holders.shared);
        holders.exclusive = done;
        holders.shared = [];
      } else holders.shared.push(done);
    }
    return before.length === 0 ? null : Promise.allSettled(before);
  }
}

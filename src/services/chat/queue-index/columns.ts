// What the index of the queue knows of each conversation beside its bits: the id, and the numbers by which it is ordered. In
// columns: half a million conversations as objects would take three times the memory.
import { priority, type Priority } from '../../../protocol/entities.ts';

/** What is kept of a conversation. */
export interface Ordered {
  /** At most 36 ASCII characters: a UUID. */
  readonly id: string;
  readonly isPending: boolean;
  readonly priority: Priority;
  readonly waitingSince: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const idLength = 36;
const pendingFlag = 0x80;

/** Rows by slot: small whole numbers, of which none is far above how many there are. */
export class Columns {
  #ids = Buffer.alloc(0);
  #flags = new Uint8Array(0);
  /** NaN: it waits for nothing. */
  #waitingSince = new Float64Array(0);
  #createdAt = new Float64Array(0);
  #updatedAt = new Float64Array(0);

  /** @throws RangeError when the id is longer than a UUID */
  set(slot: number, row: Ordered): void {
    if (row.id.length > idLength) throw new RangeError(`The id ${row.id} is longer than a UUID.`);
    if (slot >= this.#flags.length) this.#grow(Math.max(64, slot + 1, this.#flags.length * 2));
    const at = slot * idLength;
    this.#ids.fill(0, at, at + idLength);
    this.#ids.write(row.id, at, idLength, 'latin1');
    // From low to urgent.
    this.#flags[slot] = priority.options.indexOf(row.priority) | (row.isPending ? pendingFlag : 0);
    this.#waitingSince[slot] = row.waitingSince ?? Number.NaN;
    this.#createdAt[slot] = row.createdAt;
    this.#updatedAt[slot] = row.updatedAt;
  }

  #grow(length: number): void {
    const ids = Buffer.alloc(length * idLength);
    this.#ids.copy(ids);
    this.#ids = ids;
    const flags = new Uint8Array(length);
    flags.set(this.#flags);
    this.#flags = flags;
    const wider = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const numbers = new Float64Array(length);
      numbers.set(column);
      return numbers;
    };
    this.#waitingSince = wider(this.#waitingSince);
    this.#createdAt = wider(this.#createdAt);
    this.#updatedAt = wider(this.#updatedAt);
  }

  id(slot: number): string {
    const at = slot * idLength;
    let end = at + idLength;
    while (end > at && this.#ids[end - 1] === 0) end -= 1;
    return this.#ids.toString('latin1', at, end);
  }

  /** Below zero: the first one's id is the smaller one. */
  compareIds(one: number, other: number): number {
    const [at, beside] = [one * idLength, other * idLength];
    return this.#ids.compare(this.#ids, beside, beside + idLength, at, at + idLength);
  }

  isPending(slot: number): boolean {
    return ((this.#flags[slot] ?? 0) & pendingFlag) !== 0;
  }

  /** 0 is low. */
  rank(slot: number): number {
    return (this.#flags[slot] ?? 0) & ~pendingFlag;
  }

  /** NaN: it waits for nothing. */
  waitingSince(slot: number): number {
    return this.#waitingSince[slot] ?? Number.NaN;
  }

  createdAt(slot: number): number {
    return this.#createdAt[slot] ?? 0;
  }

  updatedAt(slot: number): number {
    return this.#updatedAt[slot] ?? 0;
  }
}

// Rows of all organizations, found by a key. What one organization has is put in the place of what it had, and nothing else
// is touched: so a change costs as much as the organization has, however many others there are.

export class OrganizationTable<T> {
  readonly #keyOf: (row: T) => string;
  readonly #inOrder: (one: T, other: T) => number;
  readonly #parts = new Map<string, readonly T[]>();
  readonly #byKey = new Map<string, T[]>();

  /**
   * @param keyOf what a row is found by
   * @param inOrder which of those with the same key comes first, whichever organizations have them
   */
  constructor(keyOf: (row: T) => string, inOrder: (one: T, other: T) => number = () => 0) {
    this.#keyOf = keyOf;
    this.#inOrder = inOrder;
  }

  /** By organization; one that has no rows is not there. */
  get parts(): ReadonlyMap<string, readonly T[]> {
    return this.#parts;
  }

  /** Everything that there is to be found. */
  get keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  /** Whether any organization has a row with a key. */
  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** The first row with a key. */
  find(key: string): T | undefined {
    const [first, ...others] = this.#byKey.get(key) ?? [];
    if (first === undefined) return undefined;
    return others.reduce((one, other) => (this.#inOrder(other, one) < 0 ? other : one), first);
  }

  /** Puts all rows of an organization in the place of those that it had. */
  replace(organizationId: string, rows: readonly T[]): void {
    for (const row of this.#parts.get(organizationId) ?? []) this.#remove(row);
    if (rows.length === 0) this.#parts.delete(organizationId);
    else this.#parts.set(organizationId, rows);
    for (const row of rows) this.#add(row);
  }

  #add(row: T): void {
    const key = this.#keyOf(row);
    const same = this.#byKey.get(key);
    if (same === undefined) this.#byKey.set(key, [row]);
    else same.push(row);
  }

  /** One of those that are alike: of a domain there is no more to be known than how many have it. */
  #remove(row: T): void {
    const key = this.#keyOf(row);
    const same = this.#byKey.get(key) ?? [];
    same.splice(same.indexOf(row), 1);
    if (same.length === 0) this.#byKey.delete(key);
  }
}

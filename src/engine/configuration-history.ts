// Whose configuration changed under which number, as far as this process knows: so that what is kept of one organization
// outlives the changes of others. What is not known to concern others may concern all.

/** So many organizations are told apart; then all that is kept is read again, once. */
const maxOrganizations = 10_000;

export class ConfigurationHistory {
  /** Up to this number it is known, or assumed, what changed. */
  #known: number;
  /** Under this number, or an earlier one, something changed, and nothing says whose. */
  #allAt: number;
  readonly #changedAt = new Map<string, number>();

  /** @param known the number of configuration when the store was opened */
  constructor(known: number) {
    this.#known = known;
    this.#allAt = known;
  }

  /**
   * Takes a commit that changed configuration.
   * @param number what it has raised the number to
   * @param organizations whose; all: nothing says
   */
  note(number: number, organizations: ReadonlySet<string> | 'all'): void {
    // Those that were left out are of other processes.
    this.#assume(organizations === 'all' ? number : number - 1);
    this.#known = Math.max(this.#known, number);
    if (organizations === 'all') return;
    for (const id of organizations)
      this.#changedAt.set(id, Math.max(number, this.#changedAt.get(id) ?? number));
    if (this.#changedAt.size <= maxOrganizations) return;
    this.#allAt = this.#known;
    this.#changedAt.clear();
  }

  /**
   * The number under which an organization's configuration has last changed: what was read under it, or a later one, holds.
   * @param fresh the number as it is now
   */
  changedAt(organizationId: string, fresh: number): number {
    this.#assume(fresh);
    return Math.max(this.#allAt, this.#changedAt.get(organizationId) ?? this.#allAt);
  }

  /** Organizations whose configuration may have changed above the number `since`. @param fresh as with `changedAt` */
  changedSince(since: number, fresh: number): ReadonlySet<string> | 'all' {
    this.#assume(fresh);
    if (this.#allAt > since) return 'all';
    const changed = new Set<string>();
    for (const [id, number] of this.#changedAt) if (number > since) changed.add(id);
    return changed;
  }

  /** Changes up to a number that no commit of this process has made: they may be anyone's. */
  #assume(number: number): void {
    if (number <= this.#known) return;
    this.#known = number;
    this.#allAt = number;
  }
}

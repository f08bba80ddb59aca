// Whether an origin is registered with any application. Every preflight asks and none is counted, so what it costs must not
// grow with the domains that others have registered: each is looked at when its organization's have changed.
import { coveringDomains, type ParsedOrigin } from './origins.ts';

/** Domains of every application, by organization. */
type Domains = ReadonlyMap<string, readonly string[]>;

export class KnownOrigins {
  #of: Domains = new Map();
  /** How often each domain is registered. */
  readonly #registered = new Map<string, number>();

  /**
   * Whether one of these domains covers the origin.
   * @param domains as they are now: of an organization whose have not changed, the same array as before
   */
  has(domains: Domains, origin: ParsedOrigin): boolean {
    if (domains !== this.#of) this.#follow(domains);
    return coveringDomains(origin).some((domain) => this.#registered.has(domain));
  }

  #follow(domains: Domains): void {
    for (const [id, before] of this.#of) if (domains.get(id) !== before) this.#count(before, -1);
    for (const [id, now] of domains) if (this.#of.get(id) !== now) this.#count(now, 1);
    this.#of = domains;
  }

  #count(domains: readonly string[], by: 1 | -1): void {
    for (const domain of domains) {
      const times = (this.#registered.get(domain) ?? 0) + by;
      if (times === 0) this.#registered.delete(domain);
      else this.#registered.set(domain, times);
    }
  }
}

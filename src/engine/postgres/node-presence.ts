// Which staff connections are live on all nodes: each node stores its own members and keeps all others' in memory, read
// anew whenever a node says that its own have changed.
import type { Presence } from '../engine.ts';
import type { Link, Statement } from './link.ts';
import type { Membership } from './membership.ts';

const arrive: Statement = {
  name: 'arrive',
  text: 'insert into presence (node, organization_id, member_id) values ($1, $2, $3) on conflict do nothing',
};
const depart: Statement = {
  name: 'depart',
  text: 'delete from presence where node = $1 and organization_id = $2 and member_id = $3',
};
// In one statement: who reads in between must not find a member away who is there before and after it.
const replaceAll: Statement = {
  name: 'replace_presence',
  text: `with own as (
      select organization_id, member_id from unnest($2::text[], $3::text[]) as own(organization_id, member_id)),
    departed as (
      delete from presence where node = $1
        and (organization_id, member_id) not in (select organization_id, member_id from own))
    insert into presence (node, organization_id, member_id)
      select $1, organization_id, member_id from own on conflict do nothing`,
};
const readOthers: Statement = {
  name: 'read_presence',
  text: 'select distinct organization_id, member_id from presence where node <> $1',
};
const message = 'presence';

interface Row {
  readonly organization_id: string;
  readonly member_id: string;
}

/** Members with a live connection, and their organizations. */
class Live {
  readonly members = new Set<string>();
  readonly organizations = new Map<string, Set<string>>();

  constructor(rows: readonly Row[] = []) {
    for (const { organization_id, member_id } of rows) this.add(organization_id, member_id);
  }

  add(organization: string, member: string): void {
    this.members.add(member);
    this.organizations.set(organization, (this.organizations.get(organization) ?? new Set()).add(member));
  }

  remove(organization: string, member: string): void {
    this.members.delete(member);
    const members = this.organizations.get(organization);
    members?.delete(member);
    if (members?.size === 0) this.organizations.delete(organization);
  }
}

export class NodePresence implements Presence {
  readonly #membership: Membership;
  readonly #nodeId: string;
  readonly #monotonicMs: () => number;
  readonly #started: number;
  /** Live connections of this node, by member. */
  readonly #connections = new Map<string, Set<string>>();
  readonly #own = new Live();
  #others = new Live();
  readonly #leftAt = new Map<string, number>();
  readonly #listeners = new Set<(organizationId: string, online: boolean) => void>();
  #reading = false;
  #readAgain = false;

  /** @param monotonicMs the clock by which absence is measured; a member who was never seen is away since now */
  constructor(membership: Membership, nodeId: string, monotonicMs: () => number) {
    this.#membership = membership;
    this.#nodeId = nodeId;
    this.#monotonicMs = monotonicMs;
    this.#started = monotonicMs();
    membership.add({
      joined: async (link) => {
        await Promise.all([this.#tellAll(link), this.#read(link)]);
      },
      heard: (kind) => {
        if (kind === message) this.#readSoon();
      },
      gone: () => this.#readSoon(),
    });
  }

  join(organizationId: string, memberId: string, connectionId: string): void {
    const connections = this.#connections.get(memberId);
    if (connections !== undefined) return void connections.add(connectionId);
    this.#connections.set(memberId, new Set([connectionId]));
    this.#leftAt.delete(memberId);
    const online = this.#isOnline(organizationId);
    this.#own.add(organizationId, memberId);
    if (!online) this.#tell(organizationId, true);
    this.#store(arrive, organizationId, memberId);
  }

  leave(organizationId: string, memberId: string, connectionId: string): void {
    const connections = this.#connections.get(memberId);
    if (connections?.delete(connectionId) !== true || connections.size > 0) return;
    this.#connections.delete(memberId);
    this.#own.remove(organizationId, memberId);
    if (!this.#isLive(memberId)) this.#leftAt.set(memberId, this.#monotonicMs());
    if (!this.#isOnline(organizationId)) this.#tell(organizationId, false);
    this.#store(depart, organizationId, memberId);
  }

  async online(organizationId: string): Promise<boolean> {
    return this.#isOnline(organizationId);
  }

  async present(memberIds: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(memberIds.filter((id) => this.#isLive(id)));
  }

  async memberCount(): Promise<number> {
    return new Set([...this.#own.members, ...this.#others.members]).size;
  }

  async awayMs(memberId: string): Promise<number | null> {
    if (this.#isLive(memberId)) return null;
    return this.#monotonicMs() - (this.#leftAt.get(memberId) ?? this.#started);
  }

  subscribe(listener: (organizationId: string, online: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #isLive(memberId: string): boolean {
    return this.#own.members.has(memberId) || this.#others.members.has(memberId);
  }

  #isOnline(organizationId: string): boolean {
    return this.#own.organizations.has(organizationId) || this.#others.organizations.has(organizationId);
  }

  #tell(organizationId: string, online: boolean): void {
    for (const listener of this.#listeners) listener(organizationId, online);
  }

  #store(statement: Statement, organizationId: string, memberId: string): void {
    this.#membership.change((link) => link.query(statement, [this.#nodeId, organizationId, memberId]));
    this.#membership.tell(message, '');
  }

  /** All of it goes at once, so that what changes from now on comes behind it. */
  async #tellAll(link: Link): Promise<void> {
    const own = [...this.#own.organizations].flatMap(([organization, members]) =>
      [...members].map((member) => [organization, member] as const),
    );
    const organizations = own.map(([organization]) => organization);
    const told = link.query(replaceAll, [this.#nodeId, organizations, own.map(([, member]) => member)]);
    this.#membership.tell(message, '');
    await told;
  }

  async #read(link: Link): Promise<void> {
    const { rows } = await link.query<Row>(readOthers, [this.#nodeId]);
    const before = this.#others;
    this.#others = new Live(rows);
    for (const member of before.members)
      if (!this.#isLive(member)) this.#leftAt.set(member, this.#monotonicMs());
    for (const member of this.#others.members) this.#leftAt.delete(member);
    const [was, is] = [before.organizations, this.#others.organizations];
    for (const [one] of is) if (!was.has(one) && !this.#own.organizations.has(one)) this.#tell(one, true);
    for (const [one] of was) if (!this.#isOnline(one)) this.#tell(one, false);
  }

  /** What changes while it is being read is read once more. */
  #readSoon(): void {
    this.#readAgain = true;
    if (this.#reading) return;
    this.#reading = true;
    void this.#readOn().finally(() => {
      this.#reading = false;
      if (this.#readAgain) this.#readSoon();
    });
  }

  async #readOn(): Promise<void> {
    this.#readAgain = false;
    try {
      await this.#read(await this.#membership.connected());
    } catch {
      // Without a connection nothing is heard; with the next one all of it is read.
    }
  }
}

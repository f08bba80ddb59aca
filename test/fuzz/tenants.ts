// Owns who takes part in an attack: two organizations that are in use, a third that is only attacked, and callers of
// every kind. Knows what each may never see. Must not make a request of an attack itself.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { startApp, type TestApp } from '../helpers/app.ts';
import type { HeaderMap } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { idPattern } from './inputs.ts';

export type Slug = 'acme' | 'globex' | 'quiet';
export type Kind = 'visitor' | 'operator' | 'admin' | 'reader' | 'outsider';

/** Someone who calls, and everything that they were told. */
export interface FuzzCaller {
  readonly name: string;
  readonly kind: Kind;
  readonly slug: Slug | null;
  readonly headers: HeaderMap;
  /** For a visitor the visitor's id, for a member the member's. */
  readonly id: string;
  /** Opens the WebSocket; absent for those who can't. */
  readonly client?: TestClient;
  /** Ids that they were told without having named them. */
  readonly told: Set<string>;
  /** Words of others that they were told. */
  readonly words: Set<string>;
}

const uuidPattern = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const wordPattern = /zq[a-z]+?zq/g;

/** The word that stands in everything that a caller writes. */
const wordOf = (name: string): string => `zq${name.replaceAll(/[^a-z]/g, '')}zq`;

/** Remembers what a caller was told, without what they had said themselves. */
export function remember(caller: FuzzCaller, said: string, told: string): void {
  const own = new Set(said.toLowerCase().match(uuidPattern));
  for (const id of told.toLowerCase().match(uuidPattern) ?? []) if (!own.has(id)) caller.told.add(id);
  for (const word of told.match(wordPattern) ?? []) if (!said.includes(word)) caller.words.add(word);
}

/** An acknowledged message. */
export interface Acknowledged {
  readonly id: string;
  readonly conversationId: string;
  readonly senderId: string;
}

/** Ids by the name of the field that takes them. */
type Ids = Readonly<Record<Slug, Record<string, string[]>>>;

/** The tables whose rows say whose they are. */
const ownTables = `select name from sqlite_master where type = 'table' and sql like '%"organization_id"%'`;

const kept = 20;

export class Tenants {
  readonly app: TestApp;
  readonly callers: FuzzCaller[] = [];
  readonly #acknowledged: Acknowledged[] = [];
  readonly #typedIntoViews = new Set<string>();
  readonly #acknowledgedIds = new Set<string>();
  readonly #ids: Ids = { acme: {}, globex: {}, quiet: {} };
  readonly #organizations = new Map<Slug, TestOrganization>();
  #quietRows = '';

  constructor(app: TestApp) {
    this.app = app;
  }

  /**
   * Adds an id that requests may name from now on; the oldest of many are forgotten.
   * @param caller whose own it is besides
   */
  add(slug: Slug, field: string, id: string, caller?: FuzzCaller): void {
    for (const name of caller === undefined ? [field] : [field, `${caller.name} ${field}`]) {
      const list = (this.#ids[slug][name] ??= []);
      if (list.includes(id)) continue;
      list.push(id);
      if (list.length > kept) list.shift();
    }
  }

  /** An id of an organization for a field, counted around; a fresh one where it has none. */
  id(slug: Slug, field: string, pick: number): string {
    const list = this.#ids[slug][field] ?? [];
    return list[pick % Math.max(1, list.length)] ?? randomUUID();
  }

  organization(slug: Slug): TestOrganization {
    const found = this.#organizations.get(slug);
    if (found === undefined) throw new Error(`no organization ${slug}`);
    return found;
  }

  admin(slug: Slug): FuzzCaller {
    const found = this.callers.find((one) => one.slug === slug && one.kind === 'admin');
    if (found === undefined) throw new Error(`no admin of ${slug}`);
    return found;
  }

  async populate(slug: Slug): Promise<void> {
    const { app } = this;
    const made = await createOrganization(app, slug);
    this.#organizations.set(slug, made);
    await app.local('organizations.update', {
      organization: slug,
      limits: { requestsPerMinute: 1e9, seats: 1e6 },
    });
    await app.local('organizations.update', { organization: slug, limits: { applications: 1e6 } });
    this.add(slug, 'applicationId', made.application.id);
    const [one, two] = [createVisitor(app, made.application), createVisitor(app, made.application)];
    const byKey = createVisitorByKey(app, made.application);
    const operator = await createMember(app, slug, 'operator', `${wordOf(slug)} operator`);
    const colleague = await createMember(app, slug, 'operator', `${wordOf(slug)} colleague`);
    const admin = await createMember(app, slug, 'admin', `${wordOf(slug)} admin`);
    for (const { id } of [operator, colleague, admin]) this.add(slug, 'memberId', id);
    await this.#fill(slug, made, one, operator);
    if (slug === 'quiet') return;
    const { token } = (
      await admin.call('POST', '/tokens', {
        name: 'reader',
        scopes: ['conversations:read'],
        expiresAt: new Date(app.clock.now() + 300 * 86_400_000).toISOString(),
      })
    ).body.token as { token: string };
    this.#join(`${slug}-visitor-a`, 'visitor', slug, one);
    this.#join(`${slug}-visitor-b`, 'visitor', slug, two);
    this.#join(`${slug}-key`, 'visitor', slug, byKey);
    this.#join(`${slug}-operator`, 'operator', slug, operator);
    this.#join(`${slug}-colleague`, 'operator', slug, colleague);
    this.#join(`${slug}-admin`, 'admin', slug, admin);
    this.#join(`${slug}-reader`, 'reader', slug, {
      id: admin.id,
      headers: { authorization: `Bearer ${token}` },
    });
  }

  /** What an organization has: something of every kind, with its own word in all that is text. */
  async #fill(
    slug: Slug,
    { application }: TestOrganization,
    visitor: TestClient,
    operator: TestClient,
  ): Promise<void> {
    const { app } = this;
    const word = wordOf(slug);
    await visitor.call('PUT', '/visitor', { name: word, attributes: { of: word } });
    this.add(slug, 'visitorId', visitor.id);
    const conversationId = await createConversation(visitor, word);
    this.add(slug, 'conversationId', conversationId);
    await operator.call('POST', `/conversations/${conversationId}/accept`);
    this.add(slug, 'messageId', await createMessage(visitor, conversationId, `${word} asks`));
    this.add(slug, 'messageId', await createMessage(operator, conversationId, `${word} answers`));
    const applicationId = application.id;
    const { id: keyId } = await app.local('keys.create', { applicationId, name: word });
    this.add(slug, 'keyId', keyId);
    await app.local('domains.add', { applicationId, domain: `spare.${slug}.example` });
    this.add(slug, 'domain', `spare.${slug}.example`);
    const document = await app.local('knowledge.add', {
      applicationId,
      source: `${slug}.md`,
      content: `# Opening hours\n\nThe shop of ${word} opens at nine.`,
    });
    this.add(slug, 'documentId', document.id);
    const hook = await app.local('webhooks.create', {
      organization: slug,
      url: `https://127.0.0.1:1/${word}`,
      events: ['conversation:resolved'],
    });
    this.add(slug, 'webhookId', hook.id);
    const reply = await operator.call('POST', '/canned-replies', { shortcut: word, content: word });
    assert.equal(reply.status, 201);
    this.add(slug, 'cannedReplyId', reply.body.cannedReply.id as string);
  }

  #join(
    name: string,
    kind: Kind,
    slug: Slug | null,
    from: Pick<TestClient, 'id' | 'headers'> & { call?: unknown },
  ): void {
    const address = `198.51.100.${this.callers.length + 1}`;
    this.callers.push({
      name,
      kind,
      slug,
      id: from.id,
      headers: { ...from.headers, 'x-forwarded-for': address },
      ...('connect' in from ? { client: from as TestClient } : {}),
      told: new Set(),
      words: new Set(),
    });
  }

  /** Callers who have no right, or none any more. */
  async addOutsiders(): Promise<void> {
    const { app } = this;
    const { application } = this.organization('acme');
    const removed = await createMember(app, 'acme');
    await app.local('members.remove', { memberId: removed.id });
    const { id: keyId, key } = await app.local('keys.create', { applicationId: application.id });
    await app.local('keys.revoke', { keyId });
    const join = (name: string, headers: HeaderMap): void =>
      this.#join(name, 'outsider', null, { id: randomUUID(), headers });
    join('stranger', {});
    join('removed', removed.headers);
    join('revoked', createVisitorByKey(app, { ...application, key }).headers);
    join('page of another', createVisitor(app, { ...application, origin: 'https://evil.example' }).headers);
  }

  /** Fills the places for ids and for the caller's word. */
  fill(text: string, caller: FuzzCaller): string {
    const own = caller.slug ?? 'acme';
    const slugs: Readonly<Record<string, Slug>> = {
      own,
      other: own === 'acme' ? 'globex' : 'acme',
      quiet: 'quiet',
    };
    return text
      .replaceAll('%me%', wordOf(caller.name))
      .replaceAll(idPattern, (_all, whose: string, field: string, pick: string) =>
        whose === 'mine'
          ? this.#mine(caller, field, Number(pick))
          : this.id(slugs[whose] ?? own, whose === 'fresh' ? 'none' : field, Number(pick)),
      );
  }

  /** One of the last few ids that are the caller's own; of the organization's, where they have none. */
  #mine({ slug, name }: FuzzCaller, field: string, pick: number): string {
    const list = slug === null ? [] : (this.#ids[slug][`${name} ${field}`] ?? []).slice(-3);
    return list[pick % Math.max(1, list.length)] ?? this.id(slug ?? 'acme', field, pick);
  }

  /** Remembers a message that its sender was told of as stored; the same client id again names the first one. */
  acknowledge(message: Acknowledged): void {
    if (this.#acknowledgedIds.has(message.id)) return;
    this.#acknowledgedIds.add(message.id);
    this.#acknowledged.push(message);
  }

  /** Remembers the ids in a saved view, which says what its maker typed to all who may see it. */
  keepView({ slug }: FuzzCaller, text: string): void {
    for (const id of text.toLowerCase().match(uuidPattern) ?? []) this.#typedIntoViews.add(`${slug} ${id}`);
  }

  /** To be said when everything is there, before the attack. */
  async begin(): Promise<void> {
    this.#quietRows = await this.#rowsOfQuiet();
  }

  /**
   * Every row of the organization that is only attacked, without what says when something was last used. That a
   * stranger tried to sign in is written down, as it should be.
   */
  async #rowsOfQuiet(): Promise<string> {
    const { id } = this.organization('quiet');
    const tables = await rowsOf(this.app, ownTables);
    const texts = await Promise.all(
      tables.map(async ({ name }) => {
        const rows = await rowsOf(this.app, `select * from "${String(name)}" where organization_id = ?`, id);
        const lasting = rows
          .filter(({ action }) => action !== 'session.refused')
          .map(({ last_seen_at: _seen, last_used_at: _used, position: _at, ...row }) => JSON.stringify(row));
        return `${String(name)}\n${lasting.toSorted().join('\n')}`;
      }),
    );
    return texts.join('\n\n');
  }

  /** Reads the whole store and asserts that nothing crossed a wall, and that nothing acknowledged was lost or doubled. */
  async expectWallsHeld(): Promise<void> {
    assert.equal(await this.#rowsOfQuiet(), this.#quietRows);
    const owners = await this.#owners();
    const messages = new Map(
      (
        await rowsOf(
          this.app,
          `select m.id, m.conversation_id as conversation, m.sender_id as sender, m.internal, m.seq, v.visitor_id as visitor,
          c.organization_id as organization from messages m join conversations c on c.id = m.conversation_id
          join visitors v on v.id = c.visitor_key`,
        )
      ).map((row) => [String(row['id']), row]),
    );
    for (const caller of this.callers) {
      const own = caller.slug === null ? null : this.organization(caller.slug).id;
      const foreign = [...caller.told].filter(
        (id) => owners.has(id) && owners.get(id) !== own && !this.#typedIntoViews.has(`${caller.slug} ${id}`),
      );
      assert.deepEqual({ caller: caller.name, foreign }, { caller: caller.name, foreign: [] });
      const notTheirs = [...caller.words].filter((word) => !this.#mayRead(caller, word));
      assert.deepEqual({ caller: caller.name, words: notTheirs }, { caller: caller.name, words: [] });
      if (caller.kind !== 'visitor') continue;
      const hidden = [...caller.told].filter((id) => {
        const row = messages.get(id);
        return row !== undefined && (row['internal'] === 1 || row['visitor'] !== caller.id);
      });
      assert.deepEqual({ caller: caller.name, hidden }, { caller: caller.name, hidden: [] });
    }
    await this.#expectAcknowledgedKept(messages);
  }

  async #expectAcknowledgedKept(
    messages: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  ): Promise<void> {
    const places = new Map<string, number>();
    const there = new Set(
      (await rowsOf(this.app, 'select id from conversations')).map(({ id }) => String(id)),
    );
    for (const { id, conversationId, senderId } of this.#acknowledged) {
      if (!there.has(conversationId)) continue;
      const row = messages.get(id);
      assert.deepEqual([id, row?.['conversation'], row?.['sender']], [id, conversationId, senderId]);
      const order = `${conversationId} ${senderId}`;
      const seq = Number(row?.['seq']);
      // One sender's messages lie in the order in which they were acknowledged.
      assert.ok(seq > (places.get(order) ?? 0), `message ${id} is out of its order`);
      places.set(order, seq);
    }
  }

  /** Staff read what anyone of their organization wrote; a visitor what staff and they themselves wrote. */
  #mayRead({ slug, kind, name }: FuzzCaller, word: string): boolean {
    if (slug === null || !word.startsWith(`zq${slug}`)) return false;
    return kind !== 'visitor' || word === wordOf(name) || !/zq[a-z]*(visitor|key)/.test(word);
  }

  /** The organization of every id in the store. */
  async #owners(): Promise<Map<string, string>> {
    const owners = new Map<string, string>();
    const direct = await rowsOf(
      this.app,
      `${ownTables} and exists (select 1 from pragma_table_info(sqlite_master.name) as c where c.name = 'id')`,
    );
    const queries = [
      'select id, id as organization from organizations',
      ...direct.map(({ name }) =>
        name === 'events' || name === 'visitors'
          ? `select '' as id, '' as organization where 0`
          : `select id, organization_id as organization from "${String(name)}"`,
      ),
      ...['domains', 'knowledge_passages', 'knowledge_questions'].map(
        (name) =>
          `select t.id, a.organization_id as organization from "${name}" t join applications a on a.id = t.application_id`,
      ),
      'select d.id, w.organization_id as organization from webhook_deliveries d join webhooks w on w.id = d.webhook_id',
    ];
    for (const query of queries)
      for (const { id, organization } of await rowsOf(this.app, query))
        owners.set(String(id), String(organization));
    return owners;
  }
}

/** Starts a server with everybody on it. */
export async function startTenants(): Promise<Tenants> {
  const app = await startApp({
    flags: { trustProxy: '1', maxConnectionsPerVisitor: '1000', maxConnectionsPerAddress: '1000' },
    // Deliveries are refused by this machine at once, instead of asking a name server.
    environment: { DESKBELL_WEBHOOK_PRIVATE: 'allow' },
  });
  const tenants = new Tenants(app);
  for (const slug of ['acme', 'globex', 'quiet'] as const) await tenants.populate(slug);
  await tenants.addOutsiders();
  await tenants.begin();
  return tenants;
}

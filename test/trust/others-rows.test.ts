// What one does leaves everybody else's as it was: two organizations, and within one of them two of everything, alike
// in every name, address and key. Whatever is done to the one, no row of the others changes, and no list shows them.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runMaintenance } from '../../src/services/data/maintenance.ts';
import { hasFolder, startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { uploadFile } from '../helpers/files.ts';
import {
  createApplication,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  memberPassword,
  type TestApplication,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const domain = 'shop.example';
const visitorId = randomUUID();
const day = 86_400_000;

/** What an application has, with those who work for it. */
interface Side {
  readonly slug: string;
  readonly application: TestApplication;
  readonly admin: TestMember;
  readonly operator: TestMember;
  readonly visitor: TestClient;
  readonly conversation: string;
  readonly messages: readonly string[];
}

type Rows = ReadonlyMap<string, readonly string[]>;

let app: TestApp;
/** Comes last. */
let acme: TestOrganization | undefined;
let theirs: Side;
let kept: Side;
let acted: Side;
/** Every row before the other organization has anything. */
let alone: Rows;
/** Every row before anything is done to the one side. */
let before: Rows;

async function ok(reply: Promise<Reply>): Promise<Reply['body']> {
  const { status, text, body } = await reply;
  expect(status, text).toBeLessThan(300);
  return body;
}

const asAdmin = ({ admin }: Side, method: string, path: string, body?: unknown): Promise<Reply['body']> =>
  ok(request(app.url, method, `/api/v1/admin${path}`, admin.headers, body));

const asOperator = (
  { operator }: Side,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply['body']> => ok(operator.call(method, path, body));

/** Makes one of everything that is made by a request. */
async function aSide(slug: string, application: TestApplication, shortcut = 'hello'): Promise<Side> {
  const admin = await createMember(app, slug, 'admin', 'Ada');
  const operator = await createMember(app, slug, 'operator', 'Otto');
  const visitor = createVisitor(app, application, visitorId);
  await ok(visitor.call('PUT', '/visitor', { email: 'rosa@example.net', name: 'Rosa' }));
  const begun = await ok(
    visitor.call('POST', '/conversations', { subject: 'Parcel' }, { 'idempotency-key': 'first' }),
  );
  const conversation: string = begun.conversation.id;
  const messages = [await createMessage(visitor, conversation, 'Where is it?')];
  const file = await ok(uploadFile(app, visitor, Buffer.from('a file'), { type: 'text/plain' }));
  await ok(
    visitor.call('POST', `/conversations/${conversation}/messages`, {
      content: 'see',
      attachments: [file.file.id],
      clientMessageId: 'one',
    }),
  );
  // One more that is not sent yet.
  await ok(uploadFile(app, visitor, Buffer.from('another file'), { type: 'text/plain' }));
  const side = { slug, application, admin, operator, visitor, conversation, messages };
  await asOperator(side, 'POST', `/conversations/${conversation}/accept`);
  messages.push(await createMessage(operator, conversation, 'On its way.'));
  await ok(visitor.call('POST', `/conversations/${conversation}/read`, { messageId: messages[1] }));
  await asOperator(side, 'PUT', `/conversations/${conversation}/tags/urgent`);
  await asOperator(side, 'PUT', `/conversations/${conversation}/draft`, { content: 'Perhaps' });
  await asOperator(side, 'PATCH', `/conversations/${conversation}`, { priority: 'high' });
  const until = new Date(app.clock.now() + 90 * day).toISOString();
  await asOperator(side, 'POST', `/conversations/${conversation}/snooze`, { until });
  await asOperator(side, 'POST', '/views', { name: 'mine', query: { status: 'pending' } });
  await ok(admin.call('POST', '/views', { name: 'ours', query: { tag: 'urgent' }, shared: true }));
  await asOperator(side, 'PUT', '/notifications', { preview: 'none' });
  await asOperator(side, 'POST', '/me/totp', { password: memberPassword });
  await asOperator(side, 'POST', '/me/passkeys/options', { password: memberPassword });
  await rowsOf(
    app,
    `insert into member_passkeys (id, organization_id, member_id, name, credential_id, public_key, counter, transports, created_at)
     select ?, organization_id, id, 'key', ?, '', 0, '[]', 0 from members where id = ?`,
    randomUUID(),
    randomUUID(),
    operator.id,
  );
  await rowsOf(
    app,
    'insert into recovery_codes (member_id, digest) values (?, ?)',
    operator.id,
    randomUUID(),
  );
  await asOperator(side, 'POST', '/canned-replies', { shortcut, content: 'Hello!' });
  const server = { url: `smtps://desk:secret@mail.${slug}.example`, address: `desk@${slug}.example` };
  await asAdmin(side, 'PATCH', '/email', { server });
  await asOperator(side, 'POST', '/tokens', {
    name: 'robot',
    scopes: ['conversations:read'],
    expiresAt: until,
  });
  await asAdmin(side, 'POST', '/members/invitations', {
    email: `${randomUUID()}@shop.example`,
    name: 'Ina',
    role: 'operator',
  });
  await asAdmin(side, 'POST', '/webhooks', { url: 'https://hooks.example/a', events: ['message:new'] });
  await asAdmin(side, 'POST', '/knowledge', {
    applicationId: application.id,
    source: 'a.md',
    title: 'Returns',
    content: '# Returns\n\nA parcel may be returned within 14 days.',
  });
  await asAdmin(side, 'PUT', `/applications/${application.id}/synonyms`, { synonyms: [['parcel', 'box']] });
  await asAdmin(side, 'POST', '/email/keys', { applicationId: application.id });
  await asOperator(side, 'PUT', `/visitors/${visitorId}/block`, {
    applicationId: application.id,
    address: slug === 'globex',
  });
  return side;
}

/** Every row of every table that is not an index or the server's own. */
async function allRows(): Promise<Rows> {
  if (!hasFolder) return new Map();
  const tables = await rowsOf(
    app,
    `select name from sqlite_master where type = 'table' and sql not like 'CREATE VIRTUAL%'
     and name not like 'sqlite_%' and name not like '%search%' and name not like 'knowledge_heading%' and name <> 'meta'`,
  );
  const found = new Map<string, readonly string[]>();
  for (const { name } of tables) {
    const rows = await rowsOf(app, `select * from "${String(name)}"`);
    // What is of an organization as a whole, and changes with anything in it.
    const isWhole = ({ slug, organization_id: id = '' }: Readonly<Record<string, unknown>>): boolean =>
      (name === 'organizations' && slug === 'acme') ||
      (['file_totals', 'mail_settings'].includes(String(name)) && id === acme?.id);
    const others = rows.filter((row) => !isWhole(row));
    found.set(
      String(name),
      // How far the log was read moves by itself.
      others.map(({ position: _, ...row }) => JSON.stringify(row)),
    );
  }
  return found;
}

/** Rows once nothing moves any more: numbers in the log and in a conversation come a moment later. */
function settledRows(): Promise<Rows> {
  return eventually(async () => {
    const rows = await allRows();
    await new Promise((resolve) => setImmediate(resolve));
    expect([...(await allRows())]).toEqual([...rows]);
    return rows;
  });
}

beforeAll(async () => {
  app = await startApp({ flags: { baseUrl: 'https://chat.example', trustProxy: '1' } });
  const globex = await createOrganization(app, 'globex');
  await app.local('domains.add', { applicationId: globex.application.id, domain });
  theirs = await aSide('globex', globex.application);
  alone = await settledRows();
  acme = await createOrganization(app, 'acme');
  await app.local('domains.add', { applicationId: acme.application.id, domain });
  kept = await aSide('acme', acme.application);
  before = await settledRows();
  const second = await createApplication(app, 'acme', 'second.example');
  await app.local('domains.add', { applicationId: second.id, domain });
  acted = await aSide('acme', second, 'hi');
});

afterAll(async () => {
  await app.stop();
});

async function expectOthersUntouched(act: string, others = before): Promise<void> {
  const now = await allRows();
  for (const [table, rows] of others) {
    const left = new Set(now.get(table));
    expect([act, table, rows.filter((row) => !left.has(row))]).toEqual([act, table, []]);
  }
}

/** What is done to the one side, by what it is called. */
function acts(): readonly (readonly [string, () => Promise<unknown>])[] {
  const { application, conversation, visitor, operator, messages } = acted;
  const at = `/applications/${application.id}`;
  const talk = `/conversations/${conversation}`;
  const one = async (path: string, list: string, by = asAdmin): Promise<Reply['body']> =>
    (await by(acted, 'GET', `${path}${path.includes('?') ? '&' : '?'}limit=100`))[list].find(
      ({ id, applicationId = application.id }: { readonly id: string; readonly applicationId?: string }) =>
        applicationId === application.id && !hadBefore(id),
    );
  return [
    ['settings', () => asAdmin(acted, 'PATCH', at, { name: 'Other', behavior: { greeting: 'Hi' } })],
    ['identity secret', () => asAdmin(acted, 'POST', `${at}/identity-secret`)],
    ['domain', () => asAdmin(acted, 'DELETE', `${at}/domains/${domain}`)],
    ['key', async () => asAdmin(acted, 'DELETE', `${at}/keys/${(await one(`${at}/keys`, 'keys')).id}`)],
    ['synonyms', () => asAdmin(acted, 'PUT', `${at}/synonyms`, { synonyms: [] })],
    ['mail key', () => asAdmin(acted, 'POST', '/email/keys', { applicationId: application.id })],
    [
      'unblock',
      () => asOperator(acted, 'DELETE', `/visitors/${visitorId}/block?applicationId=${application.id}`),
    ],
    [
      'visitor',
      () => ok(visitor.call('PUT', '/visitor', { name: 'Rosalind' }, { 'x-forwarded-for': '198.51.100.7' })),
    ],
    ['read', () => ok(visitor.call('POST', `${talk}/read`, { messageId: messages[1] }))],
    ['edit', () => ok(visitor.call('PATCH', `${talk}/messages/${messages[0]}`, { content: 'Where?' }))],
    ['delete a message', () => ok(visitor.call('DELETE', `${talk}/messages/${messages[0]}`))],
    ['draft', () => asOperator(acted, 'DELETE', `${talk}/draft`)],
    ['untag', () => asOperator(acted, 'DELETE', `${talk}/tags/urgent`)],
    ['wake', () => asOperator(acted, 'DELETE', `${talk}/snooze`)],
    ['unread', () => asOperator(acted, 'POST', `${talk}/unread`, {})],
    ['hand on', () => asOperator(acted, 'POST', `${talk}/transfer`, { memberId: acted.admin.id })],
    ['resolve', () => ok(acted.admin.call('POST', `${talk}/resolve`))],
    ['reopen', () => ok(acted.admin.call('POST', `${talk}/reopen`))],
    [
      'view',
      async () => asOperator(acted, 'DELETE', `/views/${(await one('/views', 'views', asOperator)).id}`),
    ],
    ['notifications', () => asOperator(acted, 'PUT', '/notifications', { preview: 'text' })],
    [
      'webhook off',
      async () =>
        asAdmin(acted, 'PATCH', `/webhooks/${(await one('/webhooks', 'webhooks')).id}`, { enabled: false }),
    ],
    ['webhook', async () => asAdmin(acted, 'DELETE', `/webhooks/${(await one('/webhooks', 'webhooks')).id}`)],
    [
      'token',
      async () => asOperator(acted, 'DELETE', `/tokens/${(await one('/tokens', 'tokens', asOperator)).id}`),
    ],
    [
      'canned reply, other words',
      async () =>
        asOperator(
          acted,
          'PATCH',
          `/canned-replies/${(await one('/canned-replies', 'cannedReplies', asOperator)).id}`,
          { content: 'Hi' },
        ),
    ],
    [
      'canned reply',
      async () =>
        asOperator(
          acted,
          'DELETE',
          `/canned-replies/${(await one('/canned-replies', 'cannedReplies', asOperator)).id}`,
        ),
    ],
    [
      'own password',
      () =>
        asOperator(acted, 'PATCH', '/me', {
          password: 'a stable of staples 8',
          currentPassword: memberPassword,
        }),
    ],
    ['second factor', () => asAdmin(acted, 'DELETE', `/members/${operator.id}/second-factor`)],
    ['role', () => asAdmin(acted, 'PATCH', `/members/${operator.id}`, { role: 'admin' })],
    ['sign out', () => asAdmin(acted, 'DELETE', `/members/${operator.id}/sessions`)],
    [
      'password',
      () => asAdmin(acted, 'PATCH', `/members/${operator.id}`, { password: 'a battery of horses 7' }),
    ],
    ['disable', () => asAdmin(acted, 'PATCH', `/members/${operator.id}`, { disabled: true })],
    ['member', () => asAdmin(acted, 'DELETE', `/members/${operator.id}`)],
    [
      'document',
      async () =>
        asAdmin(
          acted,
          'DELETE',
          `/knowledge/${(await one(`/knowledge?applicationId=${application.id}`, 'documents')).id}`,
        ),
    ],
    ['maintenance', () => runMaintenance(app.service)],
    ['purge', () => app.local('retention.purge', {})],
    ['erase', () => asAdmin(acted, 'DELETE', `/visitors/${visitorId}?applicationId=${application.id}`)],
    ['application', () => asAdmin(acted, 'DELETE', at)],
    ['organization', () => asAdmin(acted, 'PATCH', '/organization', { name: 'Acme & Sons' })],
    ['plan', () => app.local('organizations.update', { organization: 'acme', plan: 'premium' })],
    [
      'back to the plan',
      () => app.local('organizations.update', { organization: 'acme', plan: 'enterprise' }),
    ],
  ];
}

/** Whether a row was there before the one side was. */
function hadBefore(id: string): boolean {
  return [...before.values()].some((rows) => rows.some((row) => row.includes(id)));
}

it.runIf(hasFolder)('whatever is done to one changes no row of another', async () => {
  await expectOthersUntouched('making them');
  for (const [name, act] of acts()) {
    await act();
    await expectOthersUntouched(name);
  }
});

it('what names another’s is not found, and nothing of it is in a list', async () => {
  const passkeys = await rowsOf(
    app,
    'select id from member_passkeys where member_id = ?',
    theirs.operator.id,
  );
  const blocks = await rowsOf(app, 'select id from address_blocks');
  expect([passkeys.length, blocks.length]).toEqual([1, 1]);
  for (const [method, path, body] of [
    ['POST', `/me/passkeys/${String(passkeys[0]?.['id'])}/remove`, { password: memberPassword }],
    ['DELETE', `/blocks/${String(blocks[0]?.['id'])}`, undefined],
  ] as const)
    expect([path, (await kept.operator.call(method, path, body)).status]).toEqual([path, 404]);
  expect(await rowsOf(app, 'select id from address_blocks')).toEqual(blocks);
  const ids = await Promise.all(
    [
      'members',
      'applications',
      'webhooks',
      'conversations',
      'tags',
      'staff_sessions',
      'member_passkeys',
      'views',
      'canned_replies',
      'address_blocks',
      'api_keys',
    ].map((table) =>
      rowsOf(
        app,
        `select id from ${table} where organization_id = (select id from organizations where slug = 'globex')`,
      ),
    ),
  );
  const foreign = ids.flat().map(({ id }) => String(id));
  expect(foreign.length).toBeGreaterThan(8);
  const lists = [
    ...[
      '/blocks',
      '/conversations',
      '/canned-replies',
      '/tags',
      '/views',
      '/members',
      '/sessions',
      '/tokens',
      '/push',
      '/me/passkeys',
    ].map((path) => kept.operator.call('GET', path)),
    ...['/members', '/applications', '/webhooks', '/audit', '/email', '/email/deliveries'].map((path) =>
      request(app.url, 'GET', `/api/v1/admin${path}?limit=100`, kept.admin.headers),
    ),
  ];
  for (const { status, text } of await Promise.all(lists)) {
    expect(status, text).toBe(200);
    expect([...foreign, 'mail.globex.example'].filter((word) => text.includes(word))).toEqual([]);
  }
});

it('the same address is another member in each organization, with a password of its own', async () => {
  const email = 'both@example.net';
  const passwords = { globex: 'a first password 12', acme: 'a second password 34' };
  const add = (organization: string, password: string): Promise<{ readonly id: string }> =>
    app.local('members.add', { organization, email, name: organization, role: 'operator', password });
  const ids = {
    globex: (await add('globex', passwords.globex)).id,
    acme: (await add('acme', passwords.acme)).id,
  };
  for (const organization of ['globex', 'acme'] as const)
    for (const [of, password] of Object.entries(passwords)) {
      const { status, body } = await request(
        app.url,
        'POST',
        '/api/v1/staff/session',
        {},
        { organization, email, password },
      );
      expect([organization, of, status]).toEqual([organization, of, of === organization ? 201 : 401]);
      expect(body.member?.id).toBe(of === organization ? ids[organization] : undefined);
    }
});

it.runIf(hasFolder)('what is of a whole organization goes without anything of another', async () => {
  const { tags } = await asOperator(kept, 'GET', '/tags');
  const urgent = tags.find(({ name }: { readonly name: string }) => name === 'urgent').id;
  await asOperator(kept, 'PATCH', `/tags/${urgent}`, { name: 'later' });
  await expectOthersUntouched('another name for a tag', alone);
  await ok(kept.admin.call('DELETE', `/tags/${urgent}`));
  await expectOthersUntouched('deleting a tag', alone);
  await app.local('organizations.delete', { organization: 'acme' });
  await expectOthersUntouched('deleting the organization', alone);
});

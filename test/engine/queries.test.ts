// The contract of repositories.ts where databases differ: folding of letters, order of texts and of nulls, JSON, lists.
// Once for the engine as it is and once behind the hostile wrapper.
import type { NewMessage } from '../../src/engine/repositories/messages.ts';
import { createRunner } from '../../src/engine/sqlite/runner.ts';
import { LogEnd } from '../../src/engine/sqlite/log-end.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';
import {
  createMessagesRepository,
  insertNumberedMessage,
  valuesOf,
} from '../../src/engine/sqlite/repositories/messages.ts';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine, Tx } from '../../src/engine/engine.ts';
import type {
  AiLogRow,
  ApplicationRow,
  ConversationRow,
  EffectRow,
  KnowledgeDocumentRow,
  MemberRow,
  WebhookDeliveryRow,
} from '../../src/engine/rows.ts';
import { wholeLog } from '../../src/engine/repositories/log-stretches.ts';
import { contractEngines } from '../helpers/contract-engines.ts';
import { newMessage } from '../helpers/new-message.ts';

const organization = {
  id: 'o',
  slug: 'o',
  name: 'O',
  plan: 'free',
  requests_per_minute: null,
  retention_days: null,
  max_applications: null,
  max_seats: null,
  own_retention_days: null,
  max_file_bytes: null,
  release_after_minutes: null,
  second_factor: 'off',
  escalation: '[]',
  plan_changed_at: 0,
  created_at: 0,
} as const;
const application = (id: string, settings = '{}'): ApplicationRow => ({
  id,
  organization_id: 'o',
  name: id,
  settings,
  identity_secret: new Uint8Array(1),
  created_at: 0,
});
const conversation = (id: string, more: Partial<ConversationRow> = {}): ConversationRow => ({
  id,
  organization_id: 'o',
  application_id: 'a',
  visitor_key: 'v',
  mode: 'live',
  status: 'pending',
  subject: null,
  assigned_to: null,
  resolved_by: null,
  resolved_at: null,
  last_seq: 0,
  waiting_since: null,
  first_response_at: null,
  idempotency_key: null,
  assistant_muted_at: null,
  priority: 'normal',
  snoozed_until: null,
  last_visitor_seq: 0,
  channel: null,
  continues: null,
  mail_stopped_at: null,
  created_at: 1,
  updated_at: 1,
  ...more,
});
const document = (application_id: string, source: string): KnowledgeDocumentRow => ({
  id: `${application_id} ${source}`,
  organization_id: 'o',
  application_id,
  source,
  title: source,
  url: null,
  format: 'text',
  content: '',
  edition: 0,
  created_at: 0,
  updated_at: 0,
});
const delivery = (id: string, event_seq: number | null): WebhookDeliveryRow => ({
  id,
  webhook_id: 'w',
  type: event_seq === null ? 'webhook:test' : 'conversation:released',
  event_seq,
  event_at: 0,
  conversation_id: null,
  actor_id: null,
  message_id: null,
  member_id: null,
  in_turn: 0,
  status: 'waiting',
  attempts: 0,
  next_attempt_at: 5,
  give_up_at: 9,
  last_attempt_at: null,
  duration_ms: null,
  response_status: null,
  error: null,
  created_at: 1,
});
const question = (id: string, application_id: string | null): AiLogRow => ({
  id,
  organization_id: 'o',
  application_id,
  visitor_key: null,
  conversation_id: 'c',
  mode: 'live',
  door: 'answer',
  actor: 'visitor:v',
  question: 'Where?',
  answer: null,
  outcome: 'offered',
  sources: '[]',
  model: null,
  duration_ms: 0,
  created_at: 1,
  chosen: null,
  settled_at: null,
});

describe.each(contractEngines)('%s', (_name, open) => {
  let engine: Engine;
  let remove: () => Promise<void>;

  beforeEach(async () => {
    ({ engine, remove } = await open());
    await write(async ({ repositories: { organizations, applications, visitors } }) => {
      await organizations.insert(organization);
      await applications.insert(application('a'));
      await visitors.insert({
        id: 'v',
        visitor_id: 'v',
        organization_id: 'o',
        application_id: 'a',
        mode: 'live',
        name: 'Zoë 100% O_Neil',
        email: 'Zoe@Example.COM',
        verified: 0,
        attributes: '{}',
        created_at: 0,
        verified_fields: '',
        address_digest: null,
      });
    });
  });

  afterEach(() => remove());

  const write = (work: (tx: Tx) => Promise<unknown>): Promise<unknown> => engine.store.write('server', work);

  it.each([
    ['zoe@EXAMPLE.com', true],
    ['ZOë', true],
    // Letters beyond ASCII have cases, too, and are no letters of ASCII.
    ['ZOË', true],
    ['ZOÈ', false],
    ['100%', true],
    // What is a pattern elsewhere is a text here.
    ['1%0', false],
    ['o_n', true],
    ['o_N', true],
    ['0_% ', false],
    ['\\', false],
  ])('the queue finds %j in a name or an address: %j', async (text, found) => {
    await write(({ repositories }) => repositories.conversations.insert(conversation('c')));
    const filter = { organizationId: 'o', matching: [], text };
    const { total } = await engine.store.read(async ({ repositories: { conversations } }) => {
      const { through } = await conversations.stretchByState('o', 'live', 'pending', 0, 10);
      const stretch = { mode: 'live', status: 'pending', after: 0, through: through ?? 0 } as const;
      return conversations.queueOfStretch(filter, stretch, 'queue', 10);
    });
    expect(total).toBe(found ? 1 : 0);
  });

  it('documents come in the order of the bytes of their source, of one application or of all', async () => {
    const sources = ['é', 'b', 'Z', 'a', '😀', '\u{ff5e}'];
    await write(async ({ repositories: { applications, knowledge } }) => {
      await applications.insert(application('b'));
      for (const source of sources) await knowledge.insert(document('b', source));
      await knowledge.insert(document('a', 'x'));
    });
    const list = async (of: string | null): Promise<string[]> =>
      (await engine.store.read(({ repositories }) => repositories.knowledge.list('o', of, 10, 0))).map(
        ({ source }) => source,
      );
    const ordered = ['Z', 'a', 'b', 'é', '\u{ff5e}', '😀'];
    expect(await list('b')).toEqual(ordered);
    expect(await list(null)).toEqual(['x', ...ordered]);
    expect(await engine.store.read(({ repositories }) => repositories.knowledge.count('o', null))).toBe(7);
    expect(await engine.store.read(({ repositories }) => repositories.knowledge.count('o', 'a'))).toBe(1);
  });

  it('of deliveries of one time, those without an event are due first and listed last', async () => {
    await write(async ({ repositories: { webhooks } }) => {
      await webhooks.insert({
        id: 'w',
        organization_id: 'o',
        url: 'https://example.com/',
        events: null,
        sealed: new Uint8Array(1),
        enabled: 1,
        previous_sealed: null,
        previous_until: null,
        position: 0,
        created_at: 0,
      });
      for (const [id, seq] of [
        ['two', 2],
        ['test', null],
        ['one', 1],
      ] as const)
        await webhooks.insertDelivery(delivery(id, seq));
    });
    const { due, all, waiting, some } = await engine.store.read(async ({ repositories: { webhooks } }) => ({
      due: await webhooks.due('w', 5, 9, 10),
      all: await webhooks.log.page({ webhookId: 'w' }, wholeLog, 10, 0),
      waiting: await webhooks.countWaiting('w', 10),
      some: await webhooks.countWaiting('w', 2),
    }));
    expect(due.map(({ id }) => id)).toEqual(['test', 'one', 'two']);
    expect(all.map(({ id }) => id)).toEqual(['two', 'one', 'test']);
    expect([waiting, some]).toEqual([3, 2]);
  });

  it('the questions of one application, of all, and of no application at all are told apart', async () => {
    await write(async ({ repositories: { aiLog, conversations } }) => {
      await conversations.insert(conversation('c'));
      await aiLog.insert(question('1', 'a'));
      await aiLog.insert(question('2', null));
      await aiLog.insert(question('3', 'a'));
    });
    const ids = async (of: string | null): Promise<string[]> =>
      (
        await engine.store.read(({ repositories }) =>
          repositories.aiLog.log.page({ organizationId: 'o', applicationId: of }, wholeLog, 10, 0),
        )
      ).map(({ id }) => id);
    expect(await ids('a')).toEqual(['3', '1']);
    expect(await ids(null)).toEqual(['3', '2', '1']);
    const scope = { organization_id: 'o', application_id: 'a', mode: 'live', cutoff: 2 } as const;
    await write(({ repositories }) => repositories.aiLog.removeOld(scope, 10));
    expect(await ids(null)).toEqual(['2']);
  });

  it('of questions of one time the one with the greatest id is the newest, and a list of any length settles them', async () => {
    await write(async ({ repositories: { aiLog, conversations } }) => {
      await conversations.insert(conversation('c'));
      for (const id of ['2', '3', '1']) await aiLog.insert(question(id, 'a'));
      expect(await aiLog.setChosen('c', 'passage')).toBe(1);
    });
    const gaps = (): Promise<AiLogRow[]> =>
      engine.store.read(({ repositories }) => repositories.aiLog.gaps('a', 10));
    expect((await gaps()).map(({ id, chosen }) => [id, chosen])).toEqual([
      ['3', 'passage'],
      ['2', null],
      ['1', null],
    ]);
    await write(({ repositories }) => repositories.aiLog.settle('a', [], 7));
    expect(await gaps()).toHaveLength(3);
    await write(({ repositories }) => repositories.aiLog.settle('a', ['1', '3', 'x"\\'], 7));
    expect((await gaps()).map(({ id }) => id)).toEqual(['2']);
  });

  it('an assistant answers by itself where the settings of the application say so', async () => {
    const settings = ['{}', '{"ai":{}}', '{"ai":{"mode":null}}', '{"ai":{"mode":"assist"}}'];
    await write(async ({ repositories: { applications, conversations } }) => {
      for (const [index, text] of settings.entries())
        await applications.insert(application(`n${index}`, text));
      for (const id of ['a', 'n3'])
        await conversations.insert(conversation(`c-${id}`, { application_id: id }));
    });
    const found = async (): Promise<unknown[]> =>
      engine.store.read(async ({ repositories: { aiLog } }) => [
        await aiLog.automaticOrganizations(),
        (await aiLog.unanswered({ updated_at: 0, id: '' }, 10)).map(({ id }) => id),
        await aiLog.automaticOrganizations('o'),
        (await aiLog.unanswered({ updated_at: 0, id: '' }, 10, 'o')).map(({ id }) => id),
        await aiLog.automaticOrganizations('p'),
        (await aiLog.unanswered({ updated_at: 0, id: '' }, 10, 'p')).map(({ id }) => id),
      ]);
    expect(await found()).toEqual([[], [], [], [], [], []]);
    await write(({ repositories }) => repositories.applications.setSettings('a', '{"ai":{"mode":"auto"}}'));
    expect(await found()).toEqual([['o'], ['c-a'], ['o'], ['c-a'], [], []]);
  });

  it('answers that no mail carries are those of members, after a place, in their order', async () => {
    const operator = { sender_role: 'operator' } as const;
    const given: readonly (readonly [string, Partial<NewMessage>])[] = [
      ['before', operator],
      ['question', {}],
      ['note', { ...operator, internal: 1 }],
      ['deleted', { ...operator, deleted_at: 1 }],
      ['mailed', operator],
      ['first', operator],
      ['second', operator],
      ['third', operator],
    ];
    await write(async ({ repositories: { conversations, messages } }) => {
      await conversations.insert(conversation('c'));
      const one = { conversation_id: 'c', organization_id: 'o', sender_id: 's', created_at: 1 };
      for (const [id, more] of given) await messages.append(newMessage({ id, ...one, ...more }), 'other');
      await messages.setEmailed('mailed', 'sent', 2);
    });
    const answers = await engine.store.read(({ repositories }) =>
      repositories.messages.unmailedAnswers('c', 1, 2),
    );
    expect(answers.map(({ id }) => id)).toEqual(['first', 'second']);
  });

  it('what a member was told last of a conversation is found by kind, matter and member', async () => {
    const member = (id: string): MemberRow => ({
      id,
      organization_id: 'o',
      email: `${id}@example.com`,
      name: id,
      role: 'operator',
      password_hash: '',
      disabled_at: null,
      created_at: 0,
      locale: null,
      timezone: null,
      signature: '',
      notifications: '{}',
    });
    const effect = (id: string, created_at: number, more: Partial<EffectRow> = {}): EffectRow => ({
      id,
      organization_id: 'o',
      kind: 'mail',
      key: id,
      about: 'member-reply',
      conversation_id: 'c',
      message_id: null,
      member_id: 'm',
      recipient: null,
      payload: '{}',
      sealed: null,
      state: 'skipped',
      attempts: 0,
      due_at: null,
      give_up_at: 9,
      last_attempt_at: null,
      duration_ms: null,
      error: null,
      created_at,
      ...more,
    });
    await write(async ({ repositories: { conversations, effects, members } }) => {
      for (const id of ['c', 'd']) await conversations.insert(conversation(id));
      for (const id of ['m', 'n']) await members.insert(member(id));
      for (const row of [
        effect('early', 1),
        effect('late', 2),
        effect('push', 3, { kind: 'push' }),
        effect('new', 3, { about: 'member-new' }),
        effect('elsewhere', 3, { conversation_id: 'd' }),
        effect('other', 3, { member_id: 'n' }),
      ])
        await effects.insert(row);
    });
    const last = (memberId: string) =>
      engine.store.read(({ repositories }) =>
        repositories.effects.newestOfMember('mail', 'member-reply', 'c', memberId),
      );
    expect((await last('m'))?.id).toBe('late');
    expect(await last('none')).toBeUndefined();
  });
});

it('a message’s values are laid out as its statement has them', () => {
  const row: NewMessage = {
    id: 'id',
    conversation_id: 'conversation',
    organization_id: 'organization',
    sender_id: 'sender',
    sender_role: 'visitor',
    sender_label: 'label',
    content: 'content',
    content_format: 'plain',
    content_html: 'html',
    content_text: 'text',
    internal: 1,
    choices: 'choices',
    choice: 'choice',
    attachments: 'attachments',
    client_message_id: 'client id',
    created_at: 1,
    edited_at: 2,
    deleted_at: 3,
  };
  expect(valuesOf(row, 8, 7)).toEqual(
    insertNumberedMessage.bind({ number: 8, ...row, seq: 7, changed_seq: 7 }),
  );
});

describe('a message', () => {
  /** Every column of a new message, and another value than it has in plain text with nothing beside it. */
  const others: Omit<NewMessage, 'id' | 'conversation_id' | 'organization_id' | 'sender_id' | 'created_at'> =
    {
      sender_role: 'operator',
      sender_label: 'label',
      content: 'other',
      content_format: 'lexical',
      content_html: '<p>html</p>',
      content_text: 'text',
      internal: 1,
      choices: '[]',
      choice: 'choice',
      attachments: '[]',
      client_message_id: 'client id',
      edited_at: 2,
      deleted_at: 3,
    };
  let db: Database.Database;
  beforeEach(async () => {
    db = new Database(':memory:');
    await migrate(db, () => Promise.resolve());
    db.pragma('foreign_keys = OFF');
    db.exec(`insert into visitors (id, visitor_id, organization_id, application_id, mode, verified, attributes, created_at)
        values ('v', 'v', 'o', 'a', 'live', 0, '{}', 0);
      insert into conversations (id, organization_id, application_id, visitor_key, mode, status, last_seq, created_at, updated_at)
        values ('c', 'o', 'a', 'v', 'live', 'pending', 0, 0, 0)`);
  });
  afterEach(() => void db.close());

  it.each([{}, ...Object.entries(others).map(([column, value]) => ({ [column]: value }))])(
    'is stored whole: plain, with %o',
    async (other) => {
      const row = newMessage({
        id: 'm',
        conversation_id: 'c',
        organization_id: 'o',
        sender_id: 's',
        created_at: 1,
        ...other,
      });
      const runner = createRunner(db);
      await createMessagesRepository(runner, undefined, new LogEnd(runner.direct)).append(row, 'visitor');
      expect(db.prepare('select * from messages').get()).toEqual({
        ...row,
        number: 1,
        seq: 1,
        changed_seq: 1,
        via: null,
        mail_id: null,
        emailed: null,
        emailed_at: null,
      });
      expect(
        db
          .prepare(
            'select last_seq, last_visitor_seq, waiting_since, first_response_at, updated_at from conversations',
          )
          .get(),
      ).toEqual({
        last_seq: 1,
        last_visitor_seq: 1,
        waiting_since: 1,
        first_response_at: null,
        updated_at: 1,
      });
    },
  );
});

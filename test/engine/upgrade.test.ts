// Every earlier schema, with data in it, brought to the newest: everything is still
// there, in order, can be found, and a copy of what was before lies beside it.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { createApp, type App } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { migrate, schemaVersion } from '../../src/engine/sqlite/migrate.ts';
import { createLog } from '../../src/log.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { VisitorActor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { readSettings } from '../../src/services/tenants/settings.ts';
import { searchMessages, updateSearchIndex } from '../../src/services/chat/search.ts';

let app: App | null = null;
let folder = '';

afterEach(async () => {
  await app?.stop();
  await rm(folder, { recursive: true, force: true });
});

const ids = {
  organization: randomUUID(),
  application: randomUUID(),
  visitorKey: randomUUID(),
  visitor: randomUUID(),
  conversation: randomUUID(),
};
/** As the first release stored them: settings that came later are not among these. */
const firstSettings = {
  appearance: {
    colors: { primary: '#123456', background: '#ffffff', text: '#111827' },
    logo: null,
    position: 'bottom-left',
    launcherIcon: 'chat',
  },
  behavior: { timezone: 'Europe/Berlin', businessHours: null, greeting: 'Moin', outsideHours: null },
  ai: { mode: 'off', name: 'Assistant' },
  locale: 'de',
};
const texts = ['first parcel', 'second parcel', 'third parcel'];

/** A database as the program of an earlier schema left it; the tables of the first schema have not changed since. */
async function anOldFolder(version: number): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-upgrade-'));
  await writeFile(join(folder, 'secret.key'), randomBytes(32).toString('base64'), { mode: 0o600 });
  const connection = openConnection(databaseFile(folder), { durability: 'full', lockTimeoutMs: 1_000 });
  await migrate(connection, async () => undefined, migrations.slice(0, version));
  const insert = (table: string, row: Record<string, unknown>): void => {
    const names = Object.keys(row);
    connection
      .prepare(`insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`)
      .run(...Object.values(row));
  };
  const now = Date.now();
  const { organization, application, visitorKey, visitor, conversation } = ids;
  insert('organizations', {
    id: organization,
    slug: 'old',
    name: 'Old',
    plan: 'enterprise',
    plan_changed_at: now,
    created_at: now,
  });
  insert('applications', {
    id: application,
    organization_id: organization,
    name: 'Shop',
    settings: JSON.stringify(firstSettings),
    identity_secret: randomBytes(48),
    created_at: now,
  });
  insert('visitors', {
    id: visitorKey,
    visitor_id: visitor,
    organization_id: organization,
    application_id: application,
    mode: 'live',
    verified: 0,
    attributes: '{}',
    created_at: now,
  });
  insert('conversations', {
    id: conversation,
    organization_id: organization,
    application_id: application,
    visitor_key: visitorKey,
    mode: 'live',
    status: 'pending',
    subject: 'An old order',
    last_seq: texts.length,
    created_at: now,
    updated_at: now,
  });
  insert('participants', {
    conversation_id: conversation,
    user_id: visitor,
    role: 'visitor',
    joined_at: now,
    last_read_seq: 2,
  });
  for (const [index, content] of texts.entries())
    insert('messages', {
      id: randomUUID(),
      conversation_id: conversation,
      organization_id: organization,
      seq: index + 1,
      changed_seq: index + 1,
      sender_id: visitor,
      sender_role: 'visitor',
      content,
      content_format: 'plain',
      internal: 0,
      created_at: now,
    });
  connection.close();
}

it.each(migrations.slice(0, -1).map(({ name }, index) => [index + 1, name]))(
  'a database of schema %i (%s) comes to the newest with everything in it',
  async (version) => {
    await anOldFolder(version);
    app = createApp(readConfig({ data: folder, port: '0' }, {}), {
      passwordCost: 4,
      log: createLog('silent'),
    });
    const { service } = await app.start();
    const actor: VisitorActor = {
      kind: 'visitor',
      organizationId: ids.organization,
      applicationId: ids.application,
      visitorId: ids.visitor,
      mode: 'live',
      via: 'key',
      origin: null,
    };
    const call = { service, actor, address: null, contentLimit: sizeLimits.contentRest };
    const { conversationId } = { conversationId: ids.conversation };
    const history = await execute(call, 'messages.list', { conversationId });
    expect(history.messages.map(({ content }) => content)).toEqual(texts);
    expect((await execute(call, 'conversations.get', { conversationId })).conversation.subject).toBe(
      'An old order',
    );
    const sent = await execute(call, 'messages.send', { conversationId, content: 'a new one' });
    expect(sent.message.content).toBe('a new one');
    await updateSearchIndex(service);
    expect(await searchMessages({ service }, ids.organization, 'parcel')).toEqual([conversationId]);
    const found = await service.engine.store.read(async ({ repositories: { substrings } }) => {
      const query = await substrings?.query(ids.organization, 'OLD ORD');
      return substrings?.matches('subjects', query?.subjects ?? '', { after: 0, span: 100, most: 10 });
    });
    expect(found).toEqual({ numbers: [1], after: null });
    const row = await service.engine.store.read(({ repositories: tables }) =>
      tables.applications.byId(ids.application),
    );
    expect(row === undefined ? null : readSettings(row)).toEqual({
      ...firstSettings,
      behavior: { ...firstSettings.behavior, contactForm: 'off', identity: 'optional' },
      email: { mode: 'replies', address: null, fromName: null, afterMinutes: 2, signature: null },
    });
    const copies = (await readdir(folder)).filter((name) => name.startsWith('deskbell-before-schema-'));
    expect(copies).toHaveLength(1);
    const copy = openConnection(join(folder, copies[0] ?? ''), {
      durability: 'full',
      lockTimeoutMs: 1_000,
      readonly: true,
    });
    expect(schemaVersion(copy)).toBe(version);
    expect(copy.prepare('select count(*) from messages').pluck().get()).toBe(texts.length);
    copy.close();
  },
);

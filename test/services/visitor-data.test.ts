// Attacks a visitor's own data: everything of theirs and nothing of anyone else is
// handed out; an erased visitor's words are in no file, no answer and no live connection.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stallMs } from '../../src/http/send-time.ts';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import type { AiLogRow, ConversationRow } from '../../src/engine/rows.ts';
import { exportLimits, takeExportSeat } from '../../src/services/data/export-seats.ts';
import { purge } from '../../src/services/data/retention.ts';
import { memberActor } from '../helpers/actors.ts';
import { hasFolder, startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createApplication,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { requestBytes } from '../helpers/raw-http.ts';

const marker = 'xyzzymarker';
let app: TestApp;
let acme: TestOrganization;
let admin: TestMember;

beforeEach(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  admin = await createMember(app, 'acme', 'admin');
});
afterEach(() => app.stop());

const ask = (who: TestMember, method: 'GET' | 'DELETE', visitorId: string, query = ''): Promise<Reply> =>
  request(app.url, method, `/api/v1/admin/visitors/${visitorId}${query}`, who.headers);

/** Which tables of a database on PostgreSQL have a row with a text, in any letter case. */
async function tablesWith(text: string): Promise<string[]> {
  const found = [];
  for (const { name } of await rowsOf(
    app,
    "select table_name::text as name from information_schema.tables where table_schema = 'deskbell'",
  ))
    if ((await rowsOf(app, `select from ${String(name)} as r where r::text ilike ?`, `%${text}%`)).length > 0)
      found.push(String(name));
  return found;
}

/** Which files of the data folder hold a text, in any letter case, and which tables where the rows lie elsewhere. */
async function filesWith(text: string): Promise<string[]> {
  const found = hasFolder ? [] : await tablesWith(text);
  for (const entry of await readdir(app.folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    if (bytes.toString('latin1').toLowerCase().includes(text.toLowerCase())) found.push(entry.name);
  }
  return found;
}

/** A visitor who has left the marker wherever a visitor can, an answer to them, and a note about them. */
async function aMarkedVisitor(id = randomUUID()) {
  const visitor = createVisitor(app, acme.application, id);
  await createVisitorByKey(app, acme.application, 'live', id).call('PUT', '/visitor', {
    name: `${marker} name`,
    email: `${marker}@mail.example`,
    attributes: { note: `${marker} attribute` },
  });
  const conversationId = await createConversation(visitor, `${marker} subject`);
  const first = await createMessage(visitor, conversationId, `${marker} question`);
  await visitor.call('PATCH', `/conversations/${conversationId}/messages/${first}`, {
    content: `${marker} edited`,
  });
  await admin.call('POST', `/conversations/${conversationId}/accept`);
  const answer = await createMessage(admin, conversationId, `${marker} answer`);
  await admin.call('POST', `/conversations/${conversationId}/messages`, {
    content: `${marker} note`,
    internal: true,
  });
  await visitor.call('POST', `/conversations/${conversationId}/read`, { messageId: answer });
  return { visitor, conversationId, first, answer };
}

/** A row of the assistant's log about a conversation. */
const someQuestion = ({
  id,
  organization_id,
  application_id,
  visitor_key,
  mode,
  created_at,
}: ConversationRow): AiLogRow => ({
  id: randomUUID(),
  organization_id,
  application_id,
  visitor_key,
  conversation_id: id,
  mode,
  door: 'ask',
  actor: 'visitor',
  question: 'a question',
  answer: null,
  outcome: 'person',
  sources: '[]',
  model: null,
  duration_ms: 1,
  created_at,
  chosen: null,
  settled_at: null,
});

it('hands out everything of a visitor and nothing of anyone else', async () => {
  const { visitor, conversationId, first, answer } = await aMarkedVisitor();
  const other = createVisitor(app, acme.application);
  await createMessage(other, await createConversation(other, 'CANARY'), 'CANARY');
  const { status, body, text } = await ask(admin, 'GET', visitor.id.toUpperCase());
  expect(status).toBe(200);
  expect(body.visitor).toMatchObject({
    id: visitor.id,
    name: `${marker} name`,
    email: `${marker}@mail.example`,
    attributes: { note: `${marker} attribute` },
    applicationId: acme.application.id,
    mode: 'live',
  });
  expect(body.conversations).toHaveLength(1);
  expect(body.conversations[0]).toMatchObject({
    id: conversationId,
    subject: `${marker} subject`,
    lastReadMessageId: answer,
  });
  const messages = body.conversations[0].messages as { id: string; content: string }[];
  expect(messages.map((one) => [one.id, one.content])).toEqual([
    [first, `${marker} edited`],
    [answer, `${marker} answer`],
  ]);
  expect(body.internalNotes).toBe(1);
  expect(text).not.toContain(`${marker} note`);
  expect(text).not.toContain('CANARY');
  expect(body.access).toEqual([]);
  const again = await ask(admin, 'GET', visitor.id);
  expect(again.body.access).toEqual([
    expect.objectContaining({ action: 'visitors.export', actor: `member:${admin.id}` }),
  ]);
});

it('is for admins of the organization alone', async () => {
  const { visitor } = await aMarkedVisitor();
  const operator = await createMember(app, 'acme');
  await createOrganization(app, 'beta');
  const foreign = await createMember(app, 'beta', 'admin');
  for (const method of ['GET', 'DELETE'] as const) {
    expect((await ask(operator, method, visitor.id)).status).toBe(403);
    expect((await ask(foreign, method, visitor.id)).status).toBe(404);
    expect((await ask(admin, method, randomUUID())).status).toBe(404);
  }
  expect((await ask(admin, 'GET', visitor.id)).status).toBe(200);
});

it('never takes two people with one id for one person', async () => {
  const id = randomUUID();
  const second = await createApplication(app, 'acme', 'second.example');
  for (const application of [acme.application, second])
    await createMessage(
      createVisitor(app, application, id),
      await createConversation(createVisitor(app, application, id)),
      application.domain,
    );
  const test = createVisitorByKey(app, second, 'test', id);
  await createMessage(test, await createConversation(test), 'test');
  const refused = await ask(admin, 'DELETE', id);
  expect(refused.status).toBe(400);
  expect(refused.body.details[0].path).toBe('applicationId');
  expect((await ask(admin, 'GET', id, `?applicationId=${second.id}`)).body.details[0].path).toBe('mode');
  expect((await ask(admin, 'DELETE', id, `?applicationId=${second.id}&mode=live`)).status).toBe(200);
  expect(await rowsOf(app, 'select content from messages order by content')).toEqual([
    { content: 'acme.example' },
    { content: 'test' },
  ]);
});

it('knows a visitor by the key that the audit log names them by, as after a restore', async () => {
  const { visitor } = await aMarkedVisitor();
  const keys = await rowsOf(app, 'select id from visitors where visitor_id = ?', visitor.id);
  const key = String(keys[0]?.['id']);
  expect((await ask(admin, 'GET', key)).body.visitor.id).toBe(visitor.id);
  await createOrganization(app, 'beta');
  expect((await ask(await createMember(app, 'beta', 'admin'), 'DELETE', key)).status).toBe(404);
  expect((await ask(admin, 'DELETE', key)).status).toBe(200);
  expect((await ask(admin, 'GET', visitor.id)).status).toBe(404);
  expect(await rowsOf(app, "select subject from audit where action = 'visitors.erase'")).toEqual([
    { subject: `visitor:${key}` },
  ]);
});

it('leaves no word of an erased visitor in any file, row, answer or connection', async () => {
  const { visitor, conversationId } = await aMarkedVisitor();
  const other = createVisitor(app, acme.application);
  const kept = await createConversation(other);
  await createMessage(other, kept, 'kept');
  app.clock.advance(1_000);
  await eventually(async () =>
    expect(Number((await rowsOf(app, 'select count(*) as n from search_rows'))[0]?.['n'])).toBe(4),
  );
  expect(await filesWith(marker)).not.toEqual([]);
  const socket = await visitor.connect();
  socket.send('room:join', { conversationId });
  await socket.receives('room:joined');
  const token = (await visitor.call('POST', '/widget/ws-token')).body.token as string;
  const bystander = await other.connect();
  const staff = await admin.connect();
  // Connected is not yet let in: one that answers a ping is.
  await Promise.all([bystander.drain(), staff.drain()]);
  // The newest event is the erased visitor's: its number must not be given out again.
  await createMessage(visitor, conversationId, `${marker} last`);
  await staff.receives('conversation:activity');

  const { status, body } = await ask(admin, 'DELETE', visitor.id);
  expect([status, body]).toEqual([200, { success: true, storageCleared: true, backups: [] }]);
  expect((await socket.waitForClose()).code).toBe(4403);
  expect(bystander.closed).toBeNull();
  expect(await filesWith(marker)).toEqual([]);
  expect(await filesWith(visitor.id)).toEqual([]);
  expect(await rowsOf(app, "select actor, detail from audit where action = 'visitors.erase'")).toEqual([
    { actor: `member:${admin.id}`, detail: '{}' },
  ]);
  expect((await ask(admin, 'GET', visitor.id)).status).toBe(404);
  expect((await ask(admin, 'DELETE', visitor.id)).status).toBe(404);
  expect((await admin.call('GET', `/conversations/${conversationId}`)).status).toBe(404);
  expect((await admin.call('GET', `/conversations?q=${marker}`)).body.total).toBe(0);
  if (hasFolder) {
    expect(await rowsOf(app, "insert into search(search) values ('integrity-check')")).toEqual([]);
    expect(await rowsOf(app, 'pragma foreign_key_check')).toEqual([]);
  }

  // A token from before opens nothing; the id is a stranger's now.
  const late = await (
    await import('../helpers/client.ts')
  ).connectSocket(app.url, token, { origin: acme.application.origin });
  expect((await late.waitForClose()).code).toBe(4401);
  expect((await visitor.call('GET', '/conversations')).body.total).toBe(0);
  // The others go on hearing, in order, nothing twice.
  staff.frames.length = 0;
  await createMessage(other, kept, 'after');
  expect((await staff.receives('conversation:activity')).preview).toBe('after');
  await Promise.all([bystander.close(), staff.close()]);
});

it('says that what is removed is removed, also where the files can not be cleared of it now', async () => {
  const { visitor } = await aMarkedVisitor();
  vi.spyOn(app.service.engine.maintenance, 'clearRemoved').mockRejectedValue(
    new StoreUnavailableError('There are no more connections.'),
  );
  const { status, body } = await ask(admin, 'DELETE', visitor.id);
  expect([status, body]).toEqual([200, { success: true, storageCleared: false, backups: [] }]);
  expect((await ask(admin, 'GET', visitor.id)).status).toBe(404);
  await app.local('applications.delete', { applicationId: acme.application.id });
  await app.local('organizations.delete', { organization: 'acme' });
});

it('erases a long history in steps, and again after it was cut off', async () => {
  const { visitor, conversationId } = await aMarkedVisitor();
  for (let index = 0; index < 450; index += 1)
    await createMessage(visitor, conversationId, `${marker} ${index}`);
  const [row] = await rowsOf(app, 'select id from visitors where visitor_id = ?', visitor.id);
  // As a killed process leaves it: a part is gone.
  await app.service.engine.store.write('server', ({ repositories }) =>
    repositories.visitorData.removeMessages(String(row?.['id']), 200),
  );
  expect(Number((await rowsOf(app, 'select count(*) as n from messages'))[0]?.['n'])).toBeGreaterThan(200);
  expect((await ask(admin, 'DELETE', visitor.id)).status).toBe(200);
  expect(await filesWith(marker)).toEqual([]);
});

it.runIf(hasFolder)('names the copies that still hold the visitor, and when they go', async () => {
  const { visitor } = await aMarkedVisitor();
  const { mkdir, readdir, writeFile } = await import('node:fs/promises');
  // The last two are what a restore leaves that is cut off.
  const names = ['deskbell-before-schema-9.db', 'deskbell.db.restoring', 'files.restoring'];
  for (const name of names.slice(0, 2)) await writeFile(join(app.folder, name), 'an older database');
  await mkdir(join(app.folder, 'files.restoring', 'ab'), { recursive: true });
  const { body } = await ask(admin, 'DELETE', visitor.id);
  const copies: { name: string; expiresAt: string }[] = body.backups;
  expect(copies.map(({ name }) => name).toSorted()).toEqual(names);
  for (const { expiresAt } of copies) expect(expiresAt).toMatch(/^\d{4}-/);
  expect(await readdir(app.folder)).toEqual(expect.arrayContaining(names));
  const last = Math.max(...copies.map(({ expiresAt }) => Date.parse(expiresAt)));
  app.clock.step(last + 1_000 - app.clock.now());
  await purge(app.service);
  expect(await app.service.engine.maintenance.copies()).toEqual([]);
  expect((await readdir(app.folder)).filter((name) => names.includes(name))).toEqual([]);
});

it('leaves nothing of a removed organization in any file, and the others as they were', async () => {
  await aMarkedVisitor();
  await createOrganization(app, 'beta');
  const member = await createMember(app, 'beta');
  const staff = await member.connect();
  await staff.drain();
  const visitor = createVisitor(app, await createApplication(app, 'beta', 'b2.example'));
  const conversationId = await createConversation(visitor);
  const { visitor: last, conversationId: lastConversation } = await aMarkedVisitor();
  await createMessage(last, lastConversation, `${marker} newest event of all`);
  await app.local('organizations.delete', { organization: 'acme' });
  expect(await filesWith(marker)).toEqual([]);
  // By name it stays in the audit log, and until they end in counts of requests and of changes to queues.
  if (hasFolder) expect(await filesWith(acme.id)).toEqual(await filesWith('organizations.delete'));
  await createMessage(visitor, conversationId, 'goes on');
  expect((await staff.receives('conversation:activity')).preview).toBe('goes on');
  await staff.close();
});

it('lists the audit log, newest first, to admins of the organization', async () => {
  const { visitor } = await aMarkedVisitor();
  await ask(admin, 'GET', visitor.id);
  await createOrganization(app, 'beta');
  const list = await request(app.url, 'GET', '/api/v1/admin/audit?limit=2', admin.headers);
  expect(list.body).toMatchObject({
    limit: 2,
    offset: 0,
    entries: [{ action: 'visitors.export', organizationId: acme.id, address: '127.0.0.1' }, {}],
  });
  const all = await app.local('audit.list', { limit: 100 });
  const own = await app.local('audit.list', { organization: 'acme', limit: 100 });
  expect(list.body.total).toBe(own.total);
  expect(own.entries.every(({ organizationId }) => organizationId === acme.id)).toBe(true);
  expect(all.total).toBeGreaterThan(own.total);
  expect((await request(app.url, 'GET', '/api/v1/admin/audit?organization=beta', admin.headers)).status).toBe(
    404,
  );
});

describe('exports at once', () => {
  const readers: Socket[] = [];
  afterEach(() => {
    for (const reader of readers.splice(0)) reader.destroy();
    vi.restoreAllMocks();
  });

  /** A visitor of whom more is kept than a system keeps of a connection that no one reads. */
  async function aTalkativeVisitor(): Promise<string> {
    const visitor = createVisitor(app, acme.application);
    const template = await createMessage(visitor, await createConversation(visitor), 'a');
    const { store, clock } = app.service.engine;
    await store.write('server', async ({ repositories }) => {
      const found = await repositories.messages.byId(template);
      if (found === undefined) throw new Error('no message');
      const { visitor_name: _visitor, member_name: _member, ...message } = found;
      for (let at = 0; at < 1_200; at += 1)
        await repositories.messages.append(
          { ...message, id: clock.newId(), client_message_id: null, content: 'b'.repeat(10_000) },
          'visitor',
        );
    });
    return visitor.id;
  }

  /** Asks for an export, and reads nothing of it. */
  function askUnread(visitorId: string, url = app.url): Socket {
    const { hostname, port } = new URL(url);
    const reader = connect(Number(port), hostname);
    readers.push(reader);
    reader.on('error', () => undefined);
    const headers = Object.entries(admin.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    reader.write(requestBytes(url, { path: `/api/v1/admin/visitors/${visitorId}`, headers }));
    return reader;
  }

  const arrived = (reader: Socket): Promise<void> =>
    new Promise((resolve) => reader.once('readable', () => resolve()));

  /** @throws Error while the organization has an export under way */
  async function expectNone(): Promise<void> {
    const alone = await app.service.engine.seats.take([{ key: `export:${acme.id}`, most: 1 }]);
    if (typeof alone !== 'function') throw new Error('an export is under way');
    alone();
  }

  it('are two of an organization, until their readers have them, leave, or take nothing', async () => {
    const long = await aTalkativeVisitor();
    await createOrganization(app, 'beta');
    const other = await createMember(app, 'beta', 'admin');
    const { visitor } = await aMarkedVisitor();
    const unread = Array.from({ length: exportLimits.organization }, () => askUnread(long));
    await Promise.all(unread.map(arrived));
    const refused = await ask(admin, 'GET', visitor.id);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(refused.body).toMatchObject({
      error: 'rate_limit_exceeded',
      cause: 'per_organization',
      message: expect.stringContaining('2 exports under way'),
    });
    // It made none, and holds up no one else: not the same organization's other calls, not another organization.
    expect((await ask(other, 'GET', visitor.id)).status).toBe(404);
    expect((await request(app.url, 'GET', '/api/v1/admin/audit', admin.headers)).status).toBe(200);
    unread[0]?.destroy();
    await eventually(async () => expect((await ask(admin, 'GET', visitor.id)).status).toBe(200));
    await eventually(async () => {
      app.clock.advance(stallMs);
      await expectNone();
    });
    expect((await ask(admin, 'GET', long)).body.conversations[0].messages).toHaveLength(1_201);
    await eventually(expectNone);
  });

  it('are so many of all organizations together', async () => {
    const { visitor } = await aMarkedVisitor();
    const { seats } = app.service.engine;
    const held = await Promise.all(
      Array.from({ length: exportLimits.all }, () => seats.take([{ key: 'export', most: exportLimits.all }])),
    );
    const refused = await ask(admin, 'GET', visitor.id);
    expect([refused.status, refused.body.error, refused.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      '1',
    ]);
    for (const seat of held) if (typeof seat === 'function') seat();
    expect((await ask(admin, 'GET', visitor.id)).status).toBe(200);
  });

  it('are a few second ones only: four organizations that hold on to theirs leave a place', async () => {
    const { service } = app;
    const given: (() => void)[] = [];
    const take = async (organizationId: string): Promise<boolean> => {
      const actor = memberActor(organizationId, randomUUID(), { role: 'admin' });
      const seat = await takeExportSeat(service, actor).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'unavailable' });
      });
      if (seat !== undefined) given.push(seat);
      return seat !== undefined;
    };
    const slow = Array.from({ length: 4 }, () => randomUUID());
    for (const id of slow) expect(await take(id)).toBe(true);
    const second: boolean[] = [];
    for (const id of slow) second.push(await take(id));
    expect(second).toEqual([true, true, true, false]);
    expect(await take(randomUUID())).toBe(true);
    expect(await take(randomUUID())).toBe(false);
    for (const giveBack of given) giveBack();
    expect(await take(randomUUID())).toBe(true);
    for (const giveBack of given) giveBack();
  });

  it('count until they are made, also where their reader has left', async () => {
    const { visitor } = await aMarkedVisitor();
    const { seats, store } = app.service.engine;
    const gate = Promise.withResolvers<void>();
    const [take, read] = [seats.take.bind(seats), store.read.bind(store)];
    let seated = false;
    let collecting = false;
    vi.spyOn(seats, 'take').mockImplementation(async (wanted) => {
      const seat = await take(wanted);
      seated = true;
      return seat;
    });
    vi.spyOn(store, 'read').mockImplementation(async (work) => {
      if (!seated) return read(work);
      collecting = true;
      await gate.promise;
      return read(work);
    });
    const [url = app.url] = app.urls;
    const reader = askUnread(visitor.id, url);
    await eventually(() => expect(collecting).toBe(true));
    reader.destroy();
    // The server has heard of it before it answers these.
    for (let at = 0; at < 3; at += 1) expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await expect(expectNone()).rejects.toThrow('an export is under way');
    gate.resolve();
    await eventually(expectNone);
  });

  /** All that comes until the connection ends. */
  async function rest(reader: Socket): Promise<string> {
    const pieces: string[] = [];
    reader.on('readable', () => {
      for (let piece: Buffer | null; (piece = reader.read() as Buffer | null) !== null;)
        pieces.push(piece.toString('latin1'));
    });
    await once(reader, 'close');
    return pieces.join('');
  }

  const exportsNoted = (): Promise<unknown[]> =>
    rowsOf(app, "select * from audit where action = 'visitors.export'");

  it('are read as they are taken, noted before anything is, and break off when the right to them ends', async () => {
    const long = await aTalkativeVisitor();
    const whole = await ask(admin, 'GET', long);
    expect(whole.text.length).toBeGreaterThan(10_000_000);
    const reader = askUnread(long);
    await arrived(reader);
    expect(await exportsNoted()).toHaveLength(2);
    const former = admin;
    admin = await createMember(app, 'acme', 'admin');
    await app.local('members.update', { memberId: former.id, disabled: true });
    const got = await rest(reader);
    expect(got).toMatch(/^HTTP\/1\.1 200 /);
    // Neither the end of the JSON nor the last chunk of the answer.
    expect(got).not.toContain('exportedAt');
    expect(got.endsWith('0\r\n\r\n')).toBe(false);
    expect(app.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    await eventually(expectNone);
  });

  it('break off, and say so in the log, where reading fails in the middle', async () => {
    const long = await aTalkativeVisitor();
    const reader = askUnread(long);
    // Most of it is read only when this has taken what came before.
    await arrived(reader);
    vi.spyOn(app.service.engine.store, 'read').mockRejectedValue(new Error('the page is gone'));
    const got = await rest(reader);
    vi.restoreAllMocks();
    expect(got).toMatch(/^HTTP\/1\.1 200 /);
    expect(got).not.toContain('exportedAt');
    const told = app.logged.filter((line) => line.includes('reading an answer failed'));
    expect(told).toEqual([expect.stringContaining('the page is gone')]);
    await eventually(expectNone);
    expect((await ask(admin, 'GET', long)).body.conversations[0].messages).toHaveLength(1_201);
  });

  it('are the same in parts: many conversations, questions and notes, also of one millisecond', async () => {
    const { visitor, conversationId } = await aMarkedVisitor();
    const { store, clock } = app.service.engine;
    const made: string[] = [];
    const asked: string[] = [];
    await store.write('server', async ({ repositories }) => {
      // A store may run it more than once.
      made.length = 0;
      asked.length = 0;
      const found = await repositories.conversations.byId(conversationId);
      if (found === undefined) throw new Error('no conversation');
      const { visitor_id: _id, visitor_name: _name, ...conversation } = found;
      for (let at = 0; at < 450; at += 1) {
        const id = randomUUID();
        made.push(id);
        const created_at = conversation.created_at + Math.floor(at / 210);
        await repositories.conversations.insert({
          ...conversation,
          id,
          idempotency_key: null,
          last_seq: 0,
          created_at,
        });
        const question = randomUUID();
        asked.push(question);
        await repositories.aiLog.insert({
          ...someQuestion(conversation),
          id: question,
          question,
          created_at,
        });
      }
      const [note] = await repositories.messages.page({
        conversationId,
        notes: true,
        order: 'desc',
        limit: 1,
        offset: 0,
      });
      if (note?.internal !== 1) throw new Error('no note');
      const { visitor_name: _visitor, member_name: _member, ...row } = note;
      for (let at = 0; at < 399; at += 1)
        await repositories.messages.append({ ...row, id: clock.newId(), client_message_id: null }, 'note');
    });
    const { status, text, body } = await ask(admin, 'GET', visitor.id);
    expect(status, text).toBe(200);
    const data = await app.local('visitors.export', { visitorId: visitor.id });
    expect(JSON.parse(JSON.stringify({ ...data, access: [], exportedAt: 0 }))).toEqual({
      ...body,
      access: [],
      exportedAt: 0,
    });
    const ids = body.conversations.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(451);
    expect(ids.toSorted()).toEqual([conversationId, ...made].toSorted());
    expect(body.assistant.map(({ question }: { question: string }) => question).toSorted()).toEqual(
      asked.toSorted(),
    );
    expect(body.internalNotes).toBe(400);
    expect(body.access).toEqual([]);
    expect(data.access).toMatchObject([{ action: 'visitors.export', actor: `member:${admin.id}` }]);
  });

  it('do not count for who may have none', async () => {
    const { visitor } = await aMarkedVisitor();
    const operator = await createMember(app, 'acme');
    const take = vi.spyOn(app.service.engine.seats, 'take');
    expect((await ask(operator, 'GET', visitor.id)).status).toBe(403);
    expect(take).not.toHaveBeenCalled();
  });
});

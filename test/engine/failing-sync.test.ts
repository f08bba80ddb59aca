// A sync that fails, below SQLite: the kernel refuses fsync(2) on the log. What it was to make safe is refused, wholly
// absent and not told of; reads go on; and the same call succeeds as soon as the disk syncs again.
//
// The fault: the descriptor under which SQLite writes its log is made one of /dev/null, which takes every write and
// refuses every sync. So the frames are lost as well, as they are after a disk has failed to sync them.
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { mkdtemp, open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { readConfig } from '../../src/config.ts';
import { backUpDataFolder } from '../../src/data-folder.ts';
import { databaseFile, openConnection } from '../../src/engine/open-engine.ts';
import { readBackup } from '../../src/engine/sqlite/backup.ts';
import { migrate, schemaVersion } from '../../src/engine/sqlite/migrate.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const most = 1_024;

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let conversation: string;

beforeEach(async () => {
  app = await startApp({ flags: { durability: 'full' } });
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  operator = await createMember(app, 'acme');
  conversation = await createConversation(visitor);
  await createMessage(visitor, conversation, 'first');
});
afterEach(() => app.stop());

const log = (): string => `${databaseFile(app.folder)}-wal`;

/** The descriptors of a file in this process. */
function descriptorsOf(file: string): number[] {
  const { ino, dev } = statSync(file);
  return Array.from({ length: most }, (_, descriptor) => descriptor).filter((descriptor) => {
    try {
      const open = fstatSync(descriptor);
      return open.ino === ino && open.dev === dev;
    } catch {
      return false;
    }
  });
}

/** Puts another file under a descriptor. The log's own takes no locks, so closing it loses none. */
function replace(descriptor: number, file: string): void {
  closeSync(descriptor);
  const others: number[] = [];
  try {
    // Each open takes the lowest number that is free.
    for (let got = openSync(file, 'r+'); got !== descriptor; got = openSync(file, 'r+')) {
      others.push(got);
      if (others.length > most) throw new Error(`descriptor ${descriptor} was taken`);
    }
  } finally {
    for (const other of others) closeSync(other);
  }
}

const write = (value: string): Promise<number> =>
  app.service.engine.store.write('server', ({ repositories }) => repositories.meta.set('probe', value));

/** Under which descriptor the store writes its log: the one without whose sync it can't commit. */
async function writersDescriptor(): Promise<number> {
  await write('begin');
  for (const descriptor of descriptorsOf(log())) {
    replace(descriptor, '/dev/null');
    const refused = await write('probe').then(
      () => false,
      () => true,
    );
    replace(descriptor, log());
    if (refused) return descriptor;
  }
  throw new Error('no sync could be made to fail');
}

/** Does work while no sync of the log succeeds. */
async function withoutSync<T>(work: () => Promise<T>): Promise<T> {
  const descriptor = await writersDescriptor();
  replace(descriptor, '/dev/null');
  try {
    return await work();
  } finally {
    replace(descriptor, log());
  }
}

/** What the database holds, as far as these acts change it. */
const state = () =>
  rowsOf(
    app,
    `select (select group_concat(content) from messages) as contents, (select count(*) from event_log) as events,
      (select count(*) from audit) as audit, (select sum(last_seq) from conversations) as seq,
      (select group_concat(status) from conversations) as status, (select count(*) from participants) as participants,
      (select count(*) from api_keys) as keys, (select count(expires_at) from api_keys) as rotated`,
  );

/** The whole life of an act: refused it changed nothing, and no event told of it; afterwards it happens once. */
async function expectRefusedThenDone(act: () => Promise<{ status: number }>): Promise<void> {
  const before = await state();
  const heard: unknown[] = [];
  const undo = app.service.engine.store.subscribe(({ events }) => heard.push(...events));
  await withoutSync(async () => {
    expect((await act()).status).toBe(503);
    expect((await visitor.call('GET', `/conversations/${conversation}/messages`)).status).toBe(200);
    expect((await act()).status).toBe(503);
  });
  undo();
  expect([await state(), heard]).toEqual([before, []]);
  expect((await act()).status).toBeLessThan(300);
  const after = await state();
  expect(after).not.toEqual(before);
  app = await app.restart();
  expect(await state()).toEqual(after);
  expect(await rowsOf(app, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  expect(await rowsOf(app, 'pragma foreign_key_check')).toEqual([]);
}

/** An act of the server's owner, as a status. */
const owners = (done: Promise<unknown>): Promise<{ status: number }> =>
  done.then(
    () => ({ status: 200 }),
    (error: unknown) => {
      expect(error).toMatchObject({ code: 'unavailable' });
      return { status: 503 };
    },
  );

it('send', () =>
  expectRefusedThenDone(() =>
    visitor.call('POST', `/conversations/${conversation}/messages`, {
      content: 'second',
      clientMessageId: 'c1',
    }),
  ));

it('send by WebSocket: no acknowledgement, and the repetition is stored once', async () => {
  const socket = await visitor.connect();
  const send = () =>
    socket.send('message:send', { conversationId: conversation, content: 'second', clientMessageId: 'c1' });
  await withoutSync(async () => {
    send();
    expect((await socket.receives('error')).code).toBe('RATE_LIMITED');
    expect(socket.all('message:ack')).toEqual([]);
  });
  send();
  await socket.receives('message:ack');
  app = await app.restart();
  expect(
    (await rowsOf(app, 'select content from messages order by seq')).map(({ content }) => content),
  ).toEqual(['first', 'second']);
});

it('edit', async () => {
  const message = await createMessage(visitor, conversation, 'wrong');
  await expectRefusedThenDone(() =>
    visitor.call('PATCH', `/conversations/${conversation}/messages/${message}`, { content: 'right' }),
  );
});

it('accept', () =>
  expectRefusedThenDone(() => operator.call('POST', `/conversations/${conversation}/accept`)));

it('rotate', async () => {
  const { keys } = await app.local('keys.list', { applicationId: acme.application.id });
  await expectRefusedThenDone(() =>
    owners(app.local('keys.rotate', { keyId: keys[0]?.id ?? '', graceSeconds: 60 })),
  );
});

it('purge', async () => {
  await app.local('organizations.update', { organization: 'acme', limits: { retentionDays: 1 } });
  app.clock.step(8 * 86_400_000);
  await expectRefusedThenDone(() => owners(app.local('retention.purge', { force: true })));
});

it('emptying the log: nothing is taken out of it before the database has it', async () => {
  const before = await state();
  const { maintenance } = app.service.engine;
  await withoutSync(async () => {
    expect(await maintenance.clearRemoved()).toBe(false);
  });
  expect(await state()).toEqual(before);
  expect(await maintenance.clearRemoved()).toBe(true);
  app = await app.restart();
  expect(await state()).toEqual(before);
  expect(await rowsOf(app, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
});

it('a change of the schema is made wholly or not at all', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-sync-'));
  const file = databaseFile(folder);
  const connection = openConnection(file, { durability: 'full', lockTimeoutMs: 0 });
  connection.pragma('journal_mode = wal');
  const old = migrations.slice(0, 4);
  await migrate(connection, async () => undefined, old);
  const schema = () => connection.prepare('select sql from sqlite_schema order by name').all();
  const before = schema();
  const own = descriptorsOf(`${file}-wal`);
  const failing = {
    name: 'the disk fails to sync',
    up: async () => {
      for (const descriptor of own) replace(descriptor, '/dev/null');
    },
  };
  try {
    await expect(migrate(connection, async () => undefined, [...migrations, failing])).rejects.toMatchObject({
      code: expect.stringMatching(/^SQLITE_IOERR/) as unknown,
    });
    for (const descriptor of own) replace(descriptor, `${file}-wal`);
    expect([schemaVersion(connection), schema()]).toEqual([4, before]);
    await migrate(connection, async () => undefined);
    expect(schemaVersion(connection)).toBe(migrations.length);
    expect(connection.pragma('integrity_check', { simple: true })).toBe('ok');
  } finally {
    connection.close();
    await rm(folder, { recursive: true });
  }
});

it('backup: one that was not synced is none and leaves nothing behind, whichever sync fails', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-sync-'));
  const target = join(folder, 'a.backup');
  const handle = await open(app.folder);
  const handles = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const sync = Object.getOwnPropertyDescriptor(handles, 'sync') as { value: () => Promise<void> };
  const backUp = () => backUpDataFolder(readConfig({ data: app.folder }, {}), target, false, app.clock.now());
  try {
    for (let failing = 1; ; failing += 1) {
      let calls = 0;
      handles.sync = function refuse(this: FileHandle) {
        calls += 1;
        return calls === failing
          ? Promise.reject(Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' }))
          : sync.value.call(this);
      };
      if (
        await backUp().then(
          () => true,
          () => false,
        )
      ) {
        expect([failing > 2, calls]).toEqual([true, failing - 1]);
        expect((await readBackup(target)).bytes).toBeGreaterThan(0);
        break;
      }
      expect([calls >= failing, await readdir(folder)]).toEqual([true, []]);
    }
  } finally {
    Object.defineProperty(handles, 'sync', sync);
    await rm(folder, { recursive: true });
  }
});

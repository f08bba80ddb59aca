// A server's life on a disk that becomes full, run by full-disk.test.ts as a program of its own. With the argument
// `disk`, TMPDIR is a small file system, which fills up. With `quota`, for machines where no such file system can be
// made, SQLite is told how many pages the database may have: it refuses a write for want of room as it does on a full
// disk. Ends with an error where a promise is broken.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../helpers/app.ts';
import { createConversation, createOrganization, createVisitor } from '../helpers/fixtures.ts';
import { rowsOf } from '../helpers/database.ts';
import { watchStatements } from '../helpers/storage.ts';

const day = 86_400_000;
const ballast = join(tmpdir(), 'ballast');

/** What the server lives on. */
interface Disk {
  /** How many messages are removed to make room. */
  readonly oldMessages: number;
  fill(): Promise<void>;
  /** What happens once a write was refused. */
  afterRefusal(): void;
  empty(): Promise<void>;
}

async function writeBallast(): Promise<void> {
  const handle = await open(ballast, 'a');
  for (let size = 1_048_576; size >= 1_024;)
    try {
      await handle.write(Buffer.alloc(size, 1));
    } catch {
      size /= 2;
    }
  await handle.close();
}

const smallDisk: Disk = {
  oldMessages: 1_500,
  fill: async () => {
    // What the server writes by itself may have met the full disk already: then the ballast has taken the reserve's room.
    for (await writeBallast(); !existsSync(reserve); await writeBallast()) {
      await rm(ballast);
      await untilReserve();
    }
  },
  afterRefusal: () => assert.ok(!existsSync(reserve), 'the reserve was not given back'),
  empty: () => rm(ballast),
};

/** Before the server opens its connections, of which only the writing one makes a file longer. */
const watch = watchStatements();
const setMaxPages = (pages: number): void => void watch.writer().pragma(`max_page_count = ${pages}`);
const countPages = (): number => Number(watch.writer().pragma('page_count', { simple: true }));
const quota: Disk = {
  oldMessages: 200,
  fill: async () => setMaxPages(countPages() + 2),
  // The reserve is for the log, which has no limit here.
  afterRefusal: () => undefined,
  // A server that was started again has new connections, without a limit.
  empty: async () => {
    if (watch.writer().open) setMaxPages(0xfffffffe);
  },
};

const kinds: Readonly<Record<string, Disk>> = { disk: smallDisk, quota };
const disk = kinds[process.argv[2] ?? ''];
assert.ok(disk !== undefined, 'say which: disk or quota');

const app = await startApp({ flags: { durability: 'full' } });
const reserve = join(app.folder, 'deskbell-reserve');

/** Waits for the reserve: the server looks after it every ten seconds. */
async function untilReserve(): Promise<void> {
  for (let attempt = 0; !existsSync(reserve); attempt += 1) {
    assert.ok(attempt < 600, 'the reserve does not come back');
    app.clock.advance(10_000);
    await sleep(50);
  }
}

const { application } = await createOrganization(app, 'acme');
await app.local('organizations.update', { organization: 'acme', limits: { retentionDays: 1 } });
const visitor = createVisitor(app, application);
const old = await createConversation(visitor);
const send = async (conversation: string, content: string): Promise<number> =>
  (await visitor.call('POST', `/conversations/${conversation}/messages`, { content })).status;
for (let index = 0; index < disk.oldMessages; index += 1)
  assert.equal(await send(old, `old ${index} ${'x'.repeat(4_900)}`), 201);
await untilReserve();
app.clock.step(8 * day);
const young = await createConversation(visitor);

await disk.fill();
const acknowledged: string[] = [];
for (let refused = 0, index = 0; refused < 5; index += 1) {
  assert.ok(index < 20_000, 'the disk never becomes full');
  const content = `young ${index} ${'y'.repeat(4_900)}`;
  const status = await send(young, content);
  assert.ok(status === 201 || status === 503, `a write was answered with ${status}`);
  if (status === 201) acknowledged.push(content);
  else refused += 1;
}

// Reads go on, and what is left is kept for removing.
const read = await visitor.call('GET', '/conversations');
assert.equal(read.status, 200);
assert.equal((await visitor.call('GET', `/conversations/${young}/messages`)).status, 200);
for (let attempt = 0; attempt < 20; attempt += 1) assert.equal(await send(young, 'z'.repeat(4_900)), 503);
disk.afterRefusal();

const purged = await app.local('retention.purge', { force: true });
assert.equal(purged.total.messages, disk.oldMessages);

// Room in the database: writes go on although the disk is as full as before.
for (let index = 0; index < 100; index += 1) {
  assert.equal(await send(young, `after ${index}`), 201);
  acknowledged.push(`after ${index}`);
}
const contents = async (): Promise<unknown[]> =>
  (await rowsOf(app, 'select content from messages order by seq')).map(({ content }) => content);
assert.deepEqual(await contents(), acknowledged);
await disk.empty();
await untilReserve();
assert.equal(await send(young, 'at last'), 201);
acknowledged.push('at last');

await disk.fill();
const restarted = await app.restart();
assert.deepEqual(await contents(), acknowledged);
assert.deepEqual(await rowsOf(restarted, 'pragma integrity_check'), [{ integrity_check: 'ok' }]);
await disk.empty();
await restarted.stop();
process.stdout.write(`${acknowledged.length} messages acknowledged, none lost\n`);

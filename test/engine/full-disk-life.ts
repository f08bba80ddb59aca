// A server's life on a disk that becomes full, run by full-disk.test.ts as a program of its own: TMPDIR is a small file
// system. Ends with an error where a promise is broken.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../helpers/app.ts';
import { createConversation, createOrganization, createVisitor } from '../helpers/fixtures.ts';
import { inDatabase } from '../helpers/rest-checks.ts';

const day = 86_400_000;
const ballast = join(tmpdir(), 'ballast');

async function fillDisk(): Promise<void> {
  const handle = await open(ballast, 'a');
  for (let size = 1_048_576; size >= 1_024;)
    try {
      await handle.write(Buffer.alloc(size, 1));
    } catch {
      size /= 2;
    }
  await handle.close();
}

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
for (let index = 0; index < 1_500; index += 1)
  assert.equal(await send(old, `old ${index} ${'x'.repeat(4_900)}`), 201);
await untilReserve();
app.clock.step(8 * day);
const young = await createConversation(visitor);

await fillDisk();
const acknowledged: string[] = [];
for (let refused = 0, index = 0; refused < 5; index += 1) {
  assert.ok(index < 20_000, 'the disk never becomes full');
  const content = `young ${index} ${'y'.repeat(4_900)}`;
  const status = await send(young, content);
  assert.ok(status === 201 || status === 503, `a write was answered with ${status}`);
  if (status === 201) acknowledged.push(content);
  else refused += 1;
}
assert.ok(!existsSync(reserve), 'the reserve was not given back');

// Reads go on, and what is left is kept for removing.
const read = await visitor.call('GET', '/conversations');
assert.equal(read.status, 200);
assert.equal((await visitor.call('GET', `/conversations/${young}/messages`)).status, 200);
for (let attempt = 0; attempt < 20; attempt += 1) assert.equal(await send(young, 'z'.repeat(4_900)), 503);

const purged = await app.local('retention.purge', { force: true });
assert.equal(purged.total.messages, 1_500);

// Room in the database: writes go on although the disk is as full as before.
for (let index = 0; index < 100; index += 1) {
  assert.equal(await send(young, `after ${index}`), 201);
  acknowledged.push(`after ${index}`);
}
const contents = (): unknown[] =>
  inDatabase(app, 'select content from messages order by seq').map(({ content }) => content);
assert.deepEqual(contents(), acknowledged);
await rm(ballast);
await untilReserve();
assert.equal(await send(young, 'at last'), 201);
acknowledged.push('at last');

await fillDisk();
const restarted = await app.restart();
assert.deepEqual(contents(), acknowledged);
assert.deepEqual(inDatabase(restarted, 'pragma integrity_check'), [{ integrity_check: 'ok' }]);
await rm(ballast);
await restarted.stop();
process.stdout.write(`${acknowledged.length} messages acknowledged, none lost\n`);

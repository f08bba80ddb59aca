// kill -9 in the middle of uploads, again and again: no message names a file that is not there whole, what was
// acknowledged is there, and after the sweep nothing else is.
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { objectPath } from '../../src/engine/object-path.ts';
import { openService } from '../../src/open-service.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import type { Actor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { removeDueBytes, sweepFiles } from '../../src/services/files/file-job.ts';
import { request, type HeaderMap } from '../helpers/client.ts';
import { createTestClock } from '../helpers/clock.ts';
import { eventually } from '../helpers/eventually.ts';
import { storedObjects, uploadFile } from '../helpers/files.ts';
import { serve } from '../helpers/process.ts';
import { repeatable, rounds, seededRandom } from '../helpers/rounds.ts';

const cycles = rounds(3, 300);
const random = seededRandom();
const origin = 'https://kill.example';
const environment = Object.fromEntries(
  ['VISITOR', 'APPLICATION', 'ADDRESS', 'ADDRESS_NEW'].map((name) => [`DESKBELL_LIMIT_${name}`, 'off']),
);

interface Person {
  readonly headers: HeaderMap;
  readonly conversationId: string;
}

let parent: string;
let folder: string;
const people: Person[] = [];
/** File by file: the digest of what was sent in a message that was acknowledged. */
const acknowledged = new Map<string, string>();

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-upload-kill-'));
  folder = join(parent, 'data');
  const { service, close } = await openService(
    readConfig({ data: folder, limitAddressNew: 'off' }, {}),
    'command',
    () => null,
    { passwordCost: 4 },
  );
  const call = <N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> =>
    execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  const local: Actor = { kind: 'local' };
  const { id: organizationId } = await call(local, 'organizations.create', { name: 'Kill', slug: 'kill' });
  const { id: applicationId } = await call(local, 'applications.create', {
    organization: 'kill',
    name: 'Site',
    domains: ['kill.example'],
  });
  for (let index = 0; index < 6; index += 1) {
    const visitorId = randomUUID();
    const actor: Actor = {
      kind: 'visitor',
      organizationId,
      applicationId,
      visitorId,
      mode: 'live',
      via: 'origin',
      origin,
    };
    const { conversation } = await call(actor, 'conversations.create', {});
    const headers = { origin, 'x-app-id': applicationId, 'x-visitor-id': visitorId };
    people.push({ headers, conversationId: conversation.id });
  }
  await close();
});

afterAll(() => rm(parent, { recursive: true, force: true }));

/** Uploads and sends until the server is gone. */
async function keepSending(url: string, { headers, conversationId }: Person): Promise<void> {
  for (;;) {
    const bytes = Buffer.alloc(1_000 + Math.floor(random() * 600_000), randomUUID());
    try {
      const { body } = await uploadFile({ url }, { headers }, bytes);
      if (random() < 0.2) continue;
      const sent = await request(url, 'POST', `/api/v1/conversations/${conversationId}/messages`, headers, {
        content: 'x',
        attachments: [body.file.id],
      });
      if (sent.status === 201) acknowledged.set(body.file.id as string, sha256(bytes));
    } catch {
      return;
    }
  }
}

it('no message names a missing file, and no bytes are left over', () =>
  repeatable('test/engine/upload-kill.test.ts', cycles, async () => {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const server = await serve(folder, { environment });
      const all = Promise.all(people.map((one) => keepSending(server.url, one)));
      // Another amount in every cycle; each person is in the middle of something then.
      const enough = acknowledged.size + Math.floor(20 * random() ** 2);
      await eventually(() => expect(acknowledged.size).toBeGreaterThan(enough));
      await server.kill();
      await all;
    }
    await expectWhole();
  }));

async function expectWhole(): Promise<void> {
  const database = new Database(databaseFile(folder), { readonly: true });
  const files = database
    .prepare<[], { id: string; object: string; digest: string }>(
      'select id, object, digest from files where message_id is not null',
    )
    .all();
  const named = database
    .prepare<[], string>(
      'select attachments from messages where attachments is not null and deleted_at is null',
    )
    .pluck()
    .all()
    .flatMap((text) => (JSON.parse(text) as { id: string }[]).map(({ id }) => id));
  database.close();
  expect(files.length).toBeGreaterThanOrEqual(acknowledged.size);
  expect(named.toSorted()).toEqual(files.map(({ id }) => id).toSorted());
  const digests = new Map<string, string>();
  for (const { id, object, digest } of files) {
    expect(sha256(await readFile(objectPath(join(folder, 'files'), object)))).toBe(digest);
    digests.set(id, digest);
  }
  for (const [id, digest] of acknowledged) expect(digests.get(id)).toBe(digest);
  // Three days later, by the clock of the sweep.
  const clock = createTestClock(Date.now() + 3 * 86_400_000);
  const { service, close } = await openService(readConfig({ data: folder }, {}), 'command', () => null, {
    clock,
  });
  await service.engine.store.write('server', ({ repositories }) =>
    repositories.files.removeUnused(clock.now(), clock.now(), 10_000),
  );
  expect((await removeDueBytes(service)).problem).toBeNull();
  await sweepFiles(service);
  await close();
  expect(await storedObjects({ folder })).toEqual(files.map(({ object }) => object).toSorted());
  expect(await readdir(join(folder, 'files', 'incoming'))).toEqual([]);
}

// Owns: how long files live. Their bytes go with the message, its edit, retention, the visitor, the application and the
// organization; they travel with an organization, a backup and a restore; and nothing of an upload that was killed stays.
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { backUpDataFolder, restoreDataFolder } from '../../src/data-folder.ts';
import { cleanFileName } from '../../src/services/files/names.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { purge } from '../../src/services/data/retention.ts';
import { fileLimits, sizeLimits } from '../../src/protocol/codes.ts';
import type { OwnerCall } from '../../src/services/service.ts';
import { hasFolder, startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { download, storedObjects, uploadFile } from '../helpers/files.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { replacing } from '../helpers/replacing.ts';

const canary = Buffer.from('CANARY-OF-THE-FILES-');

/** Files of a folder, at any depth, that hold the canary. */
async function filesWithCanary(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && (await readFile(join(entry.parentPath, entry.name))).includes(canary))
      found.push(entry.name);
  return found;
}

interface Sent {
  readonly message: { id: string; attachments: { id: string; url: string }[] };
  readonly conversation: string;
}

async function sendFiles(app: TestApp, person: TestClient, count = 1, at?: string): Promise<Sent> {
  const conversation = at ?? (await createConversation(person));
  const attachments: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const bytes = Buffer.concat([canary, Buffer.from(`${index}-${Math.random()}`)]);
    attachments.push((await uploadFile(app, person, bytes, { name: `${index}.txt` })).body.file.id as string);
  }
  const sent = await person.call('POST', `/conversations/${conversation}/messages`, {
    content: 'see',
    attachments,
  });
  expect(sent.status).toBe(201);
  return { message: sent.body.message, conversation };
}

const callOf = (app: TestApp): OwnerCall => ({
  service: app.service,
  actor: { kind: 'local' },
  address: null,
  contentLimit: sizeLimits.contentRest,
});

describe('bytes go', () => {
  let app: TestApp;
  let acme: TestOrganization;
  let visitor: TestClient;

  beforeAll(async () => {
    app = await startApp();
    acme = await createOrganization(app, 'acme', 'premium');
    visitor = createVisitor(app, acme.application);
  });
  afterAll(() => app.stop());

  const expectNone = (): Promise<void> =>
    eventually(async () => {
      expect(await filesWithCanary(app.folder)).toEqual([]);
      expect(await app.local('organizations.usage', { organization: 'acme' })).toMatchObject({
        files: 0,
        fileBytes: 0,
      });
      const { removals } = await app.service.engine.store.read(({ repositories }) =>
        repositories.files.overview(),
      );
      expect(removals).toBe(0);
    });

  test('with the message, and its links too', async () => {
    const { message, conversation } = await sendFiles(app, visitor, 2);
    expect(await filesWithCanary(app.folder)).toHaveLength(2);
    await visitor.call('DELETE', `/conversations/${conversation}/messages/${message.id}`);
    for (const { url } of message.attachments) expect((await download(url)).status).toBe(404);
    await expectNone();
  });

  test('with an edit that leaves them out, and only those', async () => {
    const { message, conversation } = await sendFiles(app, visitor, 3);
    const member = await createMember(app, 'acme');
    const room = await member.connect();
    room.send('room:join', { conversationId: conversation });
    await room.receives('room:joined');
    const [first, second, third] = message.attachments.map(({ id }) => id);
    const at = `/conversations/${conversation}/messages/${message.id}`;
    const foreign = (await sendFiles(app, visitor)).message;
    for (const wrong of [[foreign.attachments[0]!.id], [first, 'x']])
      expect((await visitor.call('PATCH', at, { content: 'y', attachments: wrong })).status).toBe(400);
    await visitor.call('PATCH', at, { content: 'all stay' });
    const edited = await visitor.call('PATCH', at, { content: 'two stay', attachments: [third, first] });
    expect(edited.body.message.attachments.map(({ id }: { id: string }) => id)).toEqual([first, third]);
    expect(
      (await room.receives('message:edited', ({ content }) => content === 'two stay')).attachments,
    ).toEqual(edited.body.message.attachments);
    await eventually(async () => expect(await filesWithCanary(app.folder)).toHaveLength(3));
    expect((await download(message.attachments[1]!.url)).status).toBe(404);
    expect(second).toBeDefined();
    await visitor.call('PATCH', at, { content: 'none stays', attachments: [] });
    expect(
      await room.receives('message:edited', ({ content }) => content === 'none stays'),
    ).not.toHaveProperty('attachments');
    await eventually(async () => expect(await filesWithCanary(app.folder)).toHaveLength(1));
    await app.local('visitors.erase', { visitorId: visitor.id });
    await expectNone();
    room.socket.close();
  });

  test('with the visitor, notes and files that were never sent included, when it is answered', async () => {
    const person = createVisitor(app, acme.application);
    const { conversation } = await sendFiles(app, person);
    const member = await createMember(app, 'acme');
    const note = (await uploadFile(app, member, Buffer.concat([canary, Buffer.from('note')]))).body.file.id;
    await member.call('POST', `/conversations/${conversation}/messages`, {
      content: 'n',
      internal: true,
      attachments: [note],
    });
    await uploadFile(app, person, Buffer.concat([canary, Buffer.from('unsent')]));
    expect(await filesWithCanary(app.folder)).toHaveLength(3);
    const exported = await app.local('visitors.export', { visitorId: person.id });
    const [one] = exported.conversations[0]!.messages;
    expect((await download(one!.attachments![0]!.url)).status).toBe(200);
    await app.local('visitors.erase', { visitorId: person.id });
    expect(await filesWithCanary(app.folder)).toEqual([]);
    await expectNone();
  });

  test('within the hour where they were not sent', async () => {
    const member = await createMember(app, 'acme');
    await uploadFile(app, visitor, canary);
    await uploadFile(app, member, canary);
    app.clock.advance(fileLimits.unusedMs - 60_000);
    await eventually(async () => expect(await filesWithCanary(app.folder)).toHaveLength(2));
    app.clock.advance(90_000);
    await eventually(async () => {
      app.clock.advance(15_000);
      expect(await filesWithCanary(app.folder)).toEqual([]);
    });
    await expectNone();
  });

  test('with retention', async () => {
    await sendFiles(app, createVisitor(app, acme.application));
    app.clock.advance(366 * 86_400_000);
    await purge(app.service, { force: true });
    expect(await filesWithCanary(app.folder)).toEqual([]);
    await expectNone();
  });

  test('with the application, and with the organization', async () => {
    const beta = await createOrganization(app, 'beta');
    await sendFiles(app, createVisitor(app, beta.application));
    await sendFiles(app, createVisitor(app, acme.application));
    await app.local('applications.delete', { applicationId: acme.application.id });
    expect(await filesWithCanary(app.folder)).toHaveLength(1);
    await app.local('organizations.delete', { organization: 'beta' });
    expect(await filesWithCanary(app.folder)).toEqual([]);
    await expectNone();
  });
});

test('a change of settings costs one look for bytes that are to go, and one for snoozes; nothing is written', async () => {
  const app = await startApp({ alone: true });
  onTestFinished(async () => {
    vi.restoreAllMocks();
    await app.stop();
  });
  await createOrganization(app, 'acme');
  const { store } = app.service.engine;
  const looks: Record<string, number> = { files: 0, removals: 0, due: 0 };
  const read = store.read.bind(store);
  const settled = (): Promise<void> =>
    eventually(() => {
      // What gives way to users waits by this clock.
      app.clock.advance(1);
      expect([looks['removals'], looks['due']].every((count) => count !== 0)).toBe(true);
    });
  vi.spyOn(store, 'read').mockImplementation((work) =>
    read(({ repositories }) => {
      const { files, conversations } = repositories;
      const count = (name: string): void => void (looks[name] = (looks[name] ?? 0) + 1);
      const watchedFiles = replacing(repositories, 'files', {
        ...files,
        toScan: (...given) => (count('files'), files.toScan(...given)),
        dueRemovals: (...given) => (count('removals'), files.dueRemovals(...given)),
      });
      const watched = replacing(watchedFiles, 'conversations', {
        ...conversations,
        dueSnoozes: (...given) => (count('due'), conversations.dueSnoozes(...given)),
      });
      return work({ repositories: watched });
    }),
  );
  const write = vi.spyOn(store, 'write');
  let round = 0;
  // What was woken before may still be on its way at first.
  await eventually(async () => {
    round += 1;
    for (const name of Object.keys(looks)) looks[name] = 0;
    write.mockClear();
    await app.local('organizations.update', { organization: 'acme', name: `Acme ${round}` });
    await settled();
    expect(looks).toEqual({ files: 0, removals: 1, due: 1 });
    // By a job: the change itself is written, too.
    expect(write.mock.calls.filter(([, , place]) => place === 'behind')).toEqual([]);
  }, 20_000);
});

describe('bytes travel', () => {
  let app: TestApp;
  let elsewhere: TestApp;
  let person: TestClient;
  let sent: Sent;
  let large: Buffer;

  beforeAll(async () => {
    app = await startApp();
    const acme = await createOrganization(app, 'acme');
    person = createVisitor(app, acme.application);
    sent = await sendFiles(app, person, 2);
    large = Buffer.alloc(1_500_000, 'abcdefg');
    const { file } = (await uploadFile(app, person, large, { name: 'large.bin' })).body;
    await person.call('POST', `/conversations/${sent.conversation}/messages`, {
      content: 'l',
      attachments: [file.id],
    });
    await uploadFile(app, person, Buffer.from('not sent'));
    elsewhere = await startApp();
  });
  afterAll(async () => {
    await app.stop();
    await elsewhere.stop();
  });

  async function linesOf(): Promise<string[]> {
    const lines: string[] = [];
    await exportOrganization(callOf(app), 'acme', async (line) => void lines.push(line));
    return lines;
  }

  const bringIn = (lines: readonly string[], to: TestApp = elsewhere) =>
    importOrganization(callOf(to), async function* () {
      yield* lines;
    });

  /** The same with an end that fits. */
  function resealed(lines: readonly string[]): string[] {
    const rows = lines.slice(0, -1);
    const sha256 = createHash('sha256')
      .update(rows.map((line) => `${line}\n`).join(''))
      .digest('hex');
    return [...rows, JSON.stringify({ end: true, rows: rows.length - 1, sha256 })];
  }

  test('with an organization to another server, under other names there', async () => {
    const lines = await linesOf();
    expect(lines.filter((line) => line.includes('"bytes":"')).length).toBe(6);
    expect(lines.join('')).not.toContain((await storedObjects(app))[0]);
    await bringIn(lines);
    const there = createVisitor(elsewhere, (await applicationOf(elsewhere))!, person.id);
    const { messages } = (await there.call('GET', `/conversations/${sent.conversation}/messages`)).body;
    const links = messages.flatMap((one: { attachments: { url: string }[] }) => one.attachments);
    expect(links).toHaveLength(3);
    expect((await download(links[0].url as string)).bytes.includes(canary)).toBe(true);
    expect((await download(links[2].url as string)).bytes.equals(large)).toBe(true);
    expect(await elsewhere.local('organizations.usage', { organization: 'acme' })).toMatchObject({
      files: 3,
    });
    await elsewhere.local('organizations.delete', { organization: 'acme' });
    expect(await storedObjects(elsewhere)).toEqual([]);
  });

  async function applicationOf(to: TestApp) {
    const { applications } = await to.local('applications.list', { organization: 'acme' });
    const [one] = applications;
    if (one === undefined) return undefined;
    return { id: one.id, domain: 'acme.example', origin: 'https://acme.example', key: '', testKey: '' };
  }

  test('and what was changed on the way, or lacks bytes, is refused and leaves nothing', async () => {
    const lines = await linesOf();
    const bytes = lines.findIndex((line) => line.includes('"bytes":"'));
    const row = bytes - 1;
    const change = (at: number, to: (line: string) => string): string[] =>
      resealed(lines.map((line, index) => (index === at ? to(line) : line)));
    for (const [what, wrong] of [
      ['other bytes', change(bytes, () => JSON.stringify({ bytes: Buffer.alloc(5).toString('base64') }))],
      ['none', resealed(lines.filter((_, index) => index !== bytes))],
      ['too many', resealed([...lines.slice(0, bytes + 1), lines[bytes]!, ...lines.slice(bytes + 1)])],
      ['no file', resealed([...lines.slice(0, 2), lines[bytes]!, ...lines.slice(2)])],
      ['a path', change(row, (line) => line.replace('"name":"0.txt"', '"name":"../0.txt"'))],
      ['a page', change(row, (line) => line.replace(/"type":"[^"]+"/, '"type":"text/html\\r\\nx: y"'))],
    ] as const)
      await expect(bringIn(wrong), what).rejects.toMatchObject({ code: 'bad_request' });
    expect(await storedObjects(elsewhere)).toEqual([]);
    expect(await readdir(join(elsewhere.folder, 'files', 'incoming'))).toEqual([]);
    await bringIn(lines);
  });

  test("a message that names another tenant's file gets no link that works", async () => {
    const third = await startApp();
    await createOrganization(third, 'victim');
    const target = await sendFiles(
      third,
      createVisitor(third, (await createOrganization(third, 'prey')).application),
    );
    const [prey] = target.message.attachments;
    const lines = (await linesOf()).map((line) =>
      line.includes('"table":"messages"') ? line.replaceAll(sent.message.attachments[0]!.id, prey!.id) : line,
    );
    await bringIn(resealed(lines), third);
    const there = createVisitor(third, (await applicationOf(third))!, person.id);
    const { messages } = (await there.call('GET', `/conversations/${sent.conversation}/messages`)).body;
    expect(messages[0].attachments[0].id).toBe(prey!.id);
    expect((await download(messages[0].attachments[0].url as string)).status).toBe(404);
    expect((await download(prey!.url)).status).toBe(200);
    await third.stop();
  });

  test.runIf(hasFolder)(
    'with a backup, also a sealed one, and its restore keeps aside what was there',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'deskbell-backup-'));
      const config = readConfig({ data: app.folder });
      const objects = await storedObjects(app);
      for (const passphrase of [null, 'correct horse battery staple']) {
        const file = join(folder, `${passphrase === null ? 'plain' : 'sealed'}.backup`);
        const { facts } = await backUpDataFolder(config, file, false, Date.now(), passphrase);
        expect(facts.files?.count).toBe(objects.length);
        expect((await readFile(file)).includes(canary)).toBe(passphrase === null);
        const target = await mkdtemp(join(tmpdir(), 'deskbell-restored-'));
        const to = readConfig({ data: target });
        await restoreDataFolder(to, file, false, Date.now(), passphrase);
        expect(await storedObjects({ folder: target })).toEqual(objects);
        expect(await filesWithCanary(join(target, 'files'))).toHaveLength(2);
        // Restored once more over what was changed since.
        const [gone] = objects;
        await unlink(join(target, 'files', gone!.slice(0, 2), gone!.slice(2, 4), gone!));
        const { before } = await restoreDataFolder(to, file, true, Date.now() + 1_000, passphrase);
        expect(await storedObjects({ folder: target })).toEqual(objects);
        expect(await storedObjects({ folder: before! })).toHaveLength(objects.length - 1);
        await rm(target, { recursive: true });
        // One flipped bit in a file is found.
        const bytes = await readFile(file);
        const at = bytes.indexOf(canary) < 0 ? bytes.length - 700_000 : bytes.indexOf(canary);
        bytes[at]! ^= 1;
        await writeFile(`${file}.bad`, bytes);
        await expect(restoreDataFolder(to, `${file}.bad`, false, Date.now(), passphrase)).rejects.toThrow(
          'damaged',
        );
      }
      await rm(folder, { recursive: true });
    },
  );
});

describe('a name that was made harmless', () => {
  const longest = fileLimits.name;
  test.each([
    ['a blank at the cut', `${'a'.repeat(longest - 1)} ${'b'.repeat(20)}`],
    ['a dot at the cut', `${'a'.repeat(longest - 1)}.${'b'.repeat(20)}`],
    ['a wide blank at the cut', `${'a'.repeat(longest - 1)}\u3000${'b'.repeat(20)}`],
    ['a blank before the ending', `${'a'.repeat(longest - 5)} ${'b'.repeat(20)}.txt`],
    ['blanks and dots in turn', '. \u00a0.name.\u00a0 .'],
    ['a reserved name once it is cut', `con${' '.repeat(longest)}x`],
    ['a reserved name of full length', `con.${'a'.repeat(longest - 4)}`],
    ['a mark that comes to a letter', 'e\u200b\u0301.txt'],
    ['a pair at the cut', `${'a'.repeat(longest - 1)}😀b`],
  ])('stays as it is, so that an import takes it: %s', (_what, given) => {
    const once = cleanFileName(given);
    expect(cleanFileName(once)).toBe(once);
    expect(once.length).toBeLessThanOrEqual(longest);
  });
});

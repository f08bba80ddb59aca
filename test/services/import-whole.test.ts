// Attacks `import` with a file that is no export, that is cut off, of another version or of another time, and with one
// whose files have other bytes: each is told as what it is, and nothing of it stays, of rows and of bytes.
import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { download, storedObjects, uploadFile } from '../helpers/files.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  signIn,
  type TestMember,
} from '../helpers/fixtures.ts';

let from: TestApp;
let to: TestApp;
let ann: TestMember;
let conversation: string;
let lines: readonly string[];

/** More than one line of the file holds. */
const bytes = randomBytes(700_000);

const callOn = ({ service }: TestApp) =>
  ({ service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest }) as const;

beforeAll(async () => {
  from = await startApp();
  to = await startApp();
  const { application } = await createOrganization(from, 'acme');
  ann = await createMember(from, 'acme', 'admin');
  const visitor = createVisitor(from, application);
  conversation = await createConversation(visitor);
  const { body } = await uploadFile(from, visitor, bytes, { name: 'noise.bin' });
  const content = { content: 'see', attachments: [body.file.id] };
  const sent = await visitor.call('POST', `/conversations/${conversation}/messages`, content);
  if (sent.status !== 201) throw new Error(sent.text);
  const read: string[] = [];
  await exportOrganization(callOn(from), 'acme', async (line) => void read.push(line));
  lines = read;
});

afterAll(async () => {
  await from.stop();
  await to.stop();
});

/** Which lines hold bytes. */
const bytesAt = (): number[] => lines.flatMap((line, at) => (line.startsWith('{"bytes":') ? [at] : []));

async function* asLines(file: readonly string[]): AsyncIterable<string> {
  yield* file;
}

const imported = (file: readonly string[]) => importOrganization(callOn(to), () => asLines(file));

/** A body with an end that fits, as a forger would write it. */
function sealed(body: readonly string[]): string[] {
  const sha256 = createHash('sha256')
    .update(body.map((line) => `${line}\n`).join(''))
    .digest('hex');
  return [...body, JSON.stringify({ end: true, rows: body.length - 1, sha256 })];
}

/** The file with some of its lines as they are given; null: without them. */
function changed(others: ReadonlyMap<number, string | null>): string[] {
  return sealed(
    lines.slice(0, -1).flatMap((line, at) => {
      const other = others.get(at);
      return other === undefined ? [line] : other === null ? [] : [other];
    }),
  );
}

const withHeader = (more: object): string[] =>
  changed(new Map([[0, JSON.stringify({ ...(JSON.parse(lines[0] ?? '') as object), ...more })]]));

async function expectRefused(file: readonly string[], reason: RegExp): Promise<void> {
  const refusal = await imported(file).then(
    () => 'imported',
    (error: unknown) => String(error),
  );
  expect(refusal).toMatch(reason);
  expect(refusal).toContain('Nothing was changed.');
  expect((await to.local('organizations.list', {})).organizations).toEqual([]);
  expect(await storedObjects(to)).toEqual([]);
  expect(await readdir(join(to.folder, 'files', 'incoming')).catch(() => [])).toEqual([]);
}

it('a file that is no export, or not a whole one, is told so', async () => {
  await expectRefused([], /it is empty/);
  for (const first of ['no JSON', '[]', 'null', '{}', '{"format":"deskbell"}'])
    await expectRefused([first, ...lines.slice(1)], /it is no export of an organization/);
  await expectRefused(withHeader({ version: 99 }), /it was written by another version of deskbell/);
  await expectRefused(withHeader({ schema: 'x' }), /it was written by another version of deskbell/);
  await expectRefused(withHeader({ schema: 1 }), /it comes from a server with schema 1, and this one has/);
  await expectRefused(lines.slice(0, 1), /its end is missing/);
  await expectRefused(lines.slice(0, -1), /its end is missing/);
  await expectRefused([...lines.slice(0, 3), ...lines.slice(4)], /it was changed after it was written/);
  await expectRefused([...lines.slice(0, -2), ...lines.slice(-1)], /it was changed after it was written/);
  await expectRefused(sealed(lines.slice(0, 1)), /there is no organization in it/);
  const strange = JSON.stringify({ table: 'sqlite_master', row: {} });
  await expectRefused(sealed([...lines.slice(0, -1), strange]), /line \d+ names no table of an organization/);
});

it('a file that was sent comes with its own bytes, all of them, or not at all', async () => {
  const [first = 0, ...others] = bytesAt();
  expect(others).not.toEqual([]);
  const other = JSON.stringify({ bytes: randomBytes(10).toString('base64') });
  const last = others.at(-1) ?? 0;
  const line = (at: number): string => String(lines[at]);
  const flipped = line(first).replace(
    /"bytes":"(.)/,
    (_, letter: string) => `"bytes":"${letter === 'A' ? 'B' : 'A'}`,
  );
  await expectRefused(changed(new Map([[first, flipped]])), /has other bytes than the file/);
  await expectRefused(changed(new Map([[last, null]])), /comes before all bytes of the file were there/);
  await expectRefused(changed(new Map([[first, '{"bytes":5}']])), /has no bytes/);
  await expectRefused(changed(new Map([[last, `${line(first)}`]])), /has more bytes than the file/);
  await expectRefused(
    changed(
      new Map([
        [last, `${line(last)}\n`.trim()],
        [last + 1, other],
      ]),
    ),
    /bytes of no file/,
  );
});

it('the whole one comes in, and its files are what they were', async () => {
  expect((await imported(lines)).organization.slug).toBe('acme');
  const here = await signIn(to, 'acme', ann.email, ann.id);
  const { messages } = (await here.call('GET', `/conversations/${conversation}/messages`)).body;
  const found = await download(messages[0].attachments[0].url);
  expect(found.bytes.equals(bytes)).toBe(true);
  await expect(imported(lines)).rejects.toMatchObject({
    code: 'conflict',
    message: 'There is an organization acme here already, the same one. Nothing was changed.',
  });
  await to.local('organizations.delete', { organization: 'acme' });
  await createOrganization(to, 'acme');
  await expect(imported(lines)).rejects.toMatchObject({
    code: 'conflict',
    message: 'There is an organization acme here already. Nothing was changed.',
  });
});

// Deleted text leaves the database's files within ten seconds, without a purge and without a restart.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
} from '../helpers/fixtures.ts';
import { bytesOf } from '../helpers/storage.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

const filesWith = (text: string): string[] =>
  readdirSync(app.folder).filter(
    (name) => name.startsWith('deskbell.db') && bytesOf(join(app.folder, name)).includes(text),
  );

it.each(['deleted', 'edited'])('text that was %s is in no file ten seconds later', async (how) => {
  const { application } = await createOrganization(app, how);
  const visitor = createVisitor(app, application);
  const id = await createConversation(visitor);
  const messageId = await createMessage(visitor, id, `CANARY-${how}`);
  expect(filesWith(`CANARY-${how}`)).not.toEqual([]);
  const path = `/conversations/${id}/messages/${messageId}`;
  if (how === 'deleted') await visitor.call('DELETE', path);
  else await visitor.call('PATCH', path, { content: 'something else' });
  app.clock.advance(9_000);
  await eventually(() => expect(filesWith(`CANARY-${how}`)).toEqual([]));
});

/** The text's last letters as the index of subjects and names has them; what stands before is shared with another entry. */
const indexed = (text: string): string => Buffer.from(text.slice(-3)).toString('hex').slice(4);

it('a subject and a name that were changed are in no file ten seconds later, nor in the index of them', async () => {
  const { application } = await createOrganization(app, 'renamed');
  const member = await createMember(app, 'renamed');
  const visitor = createVisitor(app, application);
  const [name, subject] = ['CANARY-☃☄★', 'CANARY-♔♕♖'];
  await visitor.call('PUT', '/visitor', { name });
  const id = await createConversation(visitor, subject);
  for (const text of [name, subject]) {
    expect(filesWith(text)).not.toEqual([]);
    expect(filesWith(indexed(text))).not.toEqual([]);
  }
  await visitor.call('PUT', '/visitor', { name: 'another' });
  await member.call('PATCH', `/conversations/${id}`, { subject: null });
  app.clock.advance(9_000);
  await eventually(() => {
    for (const text of [name, subject]) {
      expect(filesWith(text)).toEqual([]);
      expect(filesWith(indexed(text))).toEqual([]);
    }
  });
});

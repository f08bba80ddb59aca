// Every text that a caller hands in is measured in UTF-16 units and can be stored and read back unchanged.
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientFrames } from '../../src/protocol/frames.ts';
import { operationNames, operationRow } from '../../src/protocol/operations.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

/** Checked by the rules for message content, which know the transport's own length. */
const checkedAsContent = new Set(['content']);

interface TextField {
  readonly of: string;
  readonly name: string;
  readonly schema: z.ZodType;
}

const fields: TextField[] = [
  ...operationNames.map((name) => ({ name, schema: operationRow(name).input as z.ZodType })),
  ...Object.entries(clientFrames).flatMap(([name, schema]) =>
    schema === null ? [] : [{ name, schema: schema as z.ZodType }],
  ),
].flatMap(({ name: of, schema }) => {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).flatMap(([name, property]) =>
    JSON.stringify(property).includes('"type":"string"') &&
    !JSON.stringify(property).includes('"type":"object"') &&
    !checkedAsContent.has(name)
      ? [{ of, name, schema }]
      : [],
  );
});

describe('every text field', () => {
  it('is among those that are tried here', () => {
    expect(fields.length).toBeGreaterThan(80);
  });

  it.each([
    ['U+0000', 'a\u0000b@example.com'],
    ['the first half of a surrogate pair', 'a\ud800b@example.com'],
    ['the second half', 'a\udc00b@example.com'],
  ])('refuses %s', (_what, value) => {
    const accepted = fields.filter(
      ({ name, schema }) =>
        schema.safeParse({ [name]: value }).error?.issues.some(({ path }) => path[0] === name) !== true,
    );
    expect(accepted.map(({ of, name }) => `${of} ${name}`)).toEqual([]);
  });
});

describe('a length', () => {
  let app: TestApp;
  let acme: TestOrganization;
  let visitor: TestClient;

  beforeAll(async () => {
    app = await startApp();
    acme = await createOrganization(app, 'acme');
    visitor = createVisitor(app, acme.application);
  });
  afterAll(() => app.stop());

  const emoji = (count: number): string => '😀'.repeat(count);

  it('of a subject is counted in UTF-16 units', async () => {
    const open = (subject: string) => visitor.call('POST', '/conversations', { subject });
    expect((await open(emoji(250))).status).toBe(201);
    expect((await open(emoji(251))).status).toBe(400);
    expect((await open(`${emoji(250)}  `)).body.conversation.subject).toBe(emoji(250));
  });

  it("of a visitor's name and attributes is counted in UTF-16 units", async () => {
    const byKey = createVisitorByKey(app, acme.application);
    const put = async (body: object) => (await byKey.call('PUT', '/visitor', body)).status;
    expect([await put({ name: emoji(50) }), await put({ name: emoji(51) })]).toEqual([200, 400]);
    expect([
      await put({ attributes: { a: emoji(500) } }),
      await put({ attributes: { a: emoji(501) } }),
    ]).toEqual([200, 400]);
    expect([
      await put({ attributes: { [emoji(50)]: 1 } }),
      await put({ attributes: { [emoji(51)]: 1 } }),
    ]).toEqual([200, 400]);
    expect(await put({ attributes: { 'a\ud800': 1 } })).toBe(400);
    expect(await put({ attributes: { a: 'a\udc00' } })).toBe(400);
  });

  it('of clientMessageId is counted in UTF-16 units over REST and the WebSocket', async () => {
    const conversationId = await createConversation(visitor);
    const send = async (clientMessageId: string) =>
      (
        await visitor.call('POST', `/conversations/${conversationId}/messages`, {
          content: 'hi',
          clientMessageId,
        })
      ).status;
    expect([await send(emoji(50)), await send(emoji(51))]).toEqual([201, 400]);
    const socket = await visitor.connect();
    socket.send('message:send', { conversationId, content: 'hi', clientMessageId: emoji(51) });
    expect((await socket.receives('error')).code).toBe('VALIDATION_ERROR');
    await socket.close();
  });

  it('of a password and of what a member types is counted in UTF-16 units', async () => {
    const admin = await createMember(app, 'acme', 'admin');
    const add = async (password: string) =>
      (
        await admin.call('POST', '/../admin/members', {
          email: `${crypto.randomUUID()}@acme.example`,
          name: 'Ann',
          role: 'operator',
          password,
        })
      ).status;
    const mixed = (count: number): string => '😀🚲'.repeat(count / 2);
    expect([await add(mixed(4)), await add(mixed(512)), await add(mixed(514))]).toEqual([201, 201, 400]);
  });

  it('keeps two ids with different half surrogates from counting as one', async () => {
    const conversationId = await createConversation(visitor);
    for (const clientMessageId of ['a\ud800', 'a\ud801']) {
      const reply = await visitor.call('POST', `/conversations/${conversationId}/messages`, {
        content: clientMessageId.codePointAt(1)?.toString(),
        clientMessageId,
      });
      expect([reply.status, reply.body.details?.[0].path]).toEqual([400, 'clientMessageId']);
    }
  });
});

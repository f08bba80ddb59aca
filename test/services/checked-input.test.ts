// A frame that sends a message is checked once: what it hands to the operation is just what the operation's own schema
// would have made of it, and no bound is the operation's alone. No other way in gets past that schema.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { clientFrames, readStaffSend, readVisitorSend } from '../../src/protocol/frames.ts';
import { operations } from '../../src/protocol/operations.ts';
import { executeChecked } from '../../src/services/execute.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createOrganization,
  createVisitor,
  type TestClient,
} from '../helpers/fixtures.ts';

const frame = clientFrames['message:send'];
const id = fc.uuid().map((value) => value.toUpperCase());
const payloads = fc.record(
  {
    conversationId: fc.oneof(fc.uuid(), id),
    content: fc.string({ unit: 'binary' }),
    contentFormat: fc.constantFrom('plain', 'lexical', undefined),
    clientMessageId: fc.string({ minLength: 1, maxLength: 100 }),
    internal: fc.constantFrom(true, false, undefined),
    person: fc.constantFrom(true, false, undefined),
    choice: fc.oneof(id, fc.constant(undefined)),
    attachments: fc.oneof(fc.array(id, { maxLength: 5 }), fc.constant(undefined)),
    other: fc.anything(),
  },
  { requiredKeys: ['conversationId', 'content', 'clientMessageId'] },
);
const operationsThatSend = [
  ['messages.send', operations['messages.send'].input, readVisitorSend],
  ['staff.messages.send', operations['staff.messages.send'].input, readStaffSend],
] as const;

describe.each(operationsThatSend)('a frame that is checked for %s', (_name, schema, read) => {
  test('hands over what the operation would have made of the same payload', () => {
    fc.assert(
      fc.property(payloads, (payload) => {
        const checked = frame.safeParse(payload);
        fc.pre(checked.success);
        const handed = read(checked.data!);
        expect(handed).toEqual(schema.parse(payload));
        // Nothing of it is refused or changed by the operation.
        expect(schema.parse(handed)).toEqual(handed);
      }),
      { numRuns: 300 },
    );
  });

  test('hands over nothing that the operation has no field for', () => {
    const all = {
      conversationId: '01890000-0000-7000-8000-000000000001',
      content: 'x',
      contentFormat: 'lexical',
      clientMessageId: 'c',
      internal: true,
      person: true,
      choice: '01890000-0000-7000-8000-000000000002',
      attachments: ['01890000-0000-7000-8000-000000000003'],
      unknown: 1,
    };
    const handed = read(frame.parse(all));
    expect(handed).toStrictEqual(schema.parse(all));
    expect(Object.keys(handed).toSorted()).toEqual(Object.keys(schema.shape).toSorted());
  });
});

describe("a bound of an operation that sends is the frame's as well", () => {
  const { shape } = frame;
  const [visitors, staff] = [
    operations['messages.send'].input,
    operations['staff.messages.send'].input,
  ] as const;
  const describeField = (field: z.ZodType): object => z.toJSONSchema(field, { io: 'input' });
  /** What is asked of a field, which a JSON schema shows in part. */
  const checksOf = ({ def }: z.ZodType): unknown[] => (def.checks ?? []).map(({ _zod }) => _zod.def.check);

  test('fields that say the same are the same schema', () => {
    const { conversationId, content, contentFormat, person, choice, internal } = shape;
    for (const [field, own] of [
      [conversationId, visitors.shape.conversationId],
      [conversationId, staff.shape.conversationId],
      [content, visitors.shape.content],
      [contentFormat, visitors.shape.contentFormat],
      [person, visitors.shape.person],
      [choice, visitors.shape.choice],
      [internal, staff.shape.internal],
      // A frame must have it.
      [shape.clientMessageId, visitors.shape.clientMessageId.unwrap()],
      [shape.clientMessageId, staff.shape.clientMessageId.unwrap()],
    ] as const)
      expect(field).toBe(own);
  });

  test('fields of which one says more, or with other words, have the same bounds', () => {
    for (const [field, own] of [
      [shape.attachments, visitors.shape.attachments],
      [shape.attachments, staff.shape.attachments],
      [shape.content, staff.shape.content],
    ] as const) {
      expect(describeField(field)).toEqual(describeField(own));
      expect(checksOf(field)).toEqual(checksOf(own));
    }
    for (const { attachments } of [visitors.shape, staff.shape])
      expect(checksOf(shape.attachments.unwrap())).toEqual(checksOf(attachments.unwrap()));
    // Members may write Markdown as well, but not by a frame.
    const formats = describeField(staff.shape.contentFormat);
    const { enum: ofFrame, ...rest } = z.toJSONSchema(shape.contentFormat, { io: 'input' });
    expect(formats).toEqual({ ...rest, enum: [...(ofFrame ?? []), 'markdown'] });
  });

  test('nothing is asked of a whole input', () => {
    for (const schema of [frame, visitors, staff]) expect(checksOf(schema)).toEqual([]);
  });

  test('no other operation is called with an input that it has not checked', () => {
    // @ts-expect-error: no frame's schema is compared with this operation's.
    expect(() => executeChecked<'visitor.update'>).not.toThrow();
  });
});

test('a frame with too many files is refused as it always was, and a request in its own words', () => {
  const payload = {
    conversationId: '01890000-0000-7000-8000-000000000001',
    content: 'x',
    clientMessageId: 'c',
    attachments: Array.from({ length: 11 }, () => '01890000-0000-7000-8000-000000000003'),
  };
  const messageOf = (schema: z.ZodType): string | undefined =>
    schema.safeParse(payload).error?.issues[0]?.message;
  expect(messageOf(frame)).toBe('must have at most 10 items');
  expect(messageOf(operations['messages.send'].input)).toBe('must be at most 10 files');
});

describe('the way in by REST', () => {
  let app: TestApp;
  let visitor: TestClient;
  let conversationId: string;

  beforeAll(async () => {
    app = await startApp();
    const { application } = await createOrganization(app, 'acme');
    visitor = createVisitor(app, application);
    conversationId = await createConversation(visitor);
  });
  afterAll(() => app.stop());

  test('checks its input whatever it says of itself', async () => {
    const path = `/conversations/${conversationId}/messages`;
    const bad = { content: 'x', clientMessageId: 'c'.repeat(101) };
    for (const body of [bad, { ...bad, checked: true }, { checked: bad }, { input: bad, checked: bad }]) {
      const { status } = await visitor.call('POST', path, body);
      expect(status).toBe(400);
    }
  });

  test('stores no note for a visitor who sends one, by frame or by REST', async () => {
    const socket = await visitor.connect();
    socket.send('message:send', {
      conversationId,
      content: 'by frame',
      clientMessageId: 'n1',
      internal: true,
    });
    await socket.drain();
    await visitor.call('POST', `/conversations/${conversationId}/messages`, {
      content: 'by REST',
      internal: true,
    });
    const { body } = await visitor.call('GET', `/conversations/${conversationId}/messages`);
    const messages = body.messages as { content: string; internal?: boolean }[];
    expect(messages.map(({ content, internal }) => [content, internal])).toEqual([
      ['by frame', undefined],
      ['by REST', undefined],
    ]);
  });
});

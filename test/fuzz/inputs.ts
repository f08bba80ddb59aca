// Owns what a request of each operation may look like: made from the operation's own schema, with the meaning of a
// field where its name tells it. Must not know how it is sent.
import fc from 'fast-check';
import { z } from 'zod';
import { operationRow, type OperationName } from '../../src/protocol/operations.ts';
import { memberPassword } from '../helpers/fixtures.ts';
import { tree } from '../helpers/lexical-trees.ts';
import { nastyText, nastyValue } from './values.ts';

/** A place for an id, filled in when the request is sent: whose it is, and which. */
const idPlace = (field: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom('mine', 'mine', 'mine', 'mine', 'own', 'own', 'own', 'other', 'quiet', 'fresh'),
      fc.nat(40),
    )
    .map(([whose, pick]) => `@${whose}:${field}:${pick}@`);

export const idPattern = /@(mine|own|other|quiet|fresh):([a-zA-Z:]+):(\d+)@/g;

/** Whose members and applications may be ended without ending the attack: those that the attack has made. */
const spared: ReadonlySet<OperationName> = new Set([
  'applications.delete',
  'members.update',
  'members.remove',
  'members.resetSecondFactor',
  'members.signOut',
]);

const times = [
  '2026-11-21T12:00:00Z',
  '2026-12-01T00:00:00+05:30',
  '2027-01-01T00:00:00Z',
  '1970-01-01T00:00:00Z',
];
const time = fc.constantFrom(...times);
const lexical = fc
  .array(tree, { minLength: 1, maxLength: 2 })
  .map((children) => JSON.stringify({ root: { type: 'root', version: 1, children } }));
const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('%me%', '%me% says hello', 'opening hours', '%me% ü 語 😀', 'a') },
  { weight: 1, arbitrary: nastyText },
);

/** What a field of this name is given instead of what its schema alone would tell. */
const byName: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  email: fc.constantFrom('%me%@a.example', 'x@a.example', 'A@B.example', `"a b"@a.example`),
  password: fc.constantFrom(memberPassword, 'wrong words here', 'password', 'another long password'),
  domain: fc.constantFrom(
    'a.example',
    '*.a.example',
    'localhost:3000',
    'https://a.example:8443',
    '*',
    'xn--',
    'ü.example',
  ),
  domains: fc.array(fc.constantFrom('b.example', 'c.example', '*.d.example'), { maxLength: 3 }),
  url: fc.constantFrom('https://127.0.0.1:1/x', 'http://127.0.0.1:1/', 'https://[::1]:1/'),
  logo: fc.constantFrom('https://127.0.0.1/logo.png', null),
  timezone: fc.constantFrom('Europe/Berlin', 'UTC', 'Pacific/Apia', '+01:00'),
  shortcut: fc.constantFrom('hello', 'Ünï', 'a-b_c', '-a'),
  address: fc.constantFrom('203.0.113.7', '2001:db8::1', '::ffff:203.0.113.8', 'nowhere'),
  secondFactor: fc.constant('off'),
  organization: fc.constantFrom('acme', 'globex', 'quiet', 'ACME', 'none'),
  source: fc.constantFrom('%me%.md', 'a', 'b'),
  code: fc.constantFrom('000000', '123456', 'aaaa-bbbb'),
  expiresAt: time,
  until: fc.oneof(time, fc.constant(null)),
  from: time,
  to: time,
  date: fc.constantFrom('2026-12-24', '2027-02-28'),
  open: fc.constantFrom('09:00', '22:00', '00:00'),
  close: fc.constantFrom('17:30', '02:00', '24:00'),
  primary: fc.constant('#112233'),
  assignedTo: fc.oneof(fc.constantFrom('me', 'none'), idPlace('memberId')),
  settles: fc.array(idPlace('entryId'), { maxLength: 2 }),
  // Seldom: a message with a file that is not there is refused, and most messages must arrive.
  attachments: fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.array(idPlace('fileId'), { minLength: 1, maxLength: 2 }) },
  ),
  limit: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom('1', '100')),
  offset: fc.oneof(fc.nat(20), fc.constant('0')),
  name: fc.constantFrom('%me%', 'Ann %me%', 'Ü'),
  visitorOf: idPlace('conversationId'),
  lastMessageId: idPlace('messageId'),
  before: idPlace('messageId'),
  after: idPlace('messageId'),
  choice: idPlace('passageId'),
};

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Content that fits its format: the two are one field for who makes them. */
const content = fc.oneof(
  { weight: 3, arbitrary: fc.record({ content: word }) },
  { weight: 1, arbitrary: fc.record({ content: lexical, contentFormat: fc.constant('lexical') }) },
);

function fromSchema(
  schema: Schema,
  field: string,
  names: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<unknown> {
  const named = names[field];
  if (named !== undefined) return named;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => fromSchema(one, '', names)));
  switch (schema.type) {
    case 'object':
      return objectFrom(schema, names);
    case 'array':
      return fc.array(fromSchema(schema.items ?? {}, '', names), { maxLength: 3 });
    case 'string':
      return field.endsWith('Id') ? idPlace(field) : word;
    case 'integer':
    case 'number':
      return fc.integer({
        min: Math.max(schema.minimum ?? 0, -1_000),
        max: Math.min(schema.maximum ?? 1_000, 1_000),
      });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return nastyValue;
  }
}

function objectFrom(
  schema: Schema,
  names: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<unknown> {
  const { properties, required = [], additionalProperties } = schema;
  if (properties === undefined)
    return fc.dictionary(
      fc.constantFrom('a', '%me%', 'ü'),
      typeof additionalProperties === 'object' ? fromSchema(additionalProperties, '', names) : nastyValue,
      { maxKeys: 3 },
    );
  const fields = Object.entries(properties).map(
    ([name, one]) => [name, fromSchema(one, name, names)] as const,
  );
  const plain = fc.record(Object.fromEntries(fields), { requiredKeys: [...required] });
  if (properties['contentFormat'] === undefined) return plain;
  return fc
    .tuple(plain, content)
    .map(([made, both]) => ({ ...(made as object), contentFormat: 'plain', ...both }));
}

/** What a schema takes, as a client of good will would make it, with places for ids. */
export const valueOf = (schema: z.ZodType): fc.Arbitrary<unknown> =>
  fromSchema(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema, '', byName);

/** An input as a client of good will would make it, with places for ids; fields that the path names are among it. */
export function inputOf(name: OperationName): fc.Arbitrary<Record<string, unknown>> {
  const schema = z.toJSONSchema(operationRow(name).input, { io: 'input', unrepresentable: 'any' }) as Schema;
  const names = spared.has(name)
    ? { ...byName, memberId: idPlace('spare:memberId'), applicationId: idPlace('spare:applicationId') }
    : byName;
  return fromSchema(schema, '', names) as fc.Arbitrary<Record<string, unknown>>;
}

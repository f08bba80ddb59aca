// Owns what is sent over a WebSocket: frames made from the protocol and then broken, and bytes that end a connection.
// Must not know what is answered.
import fc from 'fast-check';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { clientFrames } from '../../src/protocol/frames.ts';
import { valueOf } from './inputs.ts';
import { frameBytes, opcodes } from './raw-socket.ts';
import { mutated, nastyValue, seldom, textMutation, type TextMutation } from './values.ts';

export interface JsonStep {
  readonly kind: 'json';
  readonly caller: number;
  readonly frame: unknown;
  readonly text: TextMutation | null;
  readonly binary: boolean;
  /** How many fragments it is sent in, with a ping between two of them if `between`. */
  readonly fragments: number;
  readonly between: boolean;
  /** In how many writes the bytes go out. */
  readonly writes: number;
}

/** What ends a connection, and the codes with which it may. */
interface FatalStep {
  readonly kind: 'fatal';
  readonly caller: number;
  readonly what: keyof typeof fatal;
}

export type Step = JsonStep | FatalStep;

const text = (value: string): Buffer => Buffer.from(value);
const raw = (...bytes: number[]): Buffer => Buffer.from(bytes);
export const fatal = {
  'bytes that are no UTF-8': [frameBytes(opcodes.text, raw(0x7b, 0xc3, 0x28, 0x7d)), [1007]],
  'half a character': [frameBytes(opcodes.text, raw(0xf0, 0x9f, 0x98)), [1007]],
  'a surrogate in UTF-8': [frameBytes(opcodes.text, raw(0xed, 0xa0, 0x80)), [1007]],
  'one byte too many': [frameBytes(opcodes.text, Buffer.alloc(sizeLimits.frameBytes + 1, 32)), [1009]],
  'a length of 2^63-1': [raw(0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4), [1009]],
  'too many fragments': [
    Buffer.concat(
      Array.from({ length: 80 }, (_, at) => frameBytes(at === 0 ? opcodes.text : 0, text(' '), false)),
    ),
    [1008, 1009],
  ],
  'no mask': [raw(0x81, 0x02, 0x7b, 0x7d), [1002]],
  'a reserved bit': [raw(0xc1, 0x82, 1, 2, 3, 4, 0x7a, 0x7f), [1002]],
  'an unknown opcode': [frameBytes(3, text('{}')), [1002]],
  'an unknown control frame': [frameBytes(11, text('')), [1002]],
  'a continuation of nothing': [frameBytes(opcodes.continuation, text('{}')), [1002]],
  'a text within a text': [
    Buffer.concat([frameBytes(opcodes.text, text('{'), false), frameBytes(opcodes.text, text('}'))]),
    [1002],
  ],
  'a fragmented ping': [frameBytes(opcodes.ping, text('x'), false), [1002]],
  'a long ping': [frameBytes(opcodes.ping, Buffer.alloc(126)), [1002]],
  'a close': [frameBytes(opcodes.close, raw(0x03, 0xe8)), [1000]],
  'a close with a code that is none': [frameBytes(opcodes.close, raw(0x03, 0xed)), [1002]],
  'a close of one byte': [frameBytes(opcodes.close, raw(0x03)), [1002]],
  'another protocol': [text('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), [1002]],
} as const;
const fatalNames = Object.keys(fatal) as (keyof typeof fatal)[];

const frameOf = (type: string, payload: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  payload.map((value) => ({ type, payload: value }));
const kinds = Object.entries(clientFrames).map(([type, schema]) =>
  schema === null ? fc.constant({ type }) : frameOf(type, valueOf(schema)),
);
const sending = frameOf('message:send', valueOf(clientFrames['message:send']));
const frame = mutated(
  fc.oneof(
    { weight: 14, arbitrary: fc.oneof(...kinds, sending, sending, sending) },
    { weight: 1, arbitrary: frameOf('nope', nastyValue) },
    { weight: 1, arbitrary: nastyValue },
  ),
);

export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 150,
    arbitrary: fc.record({
      kind: fc.constant('json'),
      caller: fc.nat(1_000),
      frame,
      text: seldom(textMutation, 12),
      binary: seldom(fc.constant(true), 60).map((one) => one === true),
      fragments: fc.constantFrom(1, 1, 1, 1, 1, 1, 2, 9),
      between: fc.boolean(),
      writes: fc.constantFrom(1, 1, 1, 1, 3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('fatal'),
      caller: fc.nat(1_000),
      what: fc.constantFrom(...fatalNames),
    }),
  },
);

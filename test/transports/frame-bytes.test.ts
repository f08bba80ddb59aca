// The bytes of the frames that the server writes itself: one unmasked text frame each (RFC 6455, 5.2), whatever their
// text is.
import { describe, expect, test } from 'vitest';
import { writeAck, writeEvent, writeFrame } from '../../src/ws/frames.ts';

/** The text of one frame; throws where it is not exactly one. */
function readOne(frame: Buffer): string {
  expect(frame[0]).toBe(0x81);
  const short = frame.readUInt8(1);
  expect(short).toBeLessThan(128);
  const [start, length] =
    short < 126
      ? [2, short]
      : short === 126
        ? [4, frame.readUInt16BE(2)]
        : [10, Number(frame.readBigUInt64BE(2))];
  // The shortest form of a length is the only one allowed.
  expect(start).toBe(length < 126 ? 2 : length < 0x10000 ? 4 : 10);
  expect(frame.length).toBe(start + length);
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(frame.subarray(start));
}

const payloadOf = (frame: Buffer): unknown => JSON.parse(readOne(frame)).payload;

/** A frame whose text has so many bytes. */
function frameOf(bytes: number): Buffer {
  const empty = JSON.stringify({ type: 'message:new', payload: { content: '' } }).length;
  return writeEvent('message:new', { content: 'x'.repeat(bytes - empty) });
}

describe('a frame', () => {
  test.each([60, 125, 126, 127, 65_534, 65_535, 65_536, 65_537, 200_000])('of %i bytes is whole', (bytes) => {
    expect(Buffer.byteLength(readOne(frameOf(bytes)))).toBe(bytes);
  });

  test.each([
    ['umlauts', 'äöüß'],
    ['what is beyond the first plane', '😀👩‍👩‍👧'],
    ['separators of lines', 'a\u2028b\u2029c'],
    ['a byte order mark', '\ufeffx'],
    ['control characters', '\u0001\u001f\u007f\n"\\'],
    ['half a character', 'a\ud800b'],
    ['125 bytes with two in one', `${'x'.repeat(60)}é`],
    ['65,536 bytes with two in one', 'é'.repeat(40_000)],
  ])('carries %s', (_what, content) => {
    expect(payloadOf(writeEvent('message:new', { content }))).toEqual({ content });
  });
});

test('frames keep their bytes, however many are written after them', () => {
  const texts = Array.from(
    { length: 3_000 },
    (_, at) => `${'é'.repeat((at * 37) % 150)}${'x'.repeat((at * 911) % 6_000)}`,
  );
  const frames = texts.map((content) => writeEvent('message:new', { content }));
  expect(frames.map(payloadOf)).toEqual(texts.map((content) => ({ content })));
});

describe('an acknowledgement', () => {
  const ids = {
    serverMessageId: '01890000-0000-7000-8000-000000000001',
    createdAt: '2026-11-25T13:00:00.000Z',
  };

  test.each(['1', 'a"b\\c', '\u2028\n\t', 'ü😀', '</script>', '"}},{"', 'x'.repeat(100)])(
    'of the id %j is what writeFrame makes of it',
    (clientMessageId) => {
      const payload = { clientMessageId, ...ids };
      expect(writeAck(payload)).toEqual(writeFrame({ type: 'message:ack', payload }));
      expect(payloadOf(writeAck(payload))).toEqual(payload);
    },
  );
});

// What a large mail and a large file cost in memory while they come: a few stretches of them, however fast they come.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readThrough, takeIn } from '../../src/services/files/spool.ts';
import { withMail } from '../../src/services/mail/inbound/collect-mail.ts';
import { maxMailBytes } from '../../src/services/mail/inbound/parsed-mail.ts';

const stretchBytes = 65_536;
const bodyBytes = 24 * 1_048_576;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-bodies-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The most bytes that buffers held beyond what they held before. */
let most = 0;
let before = 0;
function look(): void {
  most = Math.max(most, process.memoryUsage().arrayBuffers - before);
}

/** Each stretch in memory of its own, as it comes from a socket. */
async function* body(): AsyncGenerator<Uint8Array> {
  before = process.memoryUsage().arrayBuffers;
  most = 0;
  for (let sent = 0; sent < bodyBytes; sent += stretchBytes) {
    yield await Promise.resolve(Buffer.alloc(stretchBytes, sent));
    look();
  }
}

describe('while 24 MiB come', () => {
  it('as a mail, memory holds a third of them at most', async () => {
    const incoming = { source: 'a', body: body(), readOn: false };
    const size = await withMail(folder, incoming, ({ size: bytes }) => Promise.resolve(bytes));
    expect(size).toBe(bodyBytes);
    expect(size).toBeLessThan(maxMailBytes);
    expect(most).toBeLessThan(bodyBytes / 3);
  });

  it('as a file, the same', async () => {
    const incoming = { bytes: body(), claimed: 'text/plain', maxBytes: maxMailBytes };
    await takeIn(folder, incoming, async ({ path, size }) => {
      expect(size).toBe(bodyBytes);
      // And while they are read again.
      before = process.memoryUsage().arrayBuffers;
      let read = 0;
      for await (const stretch of readThrough(path)) {
        read += stretch.length;
        look();
      }
      expect(read).toBe(bodyBytes);
    });
    expect(most).toBeLessThan(bodyBytes / 3);
  });
});

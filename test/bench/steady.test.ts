// Owns: that the steady load is what it says: beside the sending the index is asked for, webhooks arrive, old messages go,
// a backup is made; and no message is lost for it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Child } from '../../bench/protocol.ts';
import { steadyCost } from '../../bench/steady.ts';

const sizes = { oldMessages: 2_000, warmRounds: 0, leadInSeconds: 0.1 };

test('everything is at work beside the sending', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-test-'));
  const children: Child[] = [];
  try {
    const { lines, done } = await steadyCost({ folder, pairs: 2, rounds: 1, seconds: 0.2, sizes }, children);
    expect(done).toEqual({
      searches: expect.any(Number),
      // At its maximum, at half of that, and at half of what it is without the work.
      'purged messages': 3 * sizes.oldMessages,
      webhooks: expect.any(Number),
      backups: expect.any(Number),
    });
    expect(done['backups']).toBeGreaterThanOrEqual(3);
    for (const count of Object.values(done)) expect(count).toBeGreaterThan(0);
    // What the cores that are shared cost anybody.
    for (const { what, ceiling } of lines.filter((line) => line.what.includes('ceiling beside')))
      expect(Number(ceiling), what).toBeGreaterThan(0);
    expect(lines.filter(({ what }) => what.includes('ceiling beside'))).toHaveLength(2);
    for (const { what, deskbell, ceiling } of lines)
      for (const value of [deskbell, ceiling]) expect(Number(value), what).toBeGreaterThanOrEqual(0);
  } finally {
    for (const child of children) child.kill();
    await rm(folder, { recursive: true, force: true });
  }
});

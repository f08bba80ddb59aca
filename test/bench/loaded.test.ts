// Owns: that the memory after a load is that of the servers which took the load, and all of it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Child } from '../../bench/protocol.ts';
import { memoryAfterLoad } from '../../bench/loaded.ts';
import { countRows } from '../../bench/sends.ts';

test('the built program and the ceiling take as many messages, and their memory is told', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-test-'));
  const children: Child[] = [];
  try {
    const size = { pairs: 2, messages: 50, seconds: 0.05, restMs: 0 };
    const lines = await memoryAfterLoad({ folder, ...size }, children);
    expect(lines.map(({ what }) => what)).toEqual([
      'resident memory with 4 connections, MB',
      'resident memory after 50 messages, MB',
      'resident memory 0 s later, MB',
    ]);
    // A process of Node takes tens of megabytes.
    for (const { what, deskbell, ceiling } of lines)
      for (const value of [deskbell, ceiling]) expect(Number(value), what).toBeGreaterThan(30);
    for (const database of ['deskbell/deskbell.db', 'least.db'])
      expect(countRows(join(folder, database)), database).toBeGreaterThanOrEqual(size.messages);
  } finally {
    for (const child of children) child.kill();
    await rm(folder, { recursive: true, force: true });
  }
});

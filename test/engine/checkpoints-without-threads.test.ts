// A system that gives no more threads: the server goes on, and its log stays small.
import { mkdtemp, rm } from 'node:fs/promises';
import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { databaseFile, openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import { mostPages } from '../../src/engine/sqlite/checkpoints.ts';
import { createTestClock } from '../helpers/clock.ts';

const tried = vi.hoisted(() => ({ times: 0 }));
vi.mock('node:worker_threads', async (original) => ({
  ...(await original<object>()),
  Worker: class {
    constructor() {
      tried.times += 1;
      throw Object.assign(new Error('no thread is left'), { code: 'ERR_WORKER_INIT_FAILED' });
    }
  },
}));

it('writes go on, and the log is moved between them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-checkpoints-'));
  await prepareFolder(folder);
  const clock = createTestClock();
  const engine = await openEngine({ folder, durability: 'full', clock, keyCheck: 'key', as: 'server' });
  try {
    for (let time = 0; time < 30; time += 1) {
      const value = String.fromCodePoint(97 + (time % 26)).repeat(mostPages * 4_096);
      await engine.store.write('server', ({ repositories }) => repositories.meta.set('much', value));
    }
    expect(tried.times).toBe(1);
    expect(statSync(`${databaseFile(folder)}-wal`).size).toBeLessThan(6 * mostPages * 4_096);
    expect(await engine.maintenance.clearRemoved()).toBe(true);
  } finally {
    await engine.close();
    await rm(folder, { recursive: true });
  }
});

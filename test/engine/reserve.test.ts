// The room that is kept for a full disk: written while the server runs, and never after it has stopped.
import fs, { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import { createTestClock } from '../helpers/clock.ts';
import { eventually } from '../helpers/eventually.ts';
import { watchStatements } from '../helpers/storage.ts';

it('is written whole before a server that stops has stopped', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-reserve-'));
  await prepareFolder(folder);
  const clock = createTestClock();
  const engine = await openEngine({ folder, durability: 'normal', clock, keyCheck: 'key', as: 'server' });
  clock.advance(10_000);
  await engine.close();
  expect(existsSync(join(folder, 'deskbell-reserve'))).toBe(true);
  await rm(folder, { recursive: true });
});

it('is written once the system says how much room there is: until then the server goes on without', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-reserve-'));
  await prepareFolder(folder);
  const clock = createTestClock();
  const engine = await openEngine({ folder, durability: 'normal', clock, keyCheck: 'key', as: 'server' });
  const statfs = fs.statfsSync;
  const asked = Promise.withResolvers<undefined>();
  fs.statfsSync = (() => {
    asked.resolve(undefined);
    throw Object.assign(new Error('ESTALE: stale file handle, statfs'), { code: 'ESTALE' });
  }) as typeof statfs;
  syncBuiltinESMExports();
  try {
    clock.advance(10_000);
    await asked.promise;
    // A rejection that no one handles is told of in a turn of the loop, and ends a server.
    await new Promise((resolve) => setImmediate(resolve));
    fs.statfsSync = statfs;
    syncBuiltinESMExports();
    await eventually(() => {
      // The next attempt is planned once this one has ended.
      clock.advance(10_000);
      expect(existsSync(join(folder, 'deskbell-reserve'))).toBe(true);
    });
  } finally {
    fs.statfsSync = statfs;
    syncBuiltinESMExports();
    await engine.close();
    await rm(folder, { recursive: true });
  }
});

it('lets the log begin anew after every write while the disk is full: what removes needs its room', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-reserve-'));
  await prepareFolder(folder);
  const clock = createTestClock();
  const watch = watchStatements();
  const engine = await openEngine({ folder, durability: 'normal', clock, keyCheck: 'key', as: 'server' });
  const statfs = fs.statfsSync;
  const set = (value: string, scope: Parameters<typeof engine.store.write>[0] = 'server') =>
    engine.store.write(scope, ({ repositories }) => repositories.meta.set('probe', value));
  try {
    clock.advance(10_000);
    await eventually(() => expect(existsSync(join(folder, 'deskbell-reserve'))).toBe(true));
    await set('before');
    expect(engine.maintenance.logBytes()).toBeGreaterThan(0);
    fs.statfsSync = ((path: string) => Object.assign(statfs(path), { bavail: 0 })) as typeof statfs;
    syncBuiltinESMExports();
    const writer = watch.writer();
    writer.pragma(`max_page_count = ${String(writer.pragma('page_count', { simple: true }))}`);
    await expect(set('x'.repeat(1_000_000))).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(existsSync(join(folder, 'deskbell-reserve'))).toBe(false);
    await expect(set('small')).rejects.toThrow(/disk is full/);
    writer.pragma('max_page_count = 100000');
    await set('removed', { organization: 'o', removes: true });
    await eventually(() => expect(engine.maintenance.logBytes()).toBe(0));
  } finally {
    fs.statfsSync = statfs;
    syncBuiltinESMExports();
    watch.end();
    await engine.close();
    await rm(folder, { recursive: true });
  }
});

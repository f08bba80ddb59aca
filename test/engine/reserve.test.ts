// The room that is kept for a full disk: written while the server runs, and never after it has stopped.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import { createTestClock } from '../helpers/clock.ts';

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

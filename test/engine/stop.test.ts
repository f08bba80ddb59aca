// The stop of a server: whatever fails on the way, the store is closed in the end.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import type { Engine } from '../../src/engine/engine.ts';

/** Each of its jobs ends, and says that it could not be stopped. */
function withStubbornJobs(engine: Engine): Promise<Engine> {
  const whileLeading: Engine['jobs']['whileLeading'] = (start) => {
    const stop = engine.jobs.whileLeading(start);
    return async () => {
      await stop();
      throw new Error('could not be stopped');
    };
  };
  return Promise.resolve({ ...engine, jobs: { ...engine.jobs, whileLeading } });
}

it('closes the store although jobs can’t be stopped, and says so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-stop-'));
  const app = createApp(readConfig({ data: folder, port: '0', logLevel: 'silent' }, {}), {
    wrapEngine: withStubbornJobs,
  });
  const { service } = await app.start();
  await expect(app.stop()).rejects.toThrow('could not be stopped');
  await expect(service.engine.store.read(() => Promise.resolve())).rejects.toThrow('closed');
  await rm(folder, { recursive: true });
});

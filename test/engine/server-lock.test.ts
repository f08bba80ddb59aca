// One server per data folder: the second is refused, and the lock is free the moment its holder dies.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireServerLock } from '../../src/engine/sqlite/server-lock.ts';
import { request } from '../helpers/client.ts';
import { serve, startServing, type ServerProcess } from '../helpers/process.ts';

let parent: string;
let folder: string;
const served: ServerProcess[] = [];

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-lock-'));
  folder = join(parent, 'data');
});

afterEach(async () => {
  for (const one of served.splice(0)) await one.kill();
  await rm(parent, { recursive: true, force: true });
});

async function serving(): Promise<ServerProcess> {
  const one = await serve(folder);
  served.push(one);
  return one;
}

describe('the lock', () => {
  it('has one holder, and can be taken again once it is given back', () => {
    const file = join(parent, 'a.lock');
    const unlock = acquireServerLock(file);
    expect(unlock).not.toBeNull();
    expect(acquireServerLock(file)).toBeNull();
    const other = acquireServerLock(join(parent, 'b.lock'));
    expect(other).not.toBeNull();
    unlock?.();
    const again = acquireServerLock(file);
    expect(again).not.toBeNull();
    again?.();
    other?.();
  });

  it('says what is wrong when its file can not be used at all', () => {
    expect(() => acquireServerLock(join(parent, 'missing', 'a.lock'))).toThrow('directory does not exist');
  });
});

describe('a second server', () => {
  it('is refused with one line, and the first does not notice', async () => {
    const first = await serving();
    const second = await startServing(folder).ended;
    expect(second.code).toBe(1);
    expect(second.stdout).toBe('');
    expect(second.stderr.trim().split('\n')).toEqual([
      expect.stringContaining(`Another deskbell server (process ${first.pid}) is running`),
    ]);
    expect((await request(first.url, 'GET', '/readyz')).status).toBe(200);
  });

  it('starts at once after the first was killed, and after it stopped', async () => {
    const first = await serving();
    await first.kill();
    const second = await serving();
    expect((await request(second.url, 'GET', '/readyz')).status).toBe(200);
    expect((await second.stop()).code).toBe(0);
    const third = await serving();
    expect((await request(third.url, 'GET', '/readyz')).status).toBe(200);
  });

  it('of several started together, exactly one serves', async () => {
    await (await serve(folder)).stop();
    const started = [1, 2, 3].map(() => startServing(folder));
    const outcomes = await Promise.allSettled(started.map((one) => one.line(/^\{.*\}$/)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of started) await one.stop('SIGKILL');
  });
});

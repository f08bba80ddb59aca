// A process killed with -9 in the middle of a migration or of rotating keys: nothing is
// lost, nothing is half done, and the next one goes on.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { readConfig } from '../../src/config.ts';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import { migrate, schemaVersion } from '../../src/engine/sqlite/migrate.ts';
import { openService, type OpenedService } from '../../src/open-service.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { execute } from '../../src/services/execute.ts';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-cut-off-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const source = (path: string): string => JSON.stringify(pathToFileURL(join(repository, path)).href);

/** Runs a script of ours until it has printed a line, and kills it there. */
async function cutOff(script: string, line: RegExp): Promise<string> {
  const child = new Running(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    env: cleanEnvironment(),
  });
  await child.line(line);
  return (await child.stop('SIGKILL')).stdout;
}

it('a migration that was cut off never happened, and the next start makes it', async () => {
  const file = join(folder, 'deskbell.db');
  const before = openConnection(file, { durability: 'full', lockTimeoutMs: 1_000 });
  await migrate(before, async () => undefined, migrations.slice(0, 1));
  before.prepare("insert into meta values ('marker', 'kept')").run();
  before.close();
  const script = `
    const { openConnection } = await import(${source('src/engine/sqlite/connection.ts')});
    const { migrate } = await import(${source('src/engine/sqlite/migrate.ts')});
    const { migrations } = await import(${source('migrations/index.ts')});
    const connection = openConnection(${JSON.stringify(file)}, { durability: 'full', lockTimeoutMs: 1000 });
    const endless = { name: 'endless', up: async () => {
      connection.exec("update meta set value = 'lost'; create table half (text)");
      const insert = connection.prepare('insert into half values (?)');
      for (let row = 0; ; row += 1) {
        insert.run('x'.repeat(4000));
        // Far more than the cache holds: pages of the unfinished transaction are in the log by now.
        if (row === 20_000) process.stdout.write('in the middle\\n');
        if (row % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    } };
    await migrate(connection, async () => undefined, [migrations[0], endless]);`;
  await cutOff(script, /in the middle/);
  const after = openConnection(file, { durability: 'full', lockTimeoutMs: 1_000 });
  expect(schemaVersion(after)).toBe(1);
  expect(after.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(after.prepare("select value from meta where key = 'marker'").pluck().get()).toBe('kept');
  expect(after.prepare("select count(*) from sqlite_master where name = 'half'").pluck().get()).toBe(0);
  await migrate(after, async () => undefined);
  expect(schemaVersion(after)).toBe(migrations.length);
  after.close();
});

it('keys that were rotated before the cut open and work, and none is without its successor', async () => {
  const config = readConfig({ data: folder }, {});
  const open = (): Promise<OpenedService> => openService(config, 'command', () => null, { passwordCost: 4 });
  const local = (opened: OpenedService) =>
    ({
      service: opened.service,
      actor: { kind: 'local' },
      address: null,
      contentLimit: sizeLimits.contentRest,
    }) as const;
  const first = await open();
  await execute(local(first), 'organizations.create', { name: 'Acme' });
  const { id: applicationId } = await execute(local(first), 'applications.create', {
    organization: 'acme',
    name: 'Shop',
  });
  const { id: keyId } = await execute(local(first), 'keys.create', { applicationId });
  await first.close();
  const script = `
    const { openService } = await import(${source('src/open-service.ts')});
    const { readConfig } = await import(${source('src/config.ts')});
    const { execute } = await import(${source('src/services/execute.ts')});
    const { service } = await openService(readConfig({ data: ${JSON.stringify(folder)} }, {}), 'command', () => null);
    const call = { service, actor: { kind: 'local' }, address: null, contentLimit: 5000 };
    let keyId = ${JSON.stringify(keyId)};
    for (let count = 1; ; count += 1) {
      ({ id: keyId } = await execute(call, 'keys.rotate', { keyId }));
      process.stdout.write(count + ' ' + keyId + '\\n');
    }`;
  const printed = (await cutOff(script, /^40 /)).split('\n').slice(0, -1);
  const again = await open();
  const { keys } = await execute(local(again), 'keys.list', { applicationId });
  const known = new Set(keys.map(({ id }) => id));
  // Everything that was said is there; at most one more was committed and not said.
  for (const line of printed) expect(known.has(line.split(' ')[1] ?? '')).toBe(true);
  expect(keys.length - 1 - printed.length).toBeGreaterThanOrEqual(0);
  expect(keys.length - 1 - printed.length).toBeLessThanOrEqual(1);
  // Every key but the last has been given its end, in the same step that made its successor.
  expect(keys.filter(({ expiresAt }) => expiresAt === null)).toHaveLength(1);
  for (const { id } of keys)
    expect((await execute(local(again), 'keys.reveal', { keyId: id })).key).toMatch(/^dbk_live_/);
  await again.close();
});

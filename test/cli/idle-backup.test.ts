// The backup command and the process that writes for it, as the system sees them: the class of that process, what a list of
// processes shows of it, and that both end together.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { objectPath } from '../../src/engine/object-path.ts';
import { readBackup } from '../../src/engine/sqlite/backup.ts';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import { deskbell, deskbellProcessJson, ensureBuilt, start, temporaryFolder } from '../helpers/cli.ts';
import type { Running } from '../helpers/command.ts';
import { eventually } from '../helpers/eventually.ts';
import { ownChrt, ownIonice, pathWithChrt, pathWithoutChrt } from '../helpers/idle-class.ts';

const passphrase = 'correct horse battery staple';
const key = randomBytes(32).toString('base64');
const secrets = {
  DESKBELL_SECRET_KEY: key,
  DESKBELL_METRICS_TOKEN: 'a-token-of-the-metrics',
};
/** SCHED_IDLE. */
const idlePolicy = '5';

let folder: string;
let remove: () => Promise<void>;
let data: string;
let names = 0;
const fresh = (): string => join(folder, `new-${(names += 1)}`);

beforeAll(async () => {
  await ensureBuilt();
  ({ folder, remove } = await temporaryFolder());
  data = fresh();
  await deskbellProcessJson(['org', 'create', 'acme', '--data', data], { env: secrets });
});
afterAll(() => remove());

const partialsIn = async (where: string): Promise<string[]> =>
  (await readdir(where)).filter((name) => name.includes('.partial'));

/** The fields of /proc/PID/stat that come behind the program's name; the first is the third in proc(5). */
async function statOf(pid: number): Promise<readonly string[]> {
  return (await readFile(`/proc/${pid}/stat`, 'latin1'))
    .replace(/^.*\) /s, '')
    .trim()
    .split(' ');
}

interface Held {
  readonly running: Running;
  readonly file: string;
  /** Of the process that writes. */
  readonly pid: number;
}

/**
 * Starts a backup that can't end: a file of a message is a pipe, and to open it waits until something writes to it. Resolves
 * once the copy of the database is there.
 */
async function heldBackup(...more: readonly string[]): Promise<Held> {
  const object = randomBytes(32).toString('hex');
  const connection = openConnection(join(data, 'deskbell.db'), { durability: 'full', lockTimeoutMs: 5_000 });
  connection.exec('delete from files');
  connection
    .prepare(
      `insert into files (id, organization_id, uploader, object, name, type, size, digest, state, created_at)
       select 'f', id, 'u', ?, 'n', 'text/plain', 1, 'd', 'ready', 1 from organizations limit 1`,
    )
    .run(object);
  connection.close();
  const pipe = objectPath(join(data, 'files'), object);
  await mkdir(dirname(pipe), { recursive: true });
  execFileSync('mkfifo', [pipe]);
  const scratch = fresh();
  const path = await pathWithChrt(scratch, `echo $$ > '${join(scratch, 'pid')}'`, 'own "$@"');
  const file = join(scratch, 'made.backup');
  const running = start(['backup', file, '--data', data, ...more], { ...secrets, PATH: path });
  const pid = await eventually(async () => {
    const [partial = ''] = await partialsIn(scratch);
    // Beside a passphrase nothing is there before all is read.
    if (more.length === 0) expect((await readFile(join(scratch, partial))).length).toBeGreaterThan(4_096);
    else expect(await partialsIn(data)).not.toEqual([]);
    return Number(await readFile(join(scratch, 'pid'), 'utf8'));
  });
  return { running, file, pid };
}

/** Ends the command and waits until the process that wrote for it is gone; it must not outlive a command that is over. */
async function expectBothEnded({ running, file, pid }: Held, signal: NodeJS.Signals): Promise<void> {
  expect((await running.stop(signal)).signal).toBe(signal);
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
  expect(await readdir(dirname(file))).not.toContain('made.backup');
}

it('is written in the idle class, by a process that shows no secret', async () => {
  const secret = join(folder, 'passphrase');
  await writeFile(secret, passphrase);
  const held = await heldBackup('--passphrase-file', secret);
  try {
    const stat = await statOf(held.pid);
    // Its parent, so that it is the command's.
    expect(stat[1]).toBe(String(held.running.child.pid));
    // Without a chrt it is no other class, and still the same process.
    expect(stat[38]).toBe(ownChrt === null ? '0' : idlePolicy);
    // The disk's class does not follow the processor's.
    if (ownIonice !== null)
      expect(execFileSync(ownIonice, ['-p', String(held.pid)], { encoding: 'utf8' })).toMatch(
        /^best-effort: prio 7$/m,
      );
    const [shown, environment] = await Promise.all(
      ['cmdline', 'environ'].map((what) => readFile(`/proc/${held.pid}/${what}`, 'latin1')),
    );
    expect(shown).toContain('backup-process');
    expect(environment).toContain('PATH=');
    for (const value of [...Object.values(secrets), passphrase])
      expect(`${shown}${environment}`).not.toContain(value);
    expect(environment).not.toContain('DESKBELL_');
  } finally {
    await expectBothEnded(held, 'SIGKILL');
  }
});

it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
  'ends with the command that is ended by %s, and what both left is removed by the next one',
  async (signal) => {
    const held = await heldBackup();
    await expectBothEnded(held, signal);
    await rm(join(data, 'files'), { recursive: true });
    await deskbellProcessJson(['backup', held.file, '--data', data], { env: secrets });
    expect(await readBackup(held.file)).toMatchObject({ key });
    expect([...(await partialsIn(dirname(held.file))), ...(await partialsIn(data))]).toEqual([]);
  },
);

it('goes on in the command itself where the process is killed', async () => {
  const held = await heldBackup();
  await rm(join(data, 'files'), { recursive: true });
  process.kill(held.pid, 'SIGKILL');
  const { code, stderr } = await held.running.ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(await readBackup(held.file)).toMatchObject({ key, files: { count: 0 } });
  expect(await partialsIn(dirname(held.file))).toEqual([]);
});

it('works where there is no chrt', async () => {
  const file = join(folder, 'without.backup');
  const PATH = await pathWithoutChrt(fresh());
  await deskbellProcessJson(['backup', file, '--data', data], { env: { ...secrets, PATH } });
  expect(await readBackup(file)).toMatchObject({ key });
});

it('says what is wrong in the same words as without that process', async () => {
  const taken = join(folder, 'taken');
  await writeFile(taken, 'mine');
  const broken = fresh();
  await mkdir(broken, { mode: 0o700 });
  await writeFile(join(broken, 'deskbell.db'), randomBytes(50_000));
  await writeFile(join(broken, 'secret.key'), `${key}\n`, { mode: 0o600 });
  const PATH = await pathWithoutChrt(fresh());
  for (const [args, pattern] of [
    [[taken, '--data', data], /exists already/],
    [[join(data, 'secret.key'), '--data', data], /itself keeps/],
    [[join(folder, 'nowhere', 'x'), '--data', data], /no folder/],
    [[join(folder, 'x'), '--data', broken], /not a database/],
  ] as const) {
    const outcome = await deskbell(['backup', ...args], { env: secrets });
    expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(pattern) });
    expect(await deskbell(['backup', ...args], { env: { ...secrets, PATH } })).toEqual(outcome);
  }
  expect(await readFile(taken, 'utf8')).toBe('mine');
  expect(await partialsIn(folder)).toEqual([]);
});

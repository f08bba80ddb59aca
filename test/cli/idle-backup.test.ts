// The backup command and the process that writes for it, as the system sees them: the class of that process, and what a list
// of processes shows of it.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readBackup } from '../../src/engine/sqlite/backup.ts';
import { deskbell, deskbellProcessJson, ensureBuilt, temporaryFolder } from '../helpers/cli.ts';
import { ownChrt, pathWithChrt, pathWithoutChrt, usualPriority } from '../helpers/idle-class.ts';

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

/**
 * What the launcher does in which order: it gives way, and loads the program.
 * @param mayGiveWay whether the system lets it
 */
async function orderOf(args: readonly string[], mayGiveWay = true): Promise<string[]> {
  const watch = `import os from 'node:os'; import { registerHooks } from 'node:module';
    const { setPriority } = os;
    os.setPriority = (priority) => {
      process.stderr.write('gives way to ' + priority + '\\n');
      if (!${mayGiveWay}) throw new Error('not permitted');
      setPriority(priority);
    };
    registerHooks({ load: (url, context, next) => {
      if (url.endsWith('/dist/cli.mjs')) process.stderr.write('loads\\n');
      return next(url, context);
    } });`;
  const { code, stderr } = await deskbell(args, {
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(watch)}` },
  });
  expect(code).toBe(0);
  return stderr.trim().split('\n');
}

it.each([
  { args: ['backup', '--help'] },
  { args: ['--data', 'here', 'backup', '--help'] },
  { args: ['--data=here', '--json', 'backup', '--help'] },
])('gives way before the program is loaded: $args', async ({ args }) => {
  expect(await orderOf(args)).toEqual(['gives way to 19', 'loads']);
});

it.each([
  { args: ['serve', '--data', 'backup', '--help'] },
  { args: ['--data', 'backup', '--help'] },
  { args: ['--port', 'backup', '--help'] },
  { args: ['restore', '--help'] },
])('no other command gives way: $args', async ({ args }) => {
  expect(await orderOf(args)).toEqual(['loads']);
});

it('is begun also where it may not give way', async () => {
  expect(await orderOf(['backup', '--help'], false)).toEqual(['gives way to 19', 'loads']);
});

it('is written in the idle class, by a process that is shown no secret', async () => {
  const secret = join(folder, 'passphrase');
  await writeFile(secret, passphrase);
  const scratch = fresh();
  const seen = (what: string): string => join(scratch, what);
  // It looks at what it is given, and fails: a busy machine may give the process itself no time at all.
  const path = await pathWithChrt(
    scratch,
    `echo "$@" > '${seen('arguments')}'`,
    `env > '${seen('environment')}'`,
    `(own cat /proc/self/stat > '${seen('stat')}')`,
    'exit 1',
  );
  const file = join(scratch, 'made.backup');
  const args = ['backup', file, '--data', data, '--passphrase-file', secret];
  const { NODE_OPTIONS } = await usualPriority(fresh());
  await deskbellProcessJson(args, { env: { ...secrets, NODE_OPTIONS, PATH: path } });
  expect(await readBackup(file, passphrase)).toMatchObject({ key });
  const read = (what: string): Promise<string> => readFile(seen(what), 'latin1');
  const stat = (await read('stat'))
    .replace(/^.*\) /s, '')
    .trim()
    .split(' ');
  // Without a chrt there is no other class.
  expect(stat[38]).toBe(ownChrt === null ? '0' : idlePolicy);
  const [shown, environment] = [await read('arguments'), await read('environment')];
  expect(shown).toMatch(/^ionice -c 2 -n 7 .*backup-process/);
  expect(environment).toContain('PATH=');
  for (const value of [...Object.values(secrets), passphrase])
    expect(`${shown}${environment}`).not.toContain(value);
  expect(environment).not.toContain('DESKBELL_');
});

it('removes what killed ones have left, of other names after an hour', async () => {
  const where = fresh();
  await mkdir(where);
  const left = async (name: string, machine: string, pid: number, hours: number): Promise<string> => {
    const file = `${name}.backup.${machine}-${pid}-0badcafe.partial`;
    await writeFile(join(where, file), 'half');
    const at = new Date(Date.now() - hours * 3_600_000);
    await utimes(join(where, file), at, at);
    return file;
  };
  // Above the highest number that a process can have.
  const dead = 4_194_305;
  await left('monday', hostname(), dead, 2);
  await left('wednesday', hostname(), dead, 0);
  const kept = [
    await left('tuesday', hostname(), dead, 0.5),
    await left('tuesday', hostname(), process.pid, 2),
    await left('tuesday', 'another', dead, 2),
  ];
  const { NODE_OPTIONS } = await usualPriority(fresh());
  const args = ['backup', join(where, 'wednesday.backup'), '--data', data];
  await deskbellProcessJson(args, { env: { ...secrets, NODE_OPTIONS } });
  expect((await partialsIn(where)).toSorted()).toEqual(kept.toSorted());
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
  const { NODE_OPTIONS, PATH } = await usualPriority(fresh());
  for (const [args, pattern] of [
    [[taken, '--data', data], /exists already/],
    [[join(data, 'secret.key'), '--data', data], /itself keeps/],
    [[join(folder, 'nowhere', 'x'), '--data', data], /no folder/],
    [[join(folder, 'x'), '--data', broken], /not a database/],
  ] as const) {
    const outcome = await deskbell(['backup', ...args], { env: { ...secrets, NODE_OPTIONS } });
    expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(pattern) });
    const without = { ...secrets, NODE_OPTIONS, PATH };
    expect(await deskbell(['backup', ...args], { env: without })).toEqual(outcome);
  }
  expect(await readFile(taken, 'utf8')).toBe('mine');
  expect(await partialsIn(folder)).toEqual([]);
});

// Owns: that a backup leaves the processor to a server beside it, that it is made where that can't be had, and that it
// changes nothing in a program that makes one without a process of its own.
import { spawnSync } from 'node:child_process';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { deskbellJson, inProcess, temporaryFolder } from '../helpers/cli.ts';

const onLinux = process.platform === 'linux';
const hasPolicy = onLinux && spawnSync('chrt', ['--version']).status === 0;

/** Priority and policy of a process that has given way. */
function afterGivingWay(path: string | undefined): { priority: number; policy: number | null } {
  const script = `
    import { readFileSync } from 'node:fs';
    import { getPriority } from 'node:os';
    import { giveWay } from ${JSON.stringify(new URL('../../src/cli/give-way.ts', import.meta.url))};
    giveWay();
    const stat = process.platform === 'linux' ? readFileSync('/proc/self/stat', 'utf8') : null;
    // Counted from behind the name, which may hold anything: the 41st field of all.
    const policy = stat && Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38]);
    console.log(JSON.stringify({ priority: getPriority(), policy }));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env: { ...process.env, ...(path === undefined ? {} : { PATH: path }) },
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout) as ReturnType<typeof afterGivingWay>;
}

it.runIf(hasPolicy)('a process that gives way has the lowest priority and runs in idle time', () => {
  expect(afterGivingWay(undefined)).toEqual({ priority: 19, policy: 5 });
});

it.runIf(onLinux)('where no program sets the policy, the lowest priority is all there is', () => {
  expect(afterGivingWay('/nowhere')).toEqual({ priority: 19, policy: 0 });
});

it('a backup in a process that is not its own leaves its priority as it is', async () => {
  const { folder, remove } = await temporaryFolder();
  const data = join(folder, 'data');
  await deskbellJson(['org', 'create', 'acme', '--data', data]);
  const before = getPriority();
  expect((await inProcess(['backup', join(folder, 'file.backup'), '--data', data])).code).toBe(0);
  expect(getPriority()).toBe(before);
  await remove();
});

// What root makes in the data folder of another user, whose server could not read it: refused, and found by doctor.
// Only root can give files away.
import { chmod, chown, lchown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskbell, deskbellJson, ensureBuilt } from '../helpers/cli.ts';
import { repository, run } from '../helpers/command.ts';

const other = 65_534;
let folder: string;

describe.runIf(process.getuid?.() === 0)('root in the folder of another user', () => {
  beforeAll(async () => {
    await ensureBuilt();
    // The tests' own folder is closed to other users, below all others of the system.
    folder = await mkdtemp('/var/tmp/deskbell-owner-');
    await chmod(folder, 0o711);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const asOther = (...args: string[]) =>
    run('setpriv', [`--reuid=${other}`, '--clear-groups', process.execPath, 'bin/deskbell.js', ...args], {
      cwd: repository,
      expect: 1,
    });

  it('makes no database, restores and imports nothing there, and says as whom to do it', async () => {
    const mine = join(folder, 'mine');
    await deskbellJson(['org', 'create', 'Acme', '--data', mine]);
    await deskbellJson(['backup', join(folder, 'a.backup'), '--data', mine]);
    await deskbellJson(['export', join(folder, 'a.jsonl'), '--org', 'acme', '--data', mine]);
    const theirs = await mkdtemp(join(folder, 'theirs-'));
    await chown(theirs, other, other);
    for (const command of [
      ['org', 'create', 'Acme'],
      ['restore', join(folder, 'a.backup')],
      ['import', join(folder, 'a.jsonl')],
    ])
      expect(await deskbell([...command, '--data', theirs]), command[0]).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`sudo -u '#${other}'`),
      });
    expect(await readdir(theirs)).toEqual([]);
  });

  it.each(['deskbell.db', 'secret.key'])(
    'a server that may not read %s says whose it must be',
    async (name) => {
      const data = join(folder, name);
      await deskbellJson(['org', 'create', 'Acme', '--data', data]);
      for (const file of [data, ...(await readdir(data)).map((one) => join(data, one))])
        if (!file.endsWith(`/${name}/${name}`)) await lchown(file, other, other);
      const { stderr } = await asOther('serve', '--port', '0', '--data', data);
      expect(stderr).toContain(`chown -R ${other} ${data}`);
      const { stdout } = await deskbell(['doctor', '--json', '--data', data]);
      expect(stdout).toContain(`${join(data, name)} belongs to user 0, and the folder to user ${other}`);
      // A backup that is restored would not help, and would put the newest messages aside.
      expect((await asOther('doctor', '--json', '--data', data)).stdout).not.toContain('Restore a backup');
    },
  );
});

// A backup uses what brings its copy to the disk bit by bit, and a sync that fails there is no backup.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { backUpDataFolder } from '../../src/data-folder.ts';
import * as syncing from '../../src/engine/sqlite/sync-behind.ts';
import { startApp } from '../helpers/app.ts';

vi.mock('../../src/engine/sqlite/sync-behind.ts', { spy: true });

it('copies the database while the thread syncs it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-backup-'));
  const app = await startApp({ engine: 'sqlite' });
  try {
    const file = join(folder, 'good.backup');
    await backUpDataFolder(readConfig({ data: app.folder }, {}), file, false, Date.now());
    const watched = vi.mocked(syncing.syncBehind);
    expect(watched).toHaveBeenCalledTimes(1);
    // What was written is the copy: what SQLite says of a VACUUM.
    expect(await watched.mock.results[0]?.value).toMatchObject({ changes: 0 });
    watched.mockImplementationOnce(() => Promise.reject(new Error('the disk is broken')));
    const other = join(folder, 'other.backup');
    await expect(
      backUpDataFolder(readConfig({ data: app.folder }, {}), other, false, Date.now()),
    ).rejects.toThrow('the disk is broken');
  } finally {
    await app.stop();
    await rm(folder, { recursive: true });
  }
});

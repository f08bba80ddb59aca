// What a server tells V8 of its heap. That it is collected less often then shows under load alone: bench/steady.ts.
import { expect, it } from 'vitest';
import { ensureBuilt, serve, temporaryFolder } from '../helpers/cli.ts';

it('a server begins with its own thresholds of whole collections, which its V8 knows', async () => {
  await ensureBuilt();
  const { folder, remove } = await temporaryFolder();
  try {
    const watch = `import v8 from 'node:v8'; import { syncBuiltinESMExports } from 'node:module';
      const set = v8.setFlagsFromString;
      v8.setFlagsFromString = (flag) => { if (flag.includes('trigger')) process.stderr.write(flag + '\\n'); set(flag); };
      syncBuiltinESMExports();`;
    const { running } = await serve(['--data', folder], {
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(watch)}`,
    });
    const { stderr } = await running.stop('SIGTERM');
    // V8 writes "Error: unrecognized flag" where there is none of the name.
    expect(stderr.split('\n').filter((line) => !line.startsWith('{') && line !== '')).toEqual([
      '--incremental-marking-soft-trigger=60',
      '--incremental-marking-hard-trigger=80',
    ]);
  } finally {
    await remove();
  }
});

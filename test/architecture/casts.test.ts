// Owns: that casts become fewer. `as const` is none.
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';

/** How many there are in src and widget. Lower it with every cast that goes; it never rises. */
const maxCasts = 95;

test('there are no more casts than before', async () => {
  const config = join(tmpdir(), 'casts.json');
  const rule = ['error', { assertionStyle: 'never' }];
  await writeFile(
    config,
    JSON.stringify({
      plugins: ['typescript'],
      categories: { correctness: 'off' },
      rules: { 'typescript/consistent-type-assertions': rule },
    }),
  );
  const { stdout } = await new Running(
    process.execPath,
    [join(repository, 'node_modules/oxlint/bin/oxlint'), '-c', config, '--format', 'unix', 'src', 'widget'],
    { cwd: repository, env: cleanEnvironment() },
  ).ended;
  await rm(config);
  const casts = stdout.split('\n').filter((line) => line.includes('(consistent-type-assertions)'));
  // A rule that was renamed would find none.
  expect(casts.length).toBeGreaterThan(0);
  expect(casts.length, casts.join('\n')).toBeLessThanOrEqual(maxCasts);
});

// Owns what `npm run bench` says of options that are none: a name that measures nothing must not end well.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';

const bench = (...words: string[]): Running['ended'] =>
  new Running(process.execPath, [join(repository, 'bench/main.ts'), ...words], { env: cleanEnvironment() })
    .ended;

it.each([
  ['--only', 'stead', /^There is no measurement "stead". --only takes: ws, .*steady/],
  ['--peers', 'none', /^There is no server "none". --peers takes: ceiling, /],
  ['--rounds', 'many', /^--rounds must be a number above 0\.$/m],
  ['--seconds', '0', /^--seconds must be a number above 0\.$/m],
])('%s %s is refused', async (option, word, said) => {
  expect(await bench(option, word)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(said),
  });
});

it('the help knows every measurement', async () => {
  const { stderr } = await bench('--only', 'none');
  const { stdout: help } = await bench('--help');
  const names = (/--only takes: (.*)\./.exec(stderr)?.[1] ?? '').split(', ');
  expect(names).toContain('console');
  for (const name of names) expect(help).toMatch(new RegExp(`\\b${name}\\b`));
});

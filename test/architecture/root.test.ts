// Owns: that nothing lies at the root of the repository without a reason.
import { readFile, readdir } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../helpers/command.ts';

const known: Readonly<Record<string, string>> = {
  '.ci': 'what continuous integration runs',
  '.dockerignore': 'Docker reads it beside the Dockerfile',
  '.editorconfig': 'editors look for it here',
  '.git': 'the repository itself',
  '.gitignore': 'what git leaves alone',
  '.npmrc': 'npm reads it beside package.json',
  '.oxfmtrc.json': 'oxfmt reads it at the root',
  '.oxlintrc.json': 'oxlint reads it at the root',
  'CHANGELOG.md': 'what users notice, release by release',
  'CONTRIBUTING.md': 'for those who change the code',
  Dockerfile: 'the container image',
  LICENSE: 'the licence',
  'README.md': 'what a newcomer needs',
  'SECURITY.md': 'how to report a weakness; GitHub looks for it here',
  bench: 'measurements of speed',
  bin: 'the command',
  docs: 'the documentation, also served at /docs',
  'esbuild.config.mjs': 'the one build file',
  migrations: 'the schema of the database, step by step',
  'package-lock.json': 'exact versions',
  'package.json': 'the package',
  src: 'the program',
  test: 'the tests',
  'tsconfig.json': 'TypeScript reads it at the root',
  'vitest.config.ts': 'Vitest reads it at the root',
  widget: 'the widget, and the package @deskbell/sdk',
};

test('every file at the root is known, and every known one is there', async () => {
  const ignored = (await readFile(join(repository, '.gitignore'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(/^\//, '').replace(/\/$/, ''));
  const found = (await readdir(repository)).filter(
    (name) => !ignored.some((pattern) => matchesGlob(name, pattern)),
  );
  // An unpacked archive of the sources has no .git.
  const expected = Object.keys(known).filter((name) => name !== '.git' || found.includes('.git'));
  expect(found.toSorted()).toEqual(expected.toSorted());
});

// Owns: that an error is called as its class is, in its name and in what functions say they throw.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../helpers/command.ts';

async function sources(): Promise<{ file: string; text: string }[]> {
  const names = await readdir(join(repository, 'src'), { recursive: true });
  return Promise.all(
    names
      .filter((name) => /\.tsx?$/.test(name))
      .map(async (name) => ({ file: name, text: await readFile(join(repository, 'src', name), 'utf8') })),
  );
}

test('an error has the name of its class', async () => {
  const wrong = (await sources()).flatMap(({ file, text }) =>
    [...text.matchAll(/class (\w+) extends \w*Error \{\s+override readonly name(?:: string)? = '(\w+)'/g)]
      .filter(([, type, name]) => type !== name)
      .map(([, type, name]) => `${file}: ${type} is called ${name}`),
  );
  expect(wrong).toEqual([]);
});

test('what a function says it throws exists', async () => {
  const texts = await sources();
  const known = new Set(
    texts.flatMap(({ text }) =>
      [...text.matchAll(/(?:class|interface) (\w+Error)\b/g)].map(([, name]) => name),
    ),
  );
  for (const name of ['Error', 'RangeError', 'TypeError']) known.add(name);
  const unknown = texts.flatMap(({ file, text }) =>
    [...text.matchAll(/@throws \{?([A-Z]\w+)/g)]
      .filter(([, name]) => !known.has(name))
      .map(([, name]) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

// Owns: `deskbell knowledge log`: what was asked and answered, as a table, in full and as JSON, of one organization or
// application. Must not start a process.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inProcess, temporaryFolder } from '../helpers/cli.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

let data: string;
let app: string;
let remove: () => Promise<void>;

const run = (...args: string[]) => inProcess([...args, '--data', data]);

beforeAll(async () => {
  const temporary = await temporaryFolder();
  remove = temporary.remove;
  data = join(temporary.folder, 'data');
  for (const slug of ['acme', 'other']) await run('org', 'create', slug);
  await run('org', 'plan', 'acme', 'premium');
  app = (
    JSON.parse((await run('app', 'create', 'Shop', '--org', 'acme', '--json')).stdout) as { appId: string }
  ).appId;
  const file = join(temporary.folder, 'refunds.md');
  await writeFile(file, '# Refunds\n\nYou can return any product within 30 days after delivery.');
  await run('knowledge', 'add', '--app', app, file);
});
afterAll(() => remove());

test('is empty as long as nothing was asked', async () => {
  expect(await run('knowledge', 'log', '--org', 'acme')).toMatchObject({ code: 0, stdout: '' });
});

test('lists what was asked, newest first, of this organization only', async () => {
  await run('knowledge', 'ask', '--app', app, 'Can I return any product within 30 days?');
  await run('knowledge', 'ask', '--app', app, 'Which telescope\u001b[31m tastes of strawberries?');
  const { stdout } = await run('knowledge', 'log', '--org', 'acme');
  const [head, first, second] = stdout.split('\n');
  expect(head).toMatch(/^WHEN\s+WAY\s+OUTCOME\s+MODEL\s+MS\s+QUESTION\s+ANSWER/);
  expect(first).toMatch(/ask\s+refused.*Which telescope/);
  expect(stdout).not.toContain('\u001b[31m');
  expect(second).toMatch(/ask\s+answered.*Can I return any product \S*\s+\S.*You can return/);
  expect((await run('knowledge', 'log', '--org', 'other', '--json')).stdout).toBe('{"items":[]}\n');
});

test('by application, in full, as JSON, as many as wanted', async () => {
  const full = await run('knowledge', 'log', '--app', app, '--full', '--limit', '1');
  expect(full.stdout).toMatch(/question\s+Which telescope/);
  expect(full.stdout).not.toContain('Can I return');
  const { items } = JSON.parse((await run('knowledge', 'log', '--app', app, '--json')).stdout) as {
    items: { door: string; sources: { title: string }[] }[];
  };
  expect(items).toMatchObject([
    { door: 'ask', sources: [] },
    { door: 'ask', sources: [{ title: 'Refunds' }] },
  ]);
});

test('wants to know whose', async () => {
  expect(await run('knowledge', 'log')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--org') as string,
  });
  expect((await run('knowledge', 'log', '--org', 'unknown')).code).toBe(1);
  expect((await run('knowledge', 'log', '--org', 'other', '--app', app)).code).toBe(1);
});

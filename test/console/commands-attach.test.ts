// Owns: files that commands send and name, against a real server.
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inProcess } from '../helpers/cli.ts';
import { download, pngPicture, uploadFile } from '../helpers/files.ts';
import { createConversation } from '../helpers/fixtures.ts';
import { app, document, expectFailure, folder, login, visitor, withCommands } from './command-fixture.ts';

withCommands();

interface Sent {
  readonly id: string;
  readonly content: string;
  readonly attachments: { readonly name: string; readonly url: string }[];
}

test('reply and note send files; show, usage and limits name them; the same key sends once', async () => {
  await login();
  const id = await createConversation(visitor);
  await document('accept', id);
  const picture = join(folder, 'Größe 1.png');
  const notes = join(folder, 'notes.txt');
  await writeFile(picture, pngPicture(8, 8));
  await writeFile(notes, 'two\nlines');
  const first = await document<Sent>('reply', id, '--attach', picture, '--attach', notes, '--once', 'k');
  expect([first.content, first.attachments.map(({ name }) => name)]).toEqual([
    'Größe 1.png, notes.txt',
    ['Größe 1.png', 'notes.txt'],
  ]);
  expect((await download(first.attachments[1]!.url)).bytes.toString()).toBe('two\nlines');
  const again = await document<Sent>('reply', id, '--attach', picture, '--attach', notes, '--once', 'k');
  expect(again.id).toBe(first.id);
  const note = await document<Sent>('note', id, 'inside', '--attach', notes);
  expect([note.content, note.attachments.length]).toEqual(['inside', 1]);
  await visitor.call('POST', `/conversations/${id}/messages`, {
    content: 'from me',
    attachments: [(await uploadFile(app, visitor, Buffer.from('x'), { name: 'mine.txt' })).body.file.id],
  });
  const { stdout } = await inProcess(['show', id]);
  for (const name of ['Größe 1.png', 'notes.txt', 'mine.txt']) expect(stdout).toContain(name);
  expect(stdout).toContain('/api/v1/files/');
  expect((await inProcess(['org', 'usage', 'acme', '--data', app.folder])).stdout).toMatch(/files +4, /);
  const limits = await inProcess(['org', 'limits', 'acme', '--file-storage', '5', '--data', app.folder]);
  expect(limits.stdout).toMatch(/files +at most 5 GiB \(its own\)/);
});

test('what can not be sent is said before anything is', async () => {
  await login();
  const id = await createConversation(visitor);
  await document('accept', id);
  const file = join(folder, 'setup.exe');
  await writeFile(file, 'x');
  const large = join(folder, 'large.bin');
  await writeFile(large, '');
  await expectFailure(1, /There is no file/, ['reply', id, 'x', '--attach', join(folder, 'none')]);
  await expectFailure(1, /is empty/, ['reply', id, 'x', '--attach', large]);
  await truncate(large, 26 * 1_048_576);
  await expectFailure(1, /26 MiB.*25 MiB/, ['reply', id, 'x', '--attach', large]);
  await expectFailure(1, /\.exe are not taken/, ['reply', id, 'x', '--attach', file]);
  const pending = await createConversation(visitor);
  await expectFailure(1, /\.exe are not taken/, ['note', pending, 'x', '--attach', file]);
  const eleven = Array.from({ length: 11 }, () => ['--attach', file]).flat();
  await expectFailure(2, /at most 10/, ['reply', id, 'x', ...eleven]);
  expect((await visitor.call('GET', `/conversations/${id}/messages`)).body.messages).toEqual([]);
});

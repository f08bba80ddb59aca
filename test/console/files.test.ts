// Owns: files of the operator's machine are read, saved and opened, and nothing is run, written over or left half.
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFileAccess, safeFileName } from '../../src/cli/console/files.ts';

let home: string;
let server: Server;
let address: string;
const started: string[][] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/gone') {
      response.writeHead(404).end('{}');
      return;
    }
    if (request.url === '/half') {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setTimeout(() => response.destroy(), 20);
      return;
    }
    response.end('a whole file');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'deskbell-files-'));
  started.length = 0;
  return () => rm(home, { recursive: true, force: true });
});

const access = (platform: NodeJS.Platform = 'linux'): ReturnType<typeof createFileAccess> =>
  createFileAccess({
    home,
    platform,
    target: () => ({ address: `${address}/files`, headers: {} }),
    start: async (command, args) => void started.push([command, ...args]),
  });

describe('reading', () => {
  test('a file in the home folder, with its name and size', async () => {
    await writeFile(join(home, 'plan.pdf'), 'pdf');
    expect(await access().read('~/plan.pdf')).toMatchObject({ name: 'plan.pdf', size: 3 });
  });

  test('what is none is said', async () => {
    await expect(access().read('~/missing')).rejects.toThrow('There is no file ~/missing.');
    await expect(access().read('~')).rejects.toThrow('~ is no file.');
    await expect(access().read('/dev/zero')).rejects.toThrow('/dev/zero is no file.');
  });
});

describe('saving', () => {
  test('stores the bytes, for the person alone, and makes the folder', async () => {
    const path = await access().save(`${address}/file`, '~/new/plan.pdf');
    expect(path).toBe(join(home, 'new/plan.pdf'));
    expect(await readFile(path, 'utf8')).toBe('a whole file');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('never over another file', async () => {
    await writeFile(join(home, 'plan.pdf'), 'mine');
    await expect(access().save(`${address}/file`, '~/plan.pdf')).rejects.toThrow('is there already');
    expect(await readFile(join(home, 'plan.pdf'), 'utf8')).toBe('mine');
  });

  test.each(['/gone', '/half'])('leaves nothing of %s', async (path) => {
    await expect(access().save(address + path, '~/plan.pdf')).rejects.toThrow(/HTTP 404|terminated/);
    expect(await readdir(home)).toEqual([]);
  });

  test('a free name is suggested', async () => {
    expect(access().suggestedPath('plan.pdf')).toBe('~/plan.pdf');
    await mkdir(join(home, 'Downloads'));
    await writeFile(join(home, 'Downloads/plan.pdf'), '');
    expect(access().suggestedPath('plan.pdf')).toBe('~/Downloads/plan (2).pdf');
  });

  test.each([
    ['../../.ssh/authorized_keys', '_.._.ssh_authorized_keys'],
    ['..', 'file'],
    ['.bashrc', 'bashrc'],
    ['a/b\\c:d', 'a_b_c_d'],
    ['-rf', 'rf'],
    ['', 'file'],
  ])('%j is saved as a plain name', (name, plain) => {
    expect(safeFileName(name)).toBe(plain);
  });

  test('no control character and no turned direction stays in a name, nor is it too long', () => {
    expect(safeFileName('\u001b]0;title\u0007x.png')).not.toContain('\u001b');
    expect(safeFileName('photo\u202egnp.exe')).not.toContain('\u202e');
    expect(safeFileName(`${'ü'.repeat(300)}.pdf`)).toMatch(/^ü{10,98}\.pdf$/);
  });
});

describe('opening', () => {
  test.each([
    ['linux', 'xdg-open'],
    ['darwin', 'open'],
    ['win32', 'rundll32'],
  ] as const)('on %s by %s, which is no shell', async (platform, command) => {
    await access(platform).open('https://chat.example.com/api/v1/files/1?a=1&b=$(reboot)');
    expect(started[0]?.[0]).toBe(command);
    expect(started[0]?.at(-1)).toBe('https://chat.example.com/api/v1/files/1?a=1&b=$(reboot)');
  });

  test.each([
    'file:///etc/passwd',
    'javascript:alert(1)',
    'smb://evil.example/x',
    'ms-settings:',
    'https://user:secret@evil.example/',
    '/bin/sh',
    'xdg-open:x',
  ])('%s is handed to no program', async (url) => {
    await expect((async () => access().open(url))()).rejects.toThrow(/no address of the web|Invalid URL/);
    expect(started).toEqual([]);
  });
});

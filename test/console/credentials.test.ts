// Owns: the file of saved sessions: private whatever the umask, whole when several write at
// once, and never used when another user could have written it.
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openCredentials, type Credentials, type SignIn } from '../../src/cli/credentials.ts';
import { serverUrl } from '../../src/cli/remote.ts';
import { userFolders, terminalEnvironment } from '../../src/config/user-environment.ts';

let around: string;
let folder: string;
let warnings: string[];
let credentials: Credentials;

beforeEach(async () => {
  around = await mkdtemp(join(tmpdir(), 'deskbell-credentials-'));
  folder = join(around, 'above', 'deskbell');
  warnings = [];
  credentials = openCredentials({ folder, warn: (sentence) => warnings.push(sentence) });
});
afterEach(() => rm(around, { recursive: true, force: true }));

function aSignIn(url: string, organization: string, token = `dbs_${organization}`): SignIn {
  return {
    url,
    organization,
    organizationName: organization,
    token,
    expiresAt: '2026-12-21T00:00:00.000Z',
    member: { id: '1', name: 'Ann', email: 'a@b.co' },
  };
}

const rights = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

describe('what is kept', () => {
  test('one for each server and organization, the one used last first', async () => {
    expect(await credentials.list()).toEqual([]);
    const [one, two, three] = [aSignIn('http://a', 'x'), aSignIn('http://a', 'y'), aSignIn('https://b', 'x')];
    for (const each of [one, two, three]) await credentials.save(each);
    expect(await credentials.list()).toEqual([three, two, one]);
    expect(await credentials.find({})).toEqual(three);
    expect(await credentials.find({ url: 'http://a' })).toEqual(two);
    expect(await credentials.find({ organization: 'x' })).toEqual(three);
    expect(await credentials.find({ url: 'http://a', organization: 'x' })).toEqual(one);
    expect(await credentials.find({ url: 'http://nowhere' })).toBeNull();
    const again = aSignIn('http://a', 'x', 'dbs_newer');
    await credentials.save(again);
    expect(await credentials.list()).toEqual([again, three, two]);
    await credentials.remove({ url: 'http://a', organization: 'y' });
    await credentials.remove({ url: 'http://a', organization: 'never kept' });
    expect(await credentials.list()).toEqual([again, three]);
  });

  test('nothing, where the folder can’t be made, which is said before a session is begun', async () => {
    await writeFile(join(around, 'above'), 'a file');
    const refusal =
      /^No session can be kept in .*deskbell: .*\. Name a folder of yours with DESKBELL_CONFIG\.$/;
    await expect(credentials.prepare()).rejects.toThrow(refusal);
    await expect(credentials.save(aSignIn('http://a', 'x'))).rejects.toThrow(refusal);
  });

  test('twenty at the same time are all there, and nothing lies about', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `org-${index}`);
    await Promise.all(
      names.map((name) => openCredentials({ folder, warn: () => undefined }).save(aSignIn('http://a', name))),
    );
    expect((await credentials.list()).map(({ organization }) => organization).toSorted()).toEqual(
      names.toSorted(),
    );
    expect(await readdir(folder)).toEqual(['credentials.json']);
  });

  test('a command that died in the middle holds up no other', async () => {
    await credentials.save(aSignIn('http://a', 'x'));
    const lock = `${credentials.path}.lock`;
    await writeFile(lock, '');
    await utimes(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
    await credentials.save(aSignIn('http://a', 'y'));
    expect(await credentials.list()).toHaveLength(2);
  });

  test('where nothing can be written, one sentence says so', async () => {
    await writeFile(join(around, 'above'), 'a file, not a folder');
    await expect(credentials.save(aSignIn('http://a', 'x'))).rejects.toThrow(/above/);
    expect(await credentials.list()).toEqual([]);
  });
});

describe('who may read it', () => {
  test.each([0o000, 0o022])('its owner alone, under umask %o', async (mask) => {
    const before = process.umask(mask);
    try {
      await credentials.save(aSignIn('http://a', 'x'));
      await credentials.save(aSignIn('http://a', 'y'));
    } finally {
      process.umask(before);
    }
    expect([
      await rights(join(around, 'above')),
      await rights(folder),
      await rights(credentials.path),
    ]).toEqual(['700', '700', '600']);
  });

  test.each(['644', '640', '604', '666'])(
    'a file with rights %s is closed, and that is said once',
    async (mode) => {
      await credentials.save(aSignIn('http://a', 'x'));
      await chmod(credentials.path, mode);
      expect(await credentials.list()).toHaveLength(1);
      await credentials.list();
      expect(await rights(credentials.path)).toBe('600');
      expect(warnings).toEqual([expect.stringContaining('logout --all')]);
      expect(warnings.join()).not.toContain('dbs_');
    },
  );

  test('a folder in which others may write is refused with the remedy', async () => {
    await credentials.save(aSignIn('http://a', 'x'));
    await chmod(folder, 0o777);
    await expect(credentials.list()).rejects.toThrow(`chmod go-w ${folder}`);
    await expect(credentials.save(aSignIn('http://a', 'y'))).rejects.toThrow('chmod go-w');
    await chmod(folder, 0o700);
    expect(await credentials.list()).toHaveLength(1);
  });
});

test.each([
  ['', 'empty'],
  ['{"version":1,"signIns":[', 'cut off'],
  ['[]', 'another shape'],
  ['{"version":2,"signIns":[]}', 'newer'],
  ['{"version":1,"signIns":[{"url":"http://a"}]}', 'a sign-in without its token'],
  [
    JSON.stringify({ version: 1, signIns: [{ ...aSignIn('http://a', 'x'), token: 1 }] }),
    'a token that is none',
  ],
  [JSON.stringify({ version: 1, signIns: [{ ...aSignIn('http://a', 'x'), member: null }] }), 'no member'],
])('a damaged file (%s) is named with what to do, and not written over', async (text) => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(credentials.path, text, { mode: 0o600 });
  await expect(credentials.list()).rejects.toThrow(`rm ${credentials.path}`);
  await expect(credentials.save(aSignIn('http://a', 'x'))).rejects.toThrow(credentials.path);
  expect(await readFile(credentials.path, 'utf8')).toBe(text);
  expect(await readdir(folder)).toEqual(['credentials.json']);
});

test.each([
  ['https://chat.example.com', 'https://chat.example.com'],
  ['chat.example.com', 'https://chat.example.com'],
  ['chat.example.com:8443/', 'https://chat.example.com:8443'],
  ['localhost:4600', 'http://localhost:4600'],
  ['127.0.0.1:4600', 'http://127.0.0.1:4600'],
  ['[::1]:4600', 'http://[::1]:4600'],
  [' HTTP://Example.com ', 'http://example.com'],
])('the address %s is %s', (typed, url) => expect(serverUrl(typed)).toBe(url));

test.each([
  '',
  'ftp://x',
  'javascript:alert(1)',
  'https://x/path',
  'https://x/?q',
  'https://x/#h',
  'exa mple.com',
])('the address %j is refused', (typed) => expect(() => serverUrl(typed)).toThrow(/chat\.example\.com/));
test('an address with a password in it is refused without repeating it', () => {
  expect(() => serverUrl('https://ann:secret-word@x')).toThrow(/asked for/);
  expect(() => serverUrl('https://ann:secret-word@x')).not.toThrow(/secret-word/);
});

test('the folders follow the platform, and a relative XDG folder is ignored', () => {
  expect(userFolders({ HOME: '/home/ann' }, 'linux')).toEqual({
    config: '/home/ann/.config/deskbell',
    state: '/home/ann/.local/state/deskbell',
  });
  expect(
    userFolders({ HOME: '/home/ann', XDG_CONFIG_HOME: '/x', XDG_STATE_HOME: 'relative' }, 'darwin'),
  ).toEqual({
    config: '/x/deskbell',
    state: '/home/ann/.local/state/deskbell',
  });
  expect(userFolders({ HOME: '/home/ann', DESKBELL_CONFIG: '/own', XDG_CONFIG_HOME: '/x' }, 'linux')).toEqual(
    {
      config: '/own',
      state: '/own',
    },
  );
  expect(userFolders({ APPDATA: '/roaming' }, 'win32').config).toBe(join('/roaming', 'deskbell'));
});

test('nothing but what describes the terminal reaches the console', () => {
  const seen = terminalEnvironment({
    TERM: 'xterm',
    DESKBELL_PASSWORD: 'secret',
    DESKBELL_SECRET_KEY: 'secret',
    AWS_SECRET: 'secret',
  });
  expect(seen['TERM']).toBe('xterm');
  expect(JSON.stringify(seen)).not.toContain('secret');
});

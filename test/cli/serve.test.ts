// Owns: the server as a process: how it starts, says where it is, ends, guards its
// folder, and hears what the command line changes beside it.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  deskbell,
  deskbellJson,
  ensureBuilt,
  serve,
  start,
  temporaryFolder,
  type ServeProcess,
} from '../helpers/cli.ts';
import { loadMasterKey, secretKeyFile } from '../../src/secret-key.ts';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';
import { eventually } from '../helpers/eventually.ts';

const oneLine = /^[^\n]+\n$/;
const visitor = '3f0c9a1e-5b7d-4c2a-9e8f-1a2b3c4d5e6f';

let folder: string;
let data: string;
let removeAll: () => Promise<void>;
const open: Running[] = [];

const kept = (running: Running): Running => {
  open.push(running);
  return running;
};
const served = async (
  args: readonly string[] = ['--data', data],
  env: Record<string, string> = {},
): Promise<ServeProcess> => {
  const one = await serve(args, env);
  kept(one.running);
  return one;
};

beforeAll(() => ensureBuilt());
beforeEach(async () => {
  ({ folder, remove: removeAll } = await temporaryFolder());
  data = join(folder, 'data');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((running) => running.stop('SIGKILL')));
  await removeAll();
});

/** Waits until a tail says that it listens. */
function hasBegun({ child }: Running): Promise<void> {
  let said = '';
  return new Promise((resolve) => {
    child.stderr?.on('data', (text: string) => {
      said += text;
      if (said.includes('Listening')) resolve();
    });
  });
}

/** Everything in the folder, by name, as a digest. */
async function contents(of: string): Promise<Record<string, string>> {
  const names = (await readdir(of)).toSorted();
  return Object.fromEntries(
    await Promise.all(
      names.map(
        async (name) =>
          [
            name,
            createHash('sha256')
              .update(await readFile(join(of, name)))
              .digest('hex'),
          ] as const,
      ),
    ),
  );
}

describe('start and stop', () => {
  test('with --json the first line is url, port and pid; SIGTERM ends it with 0', async () => {
    const { url, port, pid, running } = await served();
    expect({ url, port, pid }).toEqual({
      url: `http://127.0.0.1:${port}`,
      port: expect.any(Number),
      pid: running.child.pid,
    });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await deskbell(['healthcheck', '--url', url])).code).toBe(0);
    // Without an address: the one on the folder, wherever it listens, unless a port is named.
    const ofFolder = await deskbell(['healthcheck', '--data', data]);
    expect(ofFolder).toMatchObject({ code: 0, stdout: `${url} is ready.\n` });
    const ofPort = await deskbell(['healthcheck', '--data', data, '--port', '1']);
    expect(ofPort).toMatchObject({ code: 1, stderr: expect.stringContaining('127.0.0.1:1 is not ready') });
    const outcome = await running.stop('SIGTERM');
    expect(outcome.code).toBe(0);
    expect(outcome.stdout.trim().split('\n')).toHaveLength(1);
    const refused = await deskbell(['healthcheck', '--url', url]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^http:\S+ is not ready: no answer \(ECONNREFUSED\)\. Is the address right .*\?\n$/,
    );
  });

  test('people get a few lines, the last of which ends with the address; SIGINT ends it with 0', async () => {
    const running = kept(start(['serve', '--port', '0', '--data', data, '--durability', 'normal']));
    const [, url] = await running.line(/ (http:\/\/127\.0\.0\.1:\d+)$/);
    expect((await fetch(`${url!}/readyz`)).status).toBe(200);
    const { code, stdout } = await running.stop('SIGINT');
    const lines = stdout.trim().split('\n');
    expect(code).toBe(0);
    expect(lines.length).toBeLessThanOrEqual(8);
    expect(lines.at(-1)).toContain(url);
    expect(stdout).toContain(data);
    expect(stdout).toContain('loss of power');
    expect(stdout).toContain('org create');
  });

  test('deskbell alone, without a terminal, serves', async () => {
    const running = kept(start(['--port', '0', '--data', data]));
    await running.line(/ http:\/\/127\.0\.0\.1:\d+$/);
    expect((await running.stop('SIGTERM')).code).toBe(0);
  });

  test('a reader that goes away does not end it', async () => {
    const { url, running } = await served();
    running.child.stdout?.destroy();
    running.child.stderr?.destroy();
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect((await running.stop('SIGTERM')).code).toBe(0);
  });

  test('a taken port is one line and exit 1', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    const { port } = holder.address() as { port: number };
    const outcome = await deskbell([
      'serve',
      '--data',
      data,
      '--port',
      String(port),
      '--log-level',
      'silent',
    ]);
    holder.close();
    expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneLine) });
    expect(outcome.stderr).toContain('--port');
    // Nothing is held any more: the folder can be served at once.
    expect((await (await served()).running.stop('SIGTERM')).code).toBe(0);
  });
});

describe('the data folder', () => {
  test('a second server is refused, the first goes on; after kill -9 the next one starts', async () => {
    const first = await served();
    const second = await deskbell(['serve', '--data', data, '--port', '0', '--log-level', 'silent']);
    expect(second).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Another deskbell server[^\n]*\n$/),
    });
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    await first.running.stop('SIGKILL');
    const third = await served();
    expect((await fetch(`${third.url}/readyz`)).status).toBe(200);
  });

  test.each(['000', '022'])('is for its owner only, under umask %s', async (umask) => {
    const script = `umask ${umask}; exec "${process.execPath}" "${join(repository, 'bin/deskbell.js')}" serve --json --port 0 --data "${data}"`;
    const running = kept(new Running('sh', ['-c', script], { env: cleanEnvironment() }));
    await running.line(/"url"/);
    await deskbellJson(['org', 'create', 'Acme', '--data', data]);
    expect((await stat(data)).mode & 0o777).toBe(0o700);
    const names = await readdir(data);
    expect(names).toEqual(expect.arrayContaining(['deskbell.db', 'deskbell.db-wal', 'secret.key']));
    for (const name of names)
      expect({ name, mode: (await stat(join(data, name))).mode & 0o777 }).toEqual({ name, mode: 0o600 });
  });

  test('a newer schema is refused by server and command, untouched', async () => {
    await deskbellJson(['org', 'create', 'Acme', '--data', data]);
    const database = new Database(join(data, 'deskbell.db'));
    database.pragma(`user_version = ${(database.pragma('user_version', { simple: true }) as number) + 1}`);
    database.close();
    const before = createHash('sha256')
      .update(await readFile(join(data, 'deskbell.db')))
      .digest('hex');
    for (const args of [
      ['serve', '--port', '0', '--log-level', 'silent'],
      ['org', 'create', 'Beta'],
      ['org', 'list'],
    ]) {
      const outcome = await deskbell([...args, '--data', data]);
      expect(outcome).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^The database has schema[^\n]*\n$/),
      });
    }
    expect(
      createHash('sha256')
        .update(await readFile(join(data, 'deskbell.db')))
        .digest('hex'),
    ).toBe(before);
  });

  test.each([
    ['missing', (key: string) => rename(key, `${key}.away`)],
    ['another', (key: string) => writeFile(key, `${Buffer.alloc(32, 7).toString('base64')}\n`)],
    ['truncated', (key: string) => writeFile(key, 'c2hvcnQ=')],
    ['of 31 bytes', (key: string) => writeFile(key, Buffer.alloc(31).toString('base64'))],
    ['of 33 bytes', (key: string) => writeFile(key, Buffer.alloc(33).toString('base64'))],
    ['readable by others', (key: string) => chmod(key, 0o644)],
  ])('a secret key that is %s is refused, no new one made, nothing written', async (_what, spoil) => {
    await deskbellJson(['org', 'create', 'Acme', '--data', data]);
    await spoil(join(data, 'secret.key'));
    const before = await contents(data);
    for (const args of [
      ['serve', '--port', '0', '--log-level', 'silent'],
      ['org', 'create', 'Beta'],
    ]) {
      const outcome = await deskbell([...args, '--data', data]);
      expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneLine) });
      expect(outcome.stderr).toMatch(/key/);
    }
    const after = await contents(data);
    // The server's lock is a file of its own that holds nothing.
    delete after['deskbell.lock'];
    expect(after).toEqual(before);
  });

  test('a folder that can not be one is one line and exit 1', async () => {
    await mkdir(folder, { recursive: true });
    const file = join(folder, 'file');
    await writeFile(file, '');
    const outcome = await deskbell(['org', 'create', 'Acme', '--data', join(file, 'below')]);
    expect(outcome).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneLine) });
    await rm(file);
  });
});

test('a key that this user may not read is refused with what to do', async () => {
  const file = secretKeyFile(folder);
  await mkdir(folder, { recursive: true });
  await writeFile(file, '', { mode: 0o600 });
  // The superuser reads everything, so that it takes the place of another one.
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) {
    await chmod(folder, 0o700);
    process.seteuid?.(65_534);
  } else await chmod(file, 0);
  try {
    await expect(loadMasterKey(folder, null)).rejects.toThrow(/must belong to the user who runs this/);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});

describe('beside a running server', () => {
  test('a revoked key and a removed domain are refused', async () => {
    // Asking until the answer changes must not meet a limit.
    const { url } = await served(['--data', data, '--limit-visitor', 'off', '--limit-address-failed', 'off']);
    const on = ['--data', data];
    await deskbellJson(['org', 'create', 'Acme', ...on]);
    const { appId } = await deskbellJson([
      'app',
      'create',
      'Shop',
      '--org',
      'acme',
      '--domain',
      'shop.example',
      ...on,
    ]);
    const { id, key } = await deskbellJson(['key', 'create', '--app', appId, ...on]);
    const list = async (headers: Record<string, string>): Promise<number> =>
      (
        await fetch(`${url}/api/v1/conversations`, {
          headers: { 'X-App-Id': appId, 'X-Visitor-Id': visitor, ...headers },
        })
      ).status;
    const byKey = { Authorization: `Bearer ${key}` };
    const byOrigin = { Origin: 'https://shop.example' };
    await eventually(async () => expect([await list(byKey), await list(byOrigin)]).toEqual([200, 200]));

    await deskbellJson(['key', 'revoke', id, ...on]);
    await eventually(async () => expect(await list(byKey)).toBe(401));
    expect(await list(byOrigin)).toBe(200);
    await deskbellJson(['domain', 'remove', '--app', appId, 'shop.example', ...on]);
    await eventually(async () => expect(await list(byOrigin)).toBe(403));
  });

  test('tail tells what happens, as JSON lines and as text that no terminal obeys', async () => {
    const { url } = await served();
    const on = ['--data', data];
    for (const name of ['Acme', 'Other']) await deskbellJson(['org', 'create', name, ...on]);
    const { appId } = await deskbellJson(['app', 'create', 'Shop', '--org', 'acme', ...on]);
    const { key } = await deskbellJson(['key', 'create', '--app', appId, ...on]);
    const headers = {
      'X-App-Id': appId,
      'X-Visitor-Id': visitor,
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
    };
    const post = async (path: string, body: object): Promise<{ conversation: { id: string } }> =>
      (await (
        await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      ).json()) as {
        conversation: { id: string };
      };

    const json = kept(start(['tail', '--org', 'acme', '--json', ...on]));
    const text = kept(start(['tail', '--org', 'acme', ...on]));
    const other = kept(start(['tail', '--org', 'other', '--json', ...on]));
    // Only what comes after its start is told.
    await Promise.all([json, text, other].map(hasBegun));
    const { conversation } = await post('/conversations', { subject: 'Hello' });
    await Promise.all([json, text].map((one) => one.line(/conversation:new/)));
    await post(`/conversations/${conversation.id}/messages`, {
      content: '\u001b]0;pwned\u0007 \u202ehi\nthere \u009b2J',
    });
    const [line] = await json.line(/.*message:new.*/);
    expect(JSON.parse(line)).toMatchObject({
      type: 'message:new',
      conversationId: conversation.id,
      mode: 'live',
      payload: { senderRole: 'visitor' },
    });
    await text.line(/message:new/);
    const outcomes = await Promise.all([json, text, other].map((one) => one.stop('SIGINT')));
    for (const { code, stdout } of outcomes) {
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
    }
    expect(outcomes[2]!.stdout).toBe('');
  });
});

test('the demo serves a page, lets it in, and takes its folder with it', async () => {
  const running = kept(start(['demo', '--port', '0', '--json']));
  const [line] = await running.line(/^\{.*\}$/);
  const demo = JSON.parse(line) as {
    url: string;
    page: string;
    data: string;
    appId: string;
    organization: string;
    email: string;
    password: string;
  };
  expect(await (await fetch(demo.page)).text()).toContain('<script');
  const json = { 'Content-Type': 'application/json' };
  const session = await fetch(`${demo.url}/api/v1/staff/session`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ organization: demo.organization, email: demo.email, password: demo.password }),
  });
  expect(session.status).toBe(201);
  for (const origin of [demo.url, demo.url.replace('127.0.0.1', 'localhost')]) {
    const token = await fetch(`${demo.url}/api/v1/widget/ws-token`, {
      method: 'POST',
      headers: { 'X-App-Id': demo.appId, 'X-Visitor-Id': visitor, Origin: origin },
    });
    expect({ origin, status: token.status }).toEqual({ origin, status: 200 });
  }
  expect(existsSync(demo.data)).toBe(true);
  expect((await running.stop('SIGTERM')).code).toBe(0);
  expect(existsSync(demo.data)).toBe(false);
});

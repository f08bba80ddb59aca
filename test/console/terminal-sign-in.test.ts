// Owns: signing in by hand, on a real terminal: what is asked, what is shown of the
// answers, and leaving half-way. The same on a pty and in tmux.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openCredentials, type Credentials, type SignIn } from '../../src/cli/credentials.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { deskbell, ensureBuilt } from '../helpers/cli.ts';
import { repository } from '../helpers/command.ts';
import { eventually } from '../helpers/eventually.ts';
import { openPty, openTerminal, type Terminal } from '../helpers/terminal.ts';
import { createMember, createOrganization, memberPassword, type TestMember } from '../helpers/fixtures.ts';

let app: TestApp;
let ann: TestMember;
let folder: string;
let terminal: Terminal | null;
const environment = (): Record<string, string> => ({
  DESKBELL_CONFIG: join(folder, 'config'),
  DESKBELL_DATA: join(folder, 'no-data'),
});
const kept = (): Promise<string> => readFile(join(folder, 'config', 'credentials.json'), 'utf8');

beforeAll(async () => {
  await ensureBuilt();
  app = await startApp({ realTime: true });
  await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'operator', 'Ann');
});
afterAll(() => app.stop());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-sign-in-'));
  terminal = null;
});
afterEach(async () => {
  await terminal?.close();
  await rm(folder, { recursive: true, force: true });
});

describe.each([
  ['pty', openPty],
  ['tmux where there is one', openTerminal],
])('on a %s', (_name, open) => {
  test('asks for everything, takes a second password, and shows neither', async () => {
    terminal = await open(['login'], { columns: 80, rows: 24, environment: environment() });
    await terminal.waitFor('Server (Enter: http://127.0.0.1:4600):');
    await terminal.type('nonsense with blanks\n');
    await terminal.waitFor('is not the address of a server');
    await terminal.type(`${app.url}\n`);
    await terminal.waitFor('Organization');
    await terminal.type('acme\n');
    await terminal.waitFor('E-mail address:');
    await terminal.type(`${ann.email}\n`);
    await terminal.waitFor('Password (not shown):');
    await terminal.type('wrong horse\n');
    await terminal.waitFor('Once again');
    await terminal.type(`${memberPassword}\n`);
    await terminal.waitFor('Signed in to acme');
    // What to type next is the last thing that it says.
    expect(await terminal.waitFor('console')).toContain('as Ann');
    expect(await terminal.ended()).toBe(0);
    const raw = await terminal.raw();
    for (const secret of ['wrong horse', memberPassword, 'dbs_']) expect(raw).not.toContain(secret);
    expect(await kept()).not.toContain(memberPassword);
  });

  test('a server that is not there is said before the password is asked for', async () => {
    terminal = await open(['login', '--url', 'http://127.0.0.1:1'], {
      columns: 80,
      rows: 24,
      environment: environment(),
    });
    const screen = await terminal.waitFor("can't be reached");
    expect(screen).not.toMatch(/Organization|Password/);
    expect(await terminal.ended()).toBe(1);
  });

  test('Ctrl-C at the password leaves, and nothing is kept', async () => {
    const args = ['login', '--url', app.url, '--org', 'acme', '--email', ann.email];
    terminal = await open(args, { columns: 80, rows: 24, environment: environment() });
    await terminal.waitFor('Password');
    await terminal.type('half a pass');
    await terminal.press('ctrl+c');
    expect(await terminal.ended()).toBe(1);
    expect(await terminal.raw()).not.toContain('half a pass');
    await expect(kept()).rejects.toThrow(/ENOENT/);
  });
});

describe('which session the console takes', () => {
  const size = { columns: 200, rows: 30 };
  const aSession = (url: string, organization: string, token: string): SignIn => ({
    url,
    organization,
    organizationName: organization,
    token,
    expiresAt: '2099-01-01T00:00:00.000Z',
    member: { id: ann.id, name: 'Ann', email: ann.email },
  });
  const credentials = (): Credentials =>
    openCredentials({ folder: join(folder, 'config'), warn: () => undefined });

  test('of a data folder that is named, the one of its server; a demo that ends leaves none behind', async () => {
    const gone = aSession('http://127.0.0.1:1', 'demo', 'dbs_gone');
    await credentials().save(gone);
    const demo = await openPty(['demo', '--port', '0'], { ...size, environment: environment() });
    try {
      const [, data = ''] = /--data (\S+)/.exec(await demo.waitFor('Serving, until Ctrl-C')) ?? [];
      terminal = await openPty(['console', '--org', 'demo', '--data', data], {
        ...size,
        environment: environment(),
      });
      await terminal.waitFor('online');
      expect(await credentials().list()).toHaveLength(2);
      await terminal.press('q');
      expect(await terminal.ended()).toBe(0);
      await demo.press('ctrl+c');
      expect(await demo.ended()).toBe(0);
    } finally {
      await demo.close();
    }
    expect(await credentials().list()).toEqual([gone]);
  });

  test('it is the one used last afterwards', async () => {
    const used = aSession(app.url, 'acme', ann.token);
    await credentials().save(used);
    await credentials().save(aSession('http://127.0.0.1:1', 'demo', 'dbs_gone'));
    terminal = await openPty(['console', '--org', 'acme'], { ...size, environment: environment() });
    await terminal.waitFor('online');
    expect(await credentials().find({})).toEqual(used);
  });
});

test('a question waits for its answer, also where the console has let go of the keyboard', async () => {
  // As when a session ends: nothing else keeps this program alive, and a timer that does not either tells that it lives.
  const program = `
    const { openPrompt } = await import(${JSON.stringify(join(repository, 'src/cli/prompt.ts'))});
    process.stdin.unref();
    setTimeout(() => process.stdout.write('still here'), 50).unref();
    const word = await openPrompt(process.stdin, process.stderr).secret('Word: ');
    process.stdout.write('heard ' + word.length);
    process.exit(0);`;
  terminal = await openPty([], {
    columns: 80,
    rows: 24,
    program: [process.execPath, '--input-type=module', '-e', program],
  });
  const ended = terminal.ended();
  await Promise.race([terminal.waitFor('still here'), ended.then((code) => expect(code).toBe('waiting'))]);
  await terminal.type('word\n');
  expect(await ended).toBe(0);
  expect((await terminal.screen()).join(' ')).toContain('heard 4');
});

test('without a terminal the console says what there is instead, and asks nothing', async () => {
  const outcome = await deskbell(['console'], { env: environment() });
  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toMatch(
    /^The console needs a terminal\. .*deskbell.* inbox.*reply ID TEXT.*tail --follow\n$/,
  );
});

test('plain http to another machine is warned of before the password', async () => {
  // An address that never answers, so that nothing is sent: reserved for documentation.
  terminal = await openPty(['login', '--url', 'http://192.0.2.1:9'], {
    columns: 80,
    rows: 24,
    environment: environment(),
  });
  await eventually(async () => expect(await terminal?.raw()).toMatch(/plain\s+http/));
  expect(await terminal.raw()).not.toContain('Password');
});

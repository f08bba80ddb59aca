// Owns: login and logout against a real server: what is kept and never shown, what is said
// when it can't be done, and the session for the owner of the data folder.
import { readFile, stat } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { createContext } from '../../src/cli/context.ts';
import { signInLocally } from '../../src/cli/local-sign-in.ts';
import { plainColumns } from '../../src/cli/print.ts';
import { inProcess, outputStream } from '../helpers/cli.ts';
import { request } from '../helpers/client.ts';
import { startProxy } from '../helpers/proxy.ts';
import { createConversation, createMember, createOrganization, memberPassword } from '../helpers/fixtures.ts';
import {
  ann,
  app,
  credentialsFile,
  document,
  expectFailure,
  login,
  visitor,
  withCommands,
} from './command-fixture.ts';

withCommands();

describe('login and logout', () => {
  test('keeps the session and never the password, and shows neither', async () => {
    const args = [
      'login',
      '--url',
      app.url,
      '--org',
      'ACME ',
      '--email',
      ann.email,
      '--password-stdin',
      '--json',
    ];
    const outcome = await inProcess(args, { input: memberPassword });
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(outcome.stdout)).toEqual({
      url: app.url,
      organization: 'acme',
      organizationName: 'acme',
      member: { id: ann.id, name: 'Ann', email: ann.email },
      expiresAt: expect.any(String),
    });
    const kept = await readFile(credentialsFile(), 'utf8');
    expect(kept).not.toContain(memberPassword);
    expect((await stat(credentialsFile())).mode & 0o777).toBe(0o600);
    const { token } = (JSON.parse(kept) as { signIns: { token: string }[] }).signIns[0]!;
    for (const shown of [
      await inProcess(['login', '--list']),
      await inProcess(['login', '--list', '--json']),
      await inProcess(['inbox', '--json']),
    ])
      expect(`${shown.stdout}${shown.stderr}${outcome.stdout}`).not.toContain(token);
    expect(app.logged.join('')).not.toContain(token);
  });

  test('the password may come by a variable', async () => {
    vi.stubEnv('DESKBELL_PASSWORD', memberPassword);
    expect(await document('login', '--url', app.url, '--org', 'acme', '--email', ann.email)).toMatchObject({
      organization: 'acme',
    });
  });

  test('what is missing is named, with every way to give it', async () => {
    await expectFailure(2, /--org S, --email E, the password, by --password-stdin or DESKBELL_PASSWORD/, [
      'login',
      '--url',
      app.url,
    ]);
    await expectFailure(2, /not the address of a server/, ['login', '--url', 'https://x/with/a/path']);
    await expectFailure(2, /Unknown option '--password'/, ['login', '--password', memberPassword]);
    await expectFailure(2, /Nothing came/, [
      'login',
      '--url',
      app.url,
      '--org',
      'acme',
      '--email',
      ann.email,
      '--password-stdin',
    ]);
  });

  test('a token that is missing is named as one', () =>
    expectFailure(2, /Pipe the token in: .*"\$TOKEN".*--token-stdin$/m, [
      'login',
      '--url',
      app.url,
      '--token-stdin',
    ]));

  test('a wrong password and a wrong address are one sentence each, and nothing is kept', async () => {
    const args = ['--org', 'acme', '--email', ann.email, '--password-stdin'];
    await expectFailure(1, /is not right/, ['login', '--url', app.url, ...args], 'wrong password');
    await expectFailure(
      1,
      /can't be reached/,
      ['login', '--url', 'http://127.0.0.1:1', ...args],
      memberPassword,
    );
    await expect(readFile(credentialsFile())).rejects.toThrow(/ENOENT/);
  });

  test('a second sign-in ends the first one at the server', async () => {
    await login();
    const first = (JSON.parse(await readFile(credentialsFile(), 'utf8')) as { signIns: { token: string }[] })
      .signIns[0]!.token;
    await login();
    const who = (token: string): Promise<{ status: number }> =>
      request(app.url, 'GET', '/api/v1/staff/session', { authorization: `Bearer ${token}` });
    expect((await who(first)).status).toBe(401);
    const second = (JSON.parse(await readFile(credentialsFile(), 'utf8')) as { signIns: { token: string }[] })
      .signIns[0]!.token;
    expect((await who(second)).status).toBe(200);
    expect(await document('logout')).toEqual({
      items: [{ url: app.url, organization: 'acme', ended: true }],
    });
    expect((await who(second)).status).toBe(401);
    await expectFailure(1, /not signed in\. Sign in: .*login/, ['inbox']);
    await expectFailure(1, new RegExp(`Sign in: .*login --url ${app.url} --org acme`), [
      'inbox',
      '--url',
      app.url,
      '--org',
      'acme',
    ]);
  });

  test('several servers and organizations, each by its name', async () => {
    await login();
    const other = await createOrganization(app, `other-${Date.now()}`);
    const otto = await createMember(app, other.slug, 'admin', 'Otto');
    expect(
      (
        await inProcess(
          ['login', '--url', app.url, '--org', other.slug, '--email', otto.email, '--password-stdin'],
          {
            input: memberPassword,
          },
        )
      ).code,
    ).toBe(0);
    const { items } = await document<{ items: { organization: string; current: boolean }[] }>(
      'login',
      '--list',
    );
    expect(items.map(({ organization, current }) => [organization, current])).toEqual([
      [other.slug, true],
      ['acme', false],
    ]);
    const conversation = await createConversation(visitor, 'for acme');
    const ids = async (...args: readonly string[]): Promise<string[]> =>
      (await document<{ items: { id: string }[] }>('inbox', ...args)).items.map(({ id }) => id);
    expect(await ids()).toEqual([]);
    expect(await ids('--org', 'acme')).toContain(conversation);
    await expectFailure(1, /several organizations.*--org/, ['logout', '--url', app.url]);
    expect((await document<{ items: object[] }>('logout', '--all')).items).toHaveLength(2);
    expect(await document('login', '--list')).toEqual({ items: [] });
  });

  test('a session whose server can’t be reached is removed here, and the command says so', async () => {
    const proxy = await startProxy(app.url);
    await login(ann, proxy.url);
    await proxy.stop();
    await expectFailure(1, /can't be reached/, ['inbox']);
    const outcome = await inProcess(['logout']);
    expect(outcome).toMatchObject({ code: 0, stdout: expect.stringMatching(/could not be reached/) });
    await expectFailure(1, /not signed in/, ['inbox']);
  });

  test('a session that has ended says how to begin another', async () => {
    const tim = await createMember(app, 'acme', 'operator', 'Tim');
    await login(tim);
    await app.local('members.update', { memberId: tim.id, password: memberPassword });
    await expectFailure(1, /has ended\. Sign in again: .*login --url/, ['inbox']);
    await login(tim);
    expect((await inProcess(['inbox'])).code).toBe(0);
  });
});

describe('a session without a password, for the owner of the data folder', () => {
  test('works at the running server at once, and stands in the audit log', async () => {
    const { token, member } = await app.local('session.createLocal', { memberId: ann.id });
    expect(member.name).toBe('Ann');
    const reply = await request(app.url, 'GET', '/api/v1/staff/session', {
      authorization: `Bearer ${token}`,
    });
    expect(reply).toMatchObject({ status: 200, body: { member: { id: ann.id } } });
    const { entries } = await app.local('audit.list', { organization: 'acme' });
    expect(entries[0]).toMatchObject({
      actor: 'local',
      action: 'session.createLocal',
      subject: `member:${ann.id}`,
    });
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  test('not for an organization that there is not', async () => {
    const io = {
      input: new PassThrough(),
      output: outputStream(true),
      errors: outputStream(true),
      outputClosed: new AbortController().signal,
    };
    const context = createContext(io, { data: app.folder }, plainColumns);
    await expect(signInLocally(context, { url: app.url, pid: process.pid }, 'typo')).rejects.toThrow(
      /There is no organization typo\. See: .*org list --data /,
    );
  });

  test('not for a disabled member, an unknown one, or without access to the data folder', async () => {
    const gone = await createMember(app, 'acme', 'operator', 'Gone');
    await app.local('members.update', { memberId: gone.id, disabled: true });
    await expect(app.local('session.createLocal', { memberId: gone.id })).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(
      app.local('session.createLocal', { memberId: '0198c5a0-0000-7000-8000-000000000000' }),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
    const { body } = await request(app.url, 'GET', '/api/v1/openapi.json');
    expect(JSON.stringify(body)).not.toContain('createLocal');
  });
});

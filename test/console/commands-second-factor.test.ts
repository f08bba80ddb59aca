// Owns: the command line's part of signing in: the second factor on a terminal, sessions, and tokens for scripts.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { join } from 'node:path';
import { totpCode, totpStep } from '../../src/services/auth/totp.ts';
import { Authenticator, type Asked } from '../helpers/authenticator.ts';
import { ensureBuilt, inProcess } from '../helpers/cli.ts';
import { request } from '../helpers/client.ts';
import { openPty, type Terminal } from '../helpers/terminal.ts';
import { createMember, memberPassword, signIn, type TestMember } from '../helpers/fixtures.ts';
import { ann, app, document, expectFailure, folder, login, withCommands } from './command-fixture.ts';

withCommands();

let terminal: Terminal | null = null;
afterEach(() => terminal?.close());

const open = async (args: readonly string[]): Promise<Terminal> => {
  await ensureBuilt();
  const environment = { DESKBELL_CONFIG: join(folder, 'config'), DESKBELL_DATA: join(folder, 'no-data') };
  terminal = await openPty(args, { columns: 200, rows: 50, environment });
  return terminal;
};
const secretOn = (screen: string): string =>
  (/secret: +((?:[A-Z2-7]{4} ?){8})/.exec(screen)?.[1] ?? '').replaceAll(' ', '');
const step = (): number => totpStep(app.service.engine.clock.now());
const loginArgs = (who: TestMember): string[] => [
  'login',
  '--url',
  app.url,
  '--org',
  'acme',
  '--email',
  who.email,
];

describe('the second factor', () => {
  test('is switched on, asked for by login, and off, on a terminal', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    await login(bob);
    const enabling = await open(['second-factor', 'enable']);
    await enabling.waitFor('Password (not shown):');
    await enabling.type(`${memberPassword}\n`);
    const secret = secretOn(await enabling.waitFor('Code of your authenticator'));
    // Good for half a minute at least, and the next one too, however slow the terminal is.
    const first = step();
    await enabling.type(`${totpCode(secret, first)}\n`);
    const shown = await enabling.waitFor('The second factor is on');
    const recoveryCodes = shown.match(/\b[a-z2-7]{4}-[a-z2-7]{4}-[a-z2-7]{4}\b/g) ?? [];
    expect(recoveryCodes).toHaveLength(10);
    expect(await enabling.ended()).toBe(0);
    expect(await document('second-factor', 'status')).toMatchObject({ enabled: true, recoveryCodesLeft: 10 });

    const again = await open(loginArgs(bob));
    await again.waitFor('Password');
    await again.type(`${memberPassword}\n`);
    await again.waitFor('Code of your authenticator');
    await again.type('000000\n');
    await again.waitFor('Tries left: 4');
    await again.type(`${totpCode(secret, first + 1)}\n`);
    await again.waitFor('Signed in to acme');
    expect(await again.ended()).toBe(0);

    const disabling = await open(['second-factor', 'disable']);
    await disabling.waitFor('Code of your authenticator');
    await disabling.type(`${recoveryCodes[0]}\n`);
    await disabling.waitFor('The second factor is off');
    expect(await disabling.ended()).toBe(0);
  });

  test('is set up in the sign-in where the organization demands it', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'all' } });
    try {
      await expectFailure(
        1,
        /needs a second factor, and there is no terminal.*token create --name N --scope \S/,
        [...loginArgs(bob), '--password-stdin'],
        memberPassword,
      );
      const first = await open(loginArgs(bob));
      await first.waitFor('Password');
      await first.type(`${memberPassword}\n`);
      const secret = secretOn(await first.waitFor('Code of your authenticator'));
      await first.type(`${totpCode(secret, step())}\n`);
      expect(await first.waitFor('Signed in to acme')).toContain('Recovery codes');
      expect(await first.ended()).toBe(0);
      expect(await document('session', 'list')).toMatchObject({ items: [{ secondFactor: true }] });
    } finally {
      await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'off' } });
    }
  });

  test('by a passkey alone is told what to do on a terminal', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const authenticator = new Authenticator(`http://localhost:${new URL(app.url).port}`, 'localhost');
    const { options } = (await bob.call('POST', '/me/passkeys/options', { password: memberPassword })).body;
    const answer = { name: 'Work laptop', response: authenticator.create(options as Asked) };
    const { recoveryCodes } = (await bob.call('POST', '/me/passkeys', answer)).body;

    const first = await open(loginArgs(bob));
    await first.waitFor('Password');
    await first.type(`${memberPassword}\n`);
    expect(await first.waitFor('A recovery code:')).toContain(`${app.url}/security`);
    await first.type(`${recoveryCodes[0]}\n`);
    await first.waitFor('Signed in to acme');
    expect(await first.ended()).toBe(0);
    expect(await document('second-factor', 'status')).toMatchObject({
      enabled: false,
      recoveryCodesLeft: 9,
      passkeys: [{ name: 'Work laptop' }],
    });
    expect((await inProcess(['second-factor', 'status'])).stdout).toMatch(/passkeys +Work laptop/);

    // Without a recovery code there is no question to ask.
    await app.service.engine.store.write('server', ({ repositories }) =>
      repositories.secondFactors.removeRecoveryCodes(bob.id),
    );
    const last = await open(loginArgs(bob));
    await last.waitFor('Password');
    await last.type(`${memberPassword}\n`);
    expect(await last.waitFor('set up an authenticator there')).toContain(`${app.url}/security`);
    expect(await last.ended()).toBe(1);
  });

  test('needs a terminal where it asks', async () => {
    await login();
    for (const verb of ['enable', 'disable', 'codes'])
      await expectFailure(2, /run it on a terminal/, ['second-factor', verb]);
    expect((await inProcess(['second-factor', 'status'])).stdout).toMatch(/is off\. Switch it on/);
  });
});

describe('sessions', () => {
  test('are listed, ended one by one, and all others at once', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const third = await signIn(app, 'acme', bob.email, bob.id);
    await login(bob);
    const { items } = await document<{ items: { id: string; current: boolean }[] }>('session', 'list');
    expect(items.map(({ current }) => current)).toEqual([true, false, false]);
    await expectFailure(2, /Name a session/, ['session', 'end']);
    expect(await document('session', 'end', items[1]!.id)).toEqual({ items: [{ id: items[1]!.id }] });
    expect((await third.call('GET', '/session')).status).toBe(401);
    expect(await document('session', 'end', '--others')).toEqual({ items: [{ id: items[2]!.id }] });
    expect((await bob.call('GET', '/session')).status).toBe(401);
    expect(await document('session', 'list')).toMatchObject({ items: [{ current: true }] });
  });
});

describe('tokens', () => {
  test('are made, used instead of a password, listed and revoked', async () => {
    await login();
    await expectFailure(2, /There is no scope "everything"\. Scopes: conversations:read/, [
      'token',
      'create',
      '--name',
      'ci',
      '--scope',
      'everything',
    ]);
    const scopes = ['--scope', 'conversations:read', '--scope', 'people:read'];
    const create = ['token', 'create', '--name', 'ci', ...scopes, '--expires', '7d'];
    const made = await document<{ id: string; token: string; scopes: string[] }>(...create);
    expect(made.scopes).toEqual(['conversations:read', 'people:read']);
    const list = await inProcess(['token', 'list', '--json']);
    expect(list.stdout).toContain(made.id);
    expect(list.stdout).not.toContain('dbt_');

    vi.stubEnv('DESKBELL_CONFIG', join(folder, 'script'));
    const args = ['login', '--url', app.url, '--token-stdin'];
    expect(await inProcess([...args, '--json'], { input: made.token })).toMatchObject({ code: 0 });
    expect(await document('inbox')).toMatchObject({ items: [] });
    await expectFailure(1, /No token may do this/, ['session', 'list']);
    await expectFailure(2, /leave --org, --email/, [...args, '--org', 'acme'], made.token);

    vi.stubEnv('DESKBELL_CONFIG', join(folder, 'config'));
    expect(await document('token', 'revoke', made.id)).toEqual({ success: true });
    await expectFailure(1, /unknown, revoked or expired.*token create --name N --scope \S/, args, made.token);
    const session = await request(app.url, 'GET', '/api/v1/staff/session', {
      authorization: `Bearer ${ann.token}`,
    });
    expect(session.status).toBe(200);
  });
});

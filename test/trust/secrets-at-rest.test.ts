// Owns what a copy of the data folder without its key gives away: none of the secrets that were ever handed out.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  memberPassword,
} from '../helpers/fixtures.ts';
import { totpCode, totpStep } from '../../src/services/auth/totp.ts';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

/** Everything secret that the service hands out, by what it is. */
async function makeSecrets(): Promise<Record<string, string>> {
  const { application } = await createOrganization(app, 'acme');
  const applicationId = application.id;
  const admin = await createMember(app, 'acme', 'admin');
  const { id, key } = await app.local('keys.create', { applicationId });
  const rotated = await app.local('keys.rotate', { keyId: id });
  const revealed = await app.local('keys.reveal', { keyId: rotated.id });
  expect(revealed.key).toBe(rotated.key);
  const before = await app.local('applications.identitySecret', { applicationId });
  const after = await app.local('applications.rotateIdentitySecret', { applicationId });
  const hook = await app.local('webhooks.create', { organization: 'acme', url: 'https://hooks.example/x' });
  const invited = await app.local('members.invite', {
    organization: 'acme',
    email: 'new@acme.example',
    name: 'New',
    role: 'operator',
  });
  const expiresAt = new Date(app.clock.now() + 86_400_000).toISOString();
  const script = await admin.call('POST', '/tokens', {
    name: 'x',
    scopes: ['conversations:read'],
    expiresAt,
  });
  const staffSocket = await admin.call('POST', '/ws-token');
  const visitor = createVisitor(app, application);
  await createConversation(visitor);
  const visitorSocket = await visitor.call('POST', '/widget/ws-token');
  const begun = await admin.call('POST', '/me/totp', { password: memberPassword });
  const totp = begun.body.totp.secret as string;
  const confirmed = await admin.call('POST', '/me/totp/confirm', {
    code: totpCode(totp, totpStep(app.clock.now())),
  });
  return {
    password: memberPassword,
    'API key': application.key,
    'test key': application.testKey,
    'rotated key': key,
    'its successor': rotated.key,
    'identity secret': before.identitySecret,
    'new identity secret': after.identitySecret,
    'webhook secret': hook.secret,
    invitation: invited.token,
    session: admin.token,
    'staff token': script.body.token.token as string,
    'staff socket token': staffSocket.body.token as string,
    'visitor socket token': visitorSocket.body.token as string,
    'TOTP secret': totp,
    'recovery code': confirmed.body.recoveryCodes[0] as string,
  };
}

/** A secret as it was handed out, without its public beginning, and the bytes that it may stand for. */
function formsOf(secret: string): Buffer[] {
  const bare = secret.replace(/^(?:dbk_(?:live|test)_.{12}|[a-z]+_)/, '');
  return [
    Buffer.from(secret),
    Buffer.from(bare),
    Buffer.from(bare.replaceAll('-', '')),
    ...(/^[0-9a-f]{32,}$/i.test(bare) ? [Buffer.from(bare, 'hex')] : []),
    ...(bare.length >= 24 ? [Buffer.from(bare, 'base64')] : []),
  ];
}

it('no file but the key, and no line of the log, holds a secret', async () => {
  const secrets = await makeSecrets();
  const files = (await readdir(app.folder)).filter((name) => name !== 'secret.key');
  expect(files).toContain('deskbell.db');
  const bytes = await Promise.all(files.map((name) => readFile(join(app.folder, name))));
  const places = [
    ...files.map((name, at) => [name, bytes[at]] as const),
    ['the log', Buffer.from(app.logged.join(''))] as const,
  ];
  const found = Object.entries(secrets).flatMap(([what, secret]) =>
    places
      .filter(([, content]) => formsOf(secret).some((form) => content?.includes(form) === true))
      .map(([place]) => `${what} in ${place}`),
  );
  expect(found).toEqual([]);
  // What is public of a visitor and a member is there: the search would find what it looks for.
  expect(bytes.some((content) => content.includes('new@acme.example'))).toBe(true);
});

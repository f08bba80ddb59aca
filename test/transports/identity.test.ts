// Attacks the marks that say which of a visitor's fields were verified, and the setting that demands a proven identity.
import { createHmac } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { connectSocket } from '../helpers/client.ts';
import {
  createApplication,
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestApplication,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { ask } from '../helpers/rest-checks.ts';

let app: TestApp;
let acme: TestOrganization;
let secret: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  secret = await secretOf(acme.application);
});

afterAll(async () => {
  await app.stop();
});

async function secretOf({ id }: TestApplication): Promise<string> {
  return (await app.local('applications.identitySecret', { applicationId: id })).identitySecret;
}

interface Minting {
  readonly key?: string;
  readonly alg?: string;
  /** Seconds from now. */
  readonly expiresIn?: number | null;
}

function mint(
  claims: object,
  { key = secret, alg = 'HS256', expiresIn = 300 }: Minting = {},
): Promise<string> {
  const now = Math.floor(app.service.engine.clock.now() / 1000);
  const token = new SignJWT({ ...claims }).setProtectedHeader({ alg });
  if (expiresIn !== null) token.setExpirationTime(now + expiresIn);
  return token.sign(new TextEncoder().encode(key));
}

const signId = (id: string): string => createHmac('sha256', secret).update(id).digest('hex');

describe('an identity token', () => {
  it('verifies what it holds, and nothing beside it', async () => {
    const visitor = createVisitor(app, acme.application);
    await ask(app, visitor, 'PUT', '/visitor', { name: 'Claimed', attributes: { plan: 'gold' } });
    const identityToken = await mint({ sub: visitor.id, email: 'Ann@Mail.example' });
    const { body } = await ask(app, visitor, 'PUT', '/visitor', {
      identityToken,
      name: 'The boss of Acme',
      email: 'boss@acme.example',
    });
    expect(body.visitor).toMatchObject({
      name: 'The boss of Acme',
      email: 'ann@mail.example',
      attributes: {},
      verified: true,
      verifiedFields: ['id', 'email'],
    });
    expect((await ask(app, visitor, 'GET', '/visitor')).body).toEqual(body);
  });

  it('is not undone by a claim, a signature of the id, or a token that holds less', async () => {
    const visitor = createVisitor(app, acme.application);
    const whole = { name: 'Ann', email: 'ann@mail.example', attributes: { plan: 'gold' } };
    await ask(app, visitor, 'PUT', '/visitor', { identityToken: await mint({ sub: visitor.id, ...whole }) });
    const false_ = { name: 'Eve', email: 'eve@evil.example', attributes: { plan: 'platinum' } };
    for (const body of [
      false_,
      { ...false_, signature: signId(visitor.id) },
      { ...false_, identityToken: await mint({ sub: visitor.id }) },
    ])
      expect((await ask(app, visitor, 'PUT', '/visitor', body)).body.visitor).toMatchObject({
        ...whole,
        verifiedFields: ['id', 'name', 'email', 'attributes'],
      });
    const later = await mint({ sub: visitor.id, name: 'Ann Other' });
    expect((await ask(app, visitor, 'PUT', '/visitor', { identityToken: later })).body.visitor).toMatchObject(
      { ...whole, name: 'Ann Other' },
    );
  });

  it('is refused when it is forged, over, without an end, or of another visitor', async () => {
    const visitor = createVisitor(app, acme.application);
    const sub = visitor.id;
    const other = await createApplication(app, 'acme', 'other.acme.example');
    const good = await mint({ sub, name: 'Ann' });
    const [head = '', body = '', signature = ''] = good.split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const wrong = [
      await mint({ sub, name: 'Ann' }, { key: 'another secret' }),
      await mint({ sub, name: 'Ann' }, { key: await secretOf(other) }),
      await mint({ sub, name: 'Ann' }, { alg: 'HS512' }),
      await mint({ sub, name: 'Ann' }, { expiresIn: -1 }),
      await mint({ sub, name: 'Ann' }, { expiresIn: null }),
      await mint({ name: 'Ann' }),
      await mint({ sub: 'customer-7', name: 'Ann' }),
      await mint({ sub: createVisitor(app, acme.application).id, name: 'Ann' }),
      await mint({ sub, name: 'A'.repeat(101) }),
      await mint({ sub, email: 'no address' }),
      await mint({ sub, attributes: { deep: {} } }),
      `${none}.${body}.`,
      `${none}.${body}.${signature}`,
      `${head}.${body}`,
      `${head}.${Buffer.from(JSON.stringify({ sub, name: 'Eve', exp: 9e9 })).toString('base64url')}.${signature}`,
      signId(sub),
      '',
      'a.b.c',
    ];
    for (const identityToken of wrong) {
      const reply = await ask(app, visitor, 'PUT', '/visitor', { identityToken, name: 'Mallory' });
      expect([identityToken, reply.status, reply.body.details[0].path.split('.')[0]]).toEqual([
        identityToken,
        400,
        'identityToken',
      ]);
    }
    expect((await ask(app, visitor, 'GET', '/visitor')).body.visitor).toMatchObject({
      name: null,
      verified: false,
      verifiedFields: [],
    });
  });

  it('of a page that knows only a signature of the id verifies the id alone', async () => {
    const visitor = createVisitor(app, acme.application);
    const signature = signId(visitor.id);
    expect(
      (await ask(app, visitor, 'PUT', '/visitor', { name: 'The boss', signature })).body.visitor,
    ).toMatchObject({ name: 'The boss', verified: true, verifiedFields: ['id'] });
  });

  it('is not needed by a backend, whose word is good for what it says', async () => {
    const visitor = createVisitorByKey(app, acme.application);
    const named = await ask(app, visitor, 'PUT', '/visitor', { name: 'Ann', attributes: {} });
    expect(named.body.visitor.verifiedFields).toEqual(['id', 'name', 'attributes']);
  });

  it('is what staff see the marks of', async () => {
    const visitor = createVisitor(app, acme.application);
    const identityToken = await mint({ sub: visitor.id, email: 'ann@mail.example' });
    await ask(app, visitor, 'PUT', '/visitor', { identityToken, name: 'Ann ✓' });
    const id = await createConversation(visitor);
    const member = await createMember(app, 'acme');
    const { body } = await member.call('GET', `/conversations/${id}`);
    expect(body.conversation.visitor.verifiedFields).toEqual(['id', 'email']);
  });
});

describe('an application that demands a proven identity', () => {
  it('serves a page’s visitor only after a backend has signed who it is', async () => {
    const portal = await createApplication(app, 'acme', 'portal.acme.example');
    const early = createVisitor(app, portal);
    const conversation = await createConversation(early);
    const socket = await early.connect();
    await app.local('applications.update', {
      applicationId: portal.id,
      behavior: { identity: 'required' },
    });
    expect((await socket.waitForClose()).code).toBe(4403);
    const visitor = createVisitor(app, portal);
    for (const [method, path, body] of [
      ['GET', '/visitor', undefined],
      ['PUT', '/visitor', { name: 'Mallory' }],
      ['POST', '/conversations', {}],
      ['GET', '/conversations', undefined],
      ['POST', '/widget/ws-token', undefined],
      ['POST', `/conversations/${conversation}/messages`, { content: 'hello' }],
    ] as const)
      for (const who of [visitor, early]) {
        const reply = await ask(app, who, method, path, body);
        expect([method, path, reply.status, reply.body.error]).toEqual([
          method,
          path,
          403,
          'identity_required',
        ]);
      }
    const config = await visitor.call('GET', '/widget/config');
    expect(config.body.application.behavior.identity).toBe('required');
    const identityToken = await mint({ sub: visitor.id, name: 'Ann' }, { key: await secretOf(portal) });
    expect((await ask(app, visitor, 'PUT', '/visitor', { identityToken })).status).toBe(200);
    await createConversation(visitor);
    const open = await visitor.connect();
    await open.close();
    await createConversation(createVisitorByKey(app, portal));
  });

  it('opens no socket with a token from before the demand', async () => {
    const portal = await createApplication(app, 'acme', 'desk.acme.example');
    const early = createVisitor(app, portal);
    await createConversation(early);
    const { token } = (await early.call('POST', '/widget/ws-token')).body;
    await app.local('applications.update', { applicationId: portal.id, behavior: { identity: 'required' } });
    const socket = await connectSocket(app.url, token, { origin: portal.origin });
    expect(await socket.receives('error')).toMatchObject({ code: 'FORBIDDEN' });
    expect((await socket.waitForClose()).code).toBe(4403);
    await app.local('applications.update', { applicationId: portal.id, behavior: { identity: 'optional' } });
    const open = await connectSocket(app.url, token, { origin: portal.origin });
    await open.drain();
    await open.close();
  });
});

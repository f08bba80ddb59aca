// At the host of an organization every other organization is unknown: sign-in, invitations, sessions, keys, app ids
// and tokens.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { connectSocket, type Reply } from '../helpers/client.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  memberPassword,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { send } from '../helpers/raw-http.ts';

let app: TestApp;
let beta: TestOrganization;
let member: TestMember;

beforeAll(async () => {
  app = await startApp({ flags: { baseUrl: 'https://chat.example' } });
  await createOrganization(app, 'alpha');
  beta = await createOrganization(app, 'beta');
  member = await createMember(app, 'beta');
});
afterAll(() => app.stop());

function at(
  host: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: object,
): Promise<Reply> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  return send(app.url, {
    method,
    path: `/api/v1${path}`,
    headers: Object.entries({ ...headers, ...json, host }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** What one call answers at its own organization's host, at the base host, and at another organization's. */
async function statuses(call: (host: string) => Promise<Reply>): Promise<number[]> {
  const found: number[] = [];
  for (const host of ['beta.chat.example', 'chat.example', 'alpha.chat.example'])
    found.push((await call(host)).status);
  return found;
}

describe("another organization's host", () => {
  it('does not sign its members in', async () => {
    const credentials = { organization: 'beta', email: member.email, password: memberPassword };
    const signIn = (host: string) => at(host, 'POST', '/staff/session', {}, credentials);
    expect(await statuses(signIn)).toEqual([201, 201, 401]);
  });

  it('does not know their invitations', async () => {
    const invite = () =>
      app.local('members.invite', {
        organization: 'beta',
        email: `${Math.random()}@beta.example`,
        name: 'Bea',
        role: 'operator',
      });
    const accept = async (host: string): Promise<Reply> =>
      at(
        host,
        'POST',
        '/staff/invitation',
        {},
        { token: (await invite()).token, password: 'long enough words' },
      );
    expect(await statuses(accept)).toEqual([201, 201, 401]);
  });

  it('does not know their sessions', async () => {
    expect(await statuses((host) => at(host, 'GET', '/staff/session', member.headers))).toEqual([
      200, 200, 401,
    ]);
  });

  it('does not know their API keys and app ids', async () => {
    const byKey = createVisitorByKey(app, beta.application).headers;
    const byOrigin = createVisitor(app, beta.application).headers;
    for (const headers of [byKey, byOrigin])
      expect(await statuses((host) => at(host, 'GET', '/conversations', headers))).toEqual([200, 200, 401]);
    expect(await statuses((host) => at(host, 'GET', '/widget/config', byOrigin))).toEqual([200, 200, 401]);
  });

  it('does not know their WebSocket tokens', async () => {
    const { body } = await member.call('POST', '/ws-token');
    const codes: string[] = [];
    for (const host of ['beta.chat.example', 'chat.example', 'alpha.chat.example']) {
      const socket = await connectSocket(app.url, body.token as string, { host });
      await (host.startsWith('alpha') ? socket.waitForClose() : socket.drain());
      codes.push(String(socket.all('error')[0]?.payload.code ?? 'open'));
      if (socket.closed === null) await socket.close();
    }
    expect(codes).toEqual(['open', 'open', 'INVALID_TOKEN']);
  });
});

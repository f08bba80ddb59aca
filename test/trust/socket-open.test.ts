// What a client may rely on once it sees its socket open, and who is let in when others at its address failed.
import { WebSocket } from 'ws';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { connectSocket, TestSocket } from '../helpers/client.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const rounds = 200;

let app: TestApp;
let acme: TestOrganization;

async function start(flags: Record<string, string> = {}): Promise<void> {
  app = await startApp({ flags });
  acme = await createOrganization(app, 'acme');
}

beforeEach(() => start());
afterEach(() => app.stop());

/** Opens a socket and acts in the very turn of the loop in which it opens. */
async function openAndAct(token: string, act: () => Promise<unknown>): Promise<TestSocket> {
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/api/v1/ws?token=${token}`);
  const listener = new TestSocket(socket);
  await new Promise((resolve, reject) => {
    socket.once('open', () => void act().then(resolve, reject));
  });
  return listener;
}

describe('an open staff socket', () => {
  it(`hears of every conversation that is opened after it, ${rounds} times`, async () => {
    const member = await createMember(app, 'acme');
    let missed = 0;
    for (let round = 0; round < rounds; round += 1) {
      const visitor = createVisitorByKey(app, acme.application);
      const { body } = await member.call('POST', '/ws-token');
      let id = '';
      const listener = await openAndAct(body.token as string, async () => {
        id = await createConversation(visitor);
      });
      await listener.drain();
      if (!listener.all('conversation:new').some(({ payload }) => payload.id === id)) missed += 1;
      await listener.close();
    }
    expect(missed).toBe(0);
  });

  it('counts as online at once', async () => {
    const member = await createMember(app, 'acme');
    const visitor = createVisitor(app, acme.application);
    const { body } = await member.call('POST', '/ws-token');
    let online: unknown;
    const listener = await openAndAct(body.token as string, async () => {
      online = (await visitor.call('GET', '/widget/config')).body.application.online;
    });
    expect(online).toBe(true);
    await listener.close();
  });
});

describe('an address with too many failed authentications', () => {
  it('is refused with a wrong token and let in with a right one', async () => {
    await app.stop();
    await start({ limitAddressFailed: '3/s' });
    const visitor = createVisitor(app, acme.application);
    const { body } = await visitor.call('POST', '/widget/ws-token');
    for (let round = 0; round < 3; round += 1)
      expect((await (await connectSocket(app.url, 'wrong')).waitForClose()).code).toBe(4401);
    // Refused before the upgrade: the socket never opens.
    const refused = await connectSocket(app.url, 'wrong');
    expect([(await refused.waitForClose()).code, refused.frames]).toEqual([1006, []]);
    const right = await connectSocket(app.url, body.token as string, { origin: acme.application.origin });
    await right.drain();
    expect(right.closed).toBeNull();
    await right.close();
  });
});

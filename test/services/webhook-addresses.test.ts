// Attacks where webhooks lead: private and local addresses in every disguise, names that
// change where they lead, schemes that are none; what is refused must never be connected to.
import fc from 'fast-check';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createWebhookClient } from '../../src/net/webhook-client.ts';
import type { ResolveHost, ResolvedAddress } from '../../src/net/ssrf-guard.ts';
import { isPublicAddress } from '../../src/net/ip-ranges.ts';
import { signatureHeaders, signingKey } from '../../src/services/webhooks/signature.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createTestClock } from '../helpers/clock.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { Receiver } from '../helpers/receiver.ts';
import { createOrganization } from '../helpers/fixtures.ts';

const inside = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:10::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
];
const outside = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001::1',
  '2001:4860:4860::8888',
];

describe('which addresses are public', () => {
  it.each(inside)('%s is not', (address) => expect(isPublicAddress(address)).toBe(false));
  it.each(outside)('%s is', (address) => expect(isPublicAddress(address)).toBe(true));
  it('nothing else is', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.domain(),
          fc.constant('0x7f.1'),
          fc.constant('2130706433'),
          fc.constant('127.1'),
        ),
        (text) => {
          fc.pre(!outside.includes(text) && !/^\d+(\.\d+){3}$/.test(text));
          expect(isPublicAddress(text)).toBe(false);
        },
      ),
    );
  });
  it('no IPv6 address that carries a private IPv4 address is', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('::ffff:', '::', '64:ff9b::', '::ffff:0:'),
        fc.constantFrom('127.0.0.1', '10.1.2.3', '169.254.169.254'),
        (prefix, address) => {
          expect(isPublicAddress(prefix + address)).toBe(false);
        },
      ),
    );
  });
});

describe('the sender', () => {
  let trap: Server;
  let port: number;
  let connections = 0;

  beforeAll(async () => {
    trap = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
      // Unread bytes would keep it open for ever.
      socket.resume();
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
    port = (trap.address() as AddressInfo).port;
  });
  beforeEach(() => {
    connections = 0;
  });
  afterAll(async () => {
    await new Promise((resolve) => trap.close(resolve));
  });

  const leadsTo = (...answers: ResolvedAddress[][]) => {
    const asked: string[] = [];
    const resolve: ResolveHost = (hostname, done) => {
      const answer = answers[Math.min(asked.length, answers.length - 1)];
      asked.push(hostname);
      setImmediate(() =>
        answer === undefined
          ? done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), [])
          : done(null, answer),
      );
    };
    return { asked, resolve };
  };
  const here = { address: '127.0.0.1', family: 4 };
  const post = (url: string, resolve: ResolveHost, allowPrivate = false) =>
    createWebhookClient({ clock: createTestClock(), allowPrivate, resolve })(
      { url, headers: {}, body: '{}' },
      new AbortController().signal,
    );

  it.each([
    'https://127.0.0.1:PORT/',
    'https://2130706433:PORT/',
    'https://0x7f.1:PORT/',
    'https://0177.0.0.1:PORT/',
    'https://[::1]:PORT/',
    'https://[::ffff:127.0.0.1]:PORT/',
    'https://[::ffff:7f00:1]:PORT/',
    'https://0:PORT/',
  ])('refuses %s without asking anybody', async (url) => {
    const { asked, resolve } = leadsTo([here]);
    const answer = await post(url.replace('PORT', String(port)), resolve);
    expect(answer).toEqual({
      status: null,
      error: 'the address is private or local, and the server does not send there',
    });
    expect({ asked, connections }).toEqual({ asked: [], connections: 0 });
  });

  it('refuses a name that leads inside, and one whose answer changes after it was looked at', async () => {
    const fixed = leadsTo([here]);
    expect((await post(`https://inside.example:${port}/`, fixed.resolve)).error).toContain(
      'private or local',
    );
    // The first answer is harmless: a check that had looked before connecting would connect to the second.
    const rebinding = leadsTo([here], [{ address: '198.51.100.1', family: 4 }], [here]);
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect((await post(`https://rebind.example:${port}/`, rebinding.resolve)).error).toContain(
        'private or local',
      );
    // One question for each connection, and the connection goes where that answer said.
    expect(rebinding.asked).toHaveLength(3);
    expect(connections).toBe(0);
  });

  it('connects to none of the private ones among the answers', async () => {
    const mixed = leadsTo([here, { address: '::1', family: 6 }, { address: '::ffff:127.0.0.1', family: 6 }]);
    expect((await post(`https://mixed.example:${port}/`, mixed.resolve)).error).toContain('private or local');
    expect(connections).toBe(0);
  });

  it('is no proof of nothing: where the owner allows it, the same request arrives', async () => {
    const { asked, resolve } = leadsTo([here]);
    expect(await post(`http://inside.example:${port}/`, resolve, true)).toEqual({ status: 200, error: null });
    expect(asked).toEqual(['inside.example']);
    expect(connections).toBe(1);
  });

  it('never sends in the clear unless the owner allows it, and says why a name leads nowhere', async () => {
    const { asked, resolve } = leadsTo([{ address: '1.1.1.1', family: 4 }]);
    expect(await post('http://example.com/', resolve)).toEqual({
      status: null,
      error: 'the address does not begin with https://',
    });
    expect(asked).toEqual([]);
    expect(await post('https://nowhere.example/', leadsTo().resolve)).toEqual({
      status: null,
      error: 'the name is unknown',
    });
  });

  it('does not trust a certificate of no one', async () => {
    const { resolve } = leadsTo([here]);
    const answer = await post(`https://inside.example:${port}/`, resolve, true);
    expect(answer.status).toBeNull();
    expect(answer.error).toMatch(/^could not be sent|^its certificate|^the connection/);
  });
});

describe('the service', () => {
  let app: TestApp;
  afterEach(async () => {
    await app.stop();
  });

  it.each([
    'https://127.0.0.1/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost/',
    'https://10.0.0.8/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fe80::1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://100.64.0.1/',
    'http://127.0.0.1/',
  ])('refuses %s when it is made', async (url) => {
    app = await startApp();
    await createOrganization(app, 'acme');
    await expect(app.local('webhooks.create', { organization: 'acme', url })).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('refuses at the time of sending what was allowed when it was made', async () => {
    const receiver = await new Receiver().start();
    app = await startApp({ flags: { webhookPrivate: 'allow' } });
    await createOrganization(app, 'acme');
    const { id } = await app.local('webhooks.create', {
      organization: 'acme',
      url: receiver.url,
      events: null,
    });
    app = await app.restart({ webhookPrivate: 'refuse' });
    await app.local('webhooks.test', { webhookId: id });
    await eventually(async () => {
      const { deliveries } = await app.local('webhooks.deliveries', { webhookId: id });
      expect(deliveries).toMatchObject([
        {
          status: 'failed',
          responseStatus: null,
          error: 'the address is private or local, and the server does not send there',
        },
      ]);
    });
    expect(receiver.all).toEqual([]);
    // Someone with the file in hands gains nothing either: a name of this machine is looked at like any other.
    await rowsOf(
      app,
      'update webhooks set url = ?',
      receiver.url.replace('http://127.0.0.1', 'https://localhost'),
    );
    app = await app.restart();
    const again = await app.local('webhooks.test', { webhookId: id });
    await eventually(async () => {
      const { deliveries } = await app.local('webhooks.deliveries', { webhookId: id });
      expect(deliveries.find((one) => one.id === again.id)).toMatchObject({
        status: 'failed',
        error: 'the address is private or local, and the server does not send there',
      });
    });
    await receiver.stop();
  });
});

describe('the signature', () => {
  it('is the one of the example that Standard Webhooks publishes', () => {
    const headers = signatureHeaders(
      [signingKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')],
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1_614_265_330,
      '{"test": 2432232314}',
    );
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });
});

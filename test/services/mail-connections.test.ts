// The way in for mails beside one who uses it up: an address has its places, its commands and its bytes, and no more of
// them takes anything from the others.
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { createOrganization } from '../helpers/fixtures.ts';
import { mailCertificate, mailKey } from '../helpers/mail-certificate.ts';
import { plainMail } from '../helpers/send-mail.ts';
import { setByPath } from '../helpers/settings.ts';
import { createLog } from '../../src/log.ts';
import { MailConnections, mailSource } from '../../src/mail/mail-connections.ts';
import { listenErrorMessage, startMailListener } from '../../src/mail/smtp-listener.ts';

let folder: string;
let app: TestApp;
let port: number;
const open = new Set<Talk>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-mail-'));
  const flags = {
    mailAddress: 'reply@chat.example.com',
    mailListen: '127.0.0.1:0',
    mailTlsKey: join(folder, 'mail.key'),
    mailTlsCertificate: join(folder, 'mail.pem'),
  };
  await writeFile(flags.mailTlsKey, mailKey);
  await writeFile(flags.mailTlsCertificate, mailCertificate);
  app = await startApp({ flags, alone: true });
  port = app.mailPort ?? 0;
  const acme = await createOrganization(app, 'acme');
  await setByPath(app, acme.application.id, { 'email.mode': 'inbox', 'email.address': 'help@example.com' });
});

beforeEach(async () => {
  for (const talk of open) talk.socket.destroy();
  await Promise.all([...open].map(({ closed }) => closed));
  open.clear();
  app.clock.advance(60_000);
});

afterAll(async () => {
  for (const talk of open) talk.socket.destroy();
  await app.stop();
  await rm(folder, { recursive: true });
});

/** A talk with the server. */
class Talk {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  heard = '';

  constructor(socket: Socket) {
    this.socket = socket;
    this.closed = once(socket, 'close').catch(() => undefined);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      this.heard += chunk.toString();
    });
    open.add(this);
  }

  static from(localAddress: string): Talk {
    return new Talk(connect({ port, host: '127.0.0.1', localAddress }));
  }

  /** Waits for the last line of an answer, and forgets it. */
  async hears(): Promise<string> {
    const line = /^\d{3} .*\r\n/m;
    await eventually(() => {
      if (!line.test(this.heard)) throw new Error(`heard ${JSON.stringify(this.heard)}`);
    });
    const [said = ''] = line.exec(this.heard) ?? [];
    this.heard = '';
    return said.slice(0, 3);
  }

  async says(text: string | Buffer): Promise<string> {
    this.socket.write(text);
    return this.hears();
  }
}

/** The same one, encrypted. */
async function encrypt(talk: Talk): Promise<Talk> {
  expect(await talk.says('STARTTLS\r\n')).toBe('220');
  talk.socket.removeAllListeners('data');
  const socket = connectTls({ socket: talk.socket, ca: mailCertificate, servername: 'localhost' });
  await once(socket, 'secureConnect');
  const encrypted = new Talk(socket);
  expect(await encrypted.says('EHLO there.example\r\n')).toBe('250');
  return encrypted;
}

async function greeted(address = '127.0.0.1'): Promise<Talk> {
  const talk = Talk.from(address);
  expect(await talk.hears()).toBe('220');
  expect(await talk.says('EHLO there.example\r\n')).toBe('250');
  return talk;
}

async function bring(talk: Talk, raw: string): Promise<string> {
  for (const line of ['MAIL FROM:<rosa@example.net>', 'RCPT TO:<help@example.com>'])
    expect(await talk.says(`${line}\r\n`)).toBe('250');
  expect(await talk.says('DATA\r\n')).toBe('354');
  return talk.says(`${raw}\r\n.\r\n`);
}

it('has twenty places for an address, and who asks for ever more takes none of another’s', async () => {
  const [first, ...held] = await Promise.all(Array.from({ length: 20 }, () => greeted()));
  // More than there are places for all together, at once.
  const flood = Array.from({ length: 400 }, () => Talk.from('127.0.0.1'));
  const other = await greeted('127.0.0.2');
  expect(await bring(other, plainMail({}))).toBe('250');
  expect(await Promise.all(flood.map((one) => one.hears()))).toEqual(flood.map(() => '421'));
  await Promise.all(flood.map(({ closed }) => closed));
  // Those that it has are still its own, and each that it gives back is one again.
  expect(held).toHaveLength(19);
  expect(await first?.says('NOOP\r\n')).toBe('250');
  first?.socket.destroy();
  await eventually(async () => {
    const again = Talk.from('127.0.0.1');
    expect(await again.hears()).toBe('220');
  });
});

it('gives the place of an encrypted one back, too', async () => {
  for (let round = 0; round < 2; round += 1) {
    const talks = await Promise.all(Array.from({ length: 20 }, async () => encrypt(await greeted())));
    for (const { socket } of talks) socket.destroy();
    await Promise.all(talks.map(({ closed }) => closed));
    await eventually(async () => {
      const one = Talk.from('127.0.0.1');
      expect(await one.hears()).toBe('220');
      one.socket.destroy();
    });
    await Promise.all([...open].map(({ closed }) => closed));
  }
});

it('leaves half of the places to others where one has many networks of IPv6', () => {
  const connections = new MailConnections(app.service.engine);
  const sockets: Socket[] = [];
  const admit = (remoteAddress: string): boolean => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
    return connections.admit(String(sockets.length), socket);
  };
  const taken = (address: (at: number) => string): number =>
    Array.from({ length: 200 }, (_, at) => admit(address(at))).filter(Boolean).length;
  expect(taken(() => '2001:db8:1::1')).toBe(20);
  expect(taken((at) => `2001:db8:2:${at.toString(16)}::1`)).toBe(80);
  expect(taken((at) => `2001:db8:3:${(at * 256).toString(16)}::1`)).toBe(100);
  expect(taken(() => '2001:db8:4::1')).toBe(20);
  for (const socket of sockets) socket.destroy();
  // So it is with bytes on their way, of all its networks together.
  const sources = ['2001:db8:5:1::1', '2001:db8:5:ff00::1', '2001:db8:6::1', '192.0.2.1', '192.0.2.2'].map(
    mailSource,
  );
  expect(sources[1]).toBe(sources[0]);
  expect(new Set(sources).size).toBe(4);
});

it('ends who only talks, encrypted or not, and takes as many mails as before', async () => {
  for (const isEncrypted of [false, true]) {
    const plain = await greeted();
    const talk = isEncrypted ? await encrypt(plain) : plain;
    talk.socket.write('RSET\r\n'.repeat(100_000));
    await talk.closed;
    expect(talk.heard).toMatch(/421 4\.7\.0 Too much comes from your address\. Try again later\r\n$/);
    app.clock.advance(60_000);
  }
  // What a mail says is no command.
  const talk = await greeted();
  const large = plainMail({ text: 'A line of a mail.\n'.repeat(60_000) });
  expect(await bring(talk, large)).toBe('250');
  expect(await bring(talk, plainMail({}))).toBe('250');
});

it('ends a mail that goes on and on', async () => {
  const { localLimiter } = app.service.engine;
  const check = { key: 'mb:127.0.0.1', windows: [{ limit: 600, windowMs: 60_000 }] };
  for (let piece = 0; piece < 598; piece += 1) expect(localLimiter.take([check]).ok).toBe(true);
  const talk = await greeted();
  for (const line of ['MAIL FROM:<rosa@example.net>', 'RCPT TO:<help@example.com>'])
    expect(await talk.says(`${line}\r\n`)).toBe('250');
  expect(await talk.says('DATA\r\n')).toBe('354');
  talk.socket.write(Buffer.alloc(3 * 1_048_576, 'line of a mail.\r\n'));
  await talk.closed;
  expect(talk.heard).toMatch(/^421 4\.7\.0 Too much comes/);
});

it('takes no line apart that is longer than any command', async () => {
  const talk = await greeted();
  const mail = (parameters: number): string =>
    `MAIL FROM:<rosa@example.net> ${'A=B '.repeat(parameters)}\r\n`;
  expect(await talk.says(mail(1))).toBe('250');
  expect(await talk.says('RSET\r\n')).toBe('250');
  expect(await talk.says(mail(2_000))).toBe('421');
  await talk.closed;
});

it('logs no error where a connection breaks off within a mail', async () => {
  const talk = await greeted();
  for (const line of ['MAIL FROM:<rosa@example.net>', 'RCPT TO:<help@example.com>'])
    expect(await talk.says(`${line}\r\n`)).toBe('250');
  expect(await talk.says('DATA\r\n')).toBe('354');
  const before = app.logged.length;
  talk.socket.write('Subject: half of a mail\r\n');
  talk.socket.end();
  await talk.closed;
  expect(await bring(await greeted(), plainMail({}))).toBe('250');
  expect(app.logged.slice(before).join('')).not.toMatch(/could not be taken/);
});

it('does not listen with files that are no key and certificate, and names them', async () => {
  const tls = { key: join(folder, 'none.key'), certificate: join(folder, 'mail.pem') };
  const listen = { host: '127.0.0.1', port: 0 };
  const started = () =>
    startMailListener({
      listen,
      tls,
      service: app.service,
      log: createLog('silent'),
      name: 'chat.example.com',
    });
  const refused = new RegExp(`^STARTTLS .*--mail-tls-key ${tls.key} .*PEM files`);
  await expect(started()).rejects.toThrow(refused);
  await writeFile(tls.key, 'no key');
  await expect(started()).rejects.toThrow(refused);
});

it('says which right a low port needs, and in whose way it is otherwise', () => {
  const said = (code: string, host: string): string =>
    listenErrorMessage(Object.assign(new Error('listen'), { code }), { host, port: 25 });
  expect(said('EACCES', '::')).toMatch(/^Mails can't be taken at \[::\]:25: .* CAP_NET_BIND_SERVICE, or /);
  expect(said('EADDRINUSE', '127.0.0.1')).toBe(
    "Mails can't be taken at 127.0.0.1:25 (EADDRINUSE): choose another address with --mail-listen.",
  );
});

// What doctor says of mail: each link that can be broken, seeded one at a time; and mails over encrypted connections, in
// both directions.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkMail, systemDns, type DnsQuestions } from '../../src/cli/mail-check.ts';
import { Redacted } from '../../src/config.ts';
import { createSmtpClient, probeMailServer } from '../../src/net/smtp-client.ts';
import { startApp } from '../helpers/app.ts';
import { mailCertificate, mailKey } from '../helpers/mail-certificate.ts';
import { MailHost } from '../helpers/mail-host.ts';

const trusted = getCACertificates('default');
const user = { user: 'desk', password: 'a:b/c' };
let plain: MailHost;
let upgrading: MailHost;
let encrypted: MailHost;

beforeAll(async () => {
  [plain, upgrading, encrypted] = await Promise.all([
    new MailHost().start(),
    new MailHost(user, 'starttls').start(),
    new MailHost(user, 'smtps').start(),
  ]);
});
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await Promise.all([plain.stop(), upgrading.stop(), encrypted.stop()]);
});

/** A zone in which everything is right. */
const zone: Readonly<Record<string, readonly string[]>> = {
  'txt chat.example.com': ['google-site-verification=x', 'v=spf1 mx include:_spf.host.example -all'],
  'txt s1._domainkey.chat.example.com': ['v=DKIM1; k=rsa; p=MIIB'],
  'txt _dmarc.example.com': ['v=DMARC1; p=quarantine; rua=mailto:x@example.com'],
  'mx chat.example.com': ['mx.example.com'],
  'addresses mx.example.com': ['192.0.2.10'],
  'names 192.0.2.10': ['mx.example.com'],
};

function dnsOf(records: Readonly<Record<string, readonly string[]>>): DnsQuestions {
  const ask = (kind: string) => async (name: string) => Promise.resolve(records[`${kind} ${name}`] ?? []);
  return { txt: ask('txt'), mx: ask('mx'), addresses: ask('addresses'), names: ask('names') };
}

const configured = (url = plain.url(), listens = true) => ({
  smtpUrl: new Redacted(url),
  imapUrl: null,
  mailAddress: 'reply@chat.example.com',
  mailListen: listens ? { host: '127.0.0.1', port: 25 } : null,
});

async function states(
  changes: Readonly<Record<string, readonly string[]>>,
  options: { listens?: boolean; dkimSelector?: string } = {},
): Promise<string[]> {
  const findings = await checkMail(configured(plain.url(), options.listens ?? true), {
    dns: dnsOf({ ...zone, ...changes }),
    dkimSelector: options.dkimSelector,
  });
  return findings.filter(({ state }) => state !== 'ok').map(({ about, state }) => `${about}: ${state}`);
}

describe('doctor on mail', () => {
  it('finds nothing where all is right, and everything it looked at is named', async () => {
    expect(await states({})).toEqual([]);
    const all = await checkMail(configured(), { dns: dnsOf(zone) });
    expect(all.map(({ about }) => about)).toEqual(['mail', 'SPF', 'DKIM', 'DMARC', 'MX', 'reverse name']);
    expect(JSON.stringify(all)).not.toContain('password');
  });

  it.each([
    ['no SPF', { 'txt chat.example.com': [] }, ['SPF: wrong']],
    ['two of them', { 'txt chat.example.com': ['v=spf1 -all', 'v=spf1 mx -all'] }, ['SPF: wrong']],
    ['anybody may send', { 'txt chat.example.com': ['v=spf1 +all'] }, ['SPF: wrong']],
    ['a record of another kind', { 'txt chat.example.com': ['v=spf10 -all'] }, ['SPF: wrong']],
    ['no key', { 'txt s1._domainkey.chat.example.com': [] }, ['DKIM: note']],
    ['a key taken back', { 'txt s1._domainkey.chat.example.com': ['v=DKIM1; p='] }, ['DKIM: wrong']],
    ['no policy', { 'txt _dmarc.example.com': [] }, ['DMARC: wrong']],
    ['a policy that does nothing', { 'txt _dmarc.example.com': ['v=DMARC1; p=none'] }, ['DMARC: note']],
    ['a record without policy', { 'txt _dmarc.chat.example.com': ['v=DMARC1; sp=reject'] }, ['DMARC: wrong']],
    ['no way back', { 'mx chat.example.com': [] }, ['MX: wrong']],
    ['a way back that leads nowhere', { 'addresses mx.example.com': [] }, ['MX: wrong']],
    ['no mail wanted', { 'mx chat.example.com': ['.'] }, ['MX: wrong']],
    ['an address without a name', { 'names 192.0.2.10': [] }, ['reverse name: note']],
    ['a name of another', { 'names 192.0.2.10': ['cable.example.net'] }, ['reverse name: note']],
  ] as const)('names the broken link: %s', async (_, changes, expected) => {
    expect(await states(changes)).toEqual(expected);
  });

  it('asks for the key that was named, and for no way back by us where a mail host takes mails', async () => {
    expect(await states({}, { dkimSelector: 'nov26' })).toEqual(['DKIM: wrong']);
    const other = { 'txt nov26._domainkey.chat.example.com': ['k=ed25519; p=11qY'] };
    expect(await states(other, { dkimSelector: 'nov26' })).toEqual([]);
    expect(await states({ 'mx chat.example.com': [], 'names 192.0.2.10': [] }, { listens: false })).toEqual([
      'MX: note',
    ]);
  });

  it('says so where the DNS is silent, and asks nothing where no mail is sent', async () => {
    const silent = (): Promise<never> => Promise.reject(new Error('queryTxt ETIMEOUT'));
    const dns = { txt: silent, mx: silent, addresses: silent, names: silent };
    expect((await checkMail(configured(), { dns })).map(({ about, state }) => `${about}: ${state}`)).toEqual([
      'mail: ok',
      'SPF: note',
      'DKIM: note',
      'DMARC: note',
      'MX: note',
    ]);
    expect(
      await checkMail({ smtpUrl: null, imapUrl: null, mailAddress: null, mailListen: null }, { dns }),
    ).toMatchObject([{ about: 'mail', state: 'note' }]);
    expect(Object.keys(systemDns()).toSorted()).toEqual(['addresses', 'mx', 'names', 'txt']);
  });

  it('says what is wrong with the mail server', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const [down] = await checkMail(configured(`smtp://127.0.0.1:${port}`), { dns: dnsOf(zone) });
    expect(down).toMatchObject({ about: 'mail', state: 'wrong' });
    setDefaultCACertificates([...trusted, mailCertificate]);
    expect(await probeMailServer(upgrading.url('desk', 'wrong'), AbortSignal.timeout(20_000))).toBe(
      'the mail server refused the user name or the password',
    );
    expect(await probeMailServer(upgrading.url('desk', 'a:b/c'), AbortSignal.timeout(20_000))).toBeNull();
  });
});

describe('encrypted connections', () => {
  const mail = {
    from: { address: 'reply@chat.example.com' },
    to: 'rosa@example.net',
    subject: 'hello',
    text: 'hello',
    messageId: 'one@chat.example.com',
  };
  const send = createSmtpClient({
    clock: {
      after: (ms, run) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
    },
  });
  const hand = (url: string) => send({ url, allowPrivate: true }, mail, AbortSignal.timeout(30_000));

  it('are used where they are offered, by STARTTLS and from the first byte, and only with a certificate that holds', async () => {
    const addresses = [
      upgrading.url('desk', 'a:b/c'),
      encrypted.url('desk', 'a:b/c').replace('smtp:', 'smtps:'),
    ];
    setDefaultCACertificates(trusted);
    for (const url of addresses) expect(await hand(url)).toMatchObject({ ok: false, permanent: false });
    expect([...upgrading.taken, ...encrypted.taken]).toEqual([]);
    setDefaultCACertificates([...trusted, mailCertificate]);
    for (const url of addresses) expect(await hand(url)).toMatchObject({ ok: true });
    expect([upgrading.secured, encrypted.secured]).toEqual([[true], [true]]);
  });

  it.each<readonly [string, 'smtp' | 'smtps', string, (socket: Socket) => void, boolean]>([
    [
      'has a certificate of its own',
      'smtps',
      'its certificate is not signed by a trusted authority',
      (socket) => socket.end('220 here\r\n'),
      true,
    ],
    [
      'speaks no TLS',
      'smtps',
      'no encrypted connection came about, or it was cut off: is smtp:// or smtps:// right for this port?',
      (socket) => socket.end('220 here\r\n'),
      false,
    ],
    [
      'is another',
      'smtp',
      'what answers there is no mail server',
      (socket) => socket.end('HTTP/1.1 400 no\r\n\r\n'),
      false,
    ],
    ['ends the connection', 'smtp', 'the mail server ended the connection', (socket) => socket.end(), false],
  ])('a server that %s is named so, by %s', async (_what, scheme, error, talk, encrypts) => {
    setDefaultCACertificates(trusted);
    const speak = (socket: Socket): void => talk(socket.on('error', () => undefined).resume());
    const server = encrypts
      ? createTlsServer({ key: mailKey, cert: mailCertificate }, speak)
      : createServer(speak);
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      expect(await hand(`${scheme}://localhost:${port}`)).toMatchObject({
        ok: false,
        permanent: false,
        error,
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it.each(['smtp', 'smtps'] as const)(
    'a server that goes on saying something is left, by %s',
    async (scheme) => {
      setDefaultCACertificates([...trusted, mailCertificate]);
      let answered = 0;
      // Empty lines: each is short, and none of them ends an answer.
      const talk = (socket: Socket): void => {
        answered += 1;
        socket.on('error', () => undefined).resume();
        socket.end(`220 here\r\n${'\r\n'.repeat(100_000)}`);
      };
      const server =
        scheme === 'smtp'
          ? createServer(talk)
          : createTlsServer({ key: mailKey, cert: mailCertificate }, talk);
      server.listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as AddressInfo;
      try {
        const url = `${scheme}://localhost:${port}`;
        expect(await hand(url)).toEqual({
          ok: false,
          permanent: false,
          refusesAddress: false,
          error: 'the mail server answers without end',
        });
        expect(await probeMailServer(url, AbortSignal.timeout(20_000))).toBe(
          'the mail server answers without end',
        );
        expect(answered).toBe(2);
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    },
  );

  it('are offered where mails come in', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'deskbell-mail-'));
    const [key, certificate] = [join(folder, 'mail.key'), join(folder, 'mail.pem')];
    await Promise.all([writeFile(key, mailKey, { mode: 0o600 }), writeFile(certificate, mailCertificate)]);
    const app = await startApp({
      flags: {
        mailAddress: 'reply@chat.example.com',
        mailListen: '127.0.0.1:0',
        mailTlsKey: key,
        mailTlsCertificate: certificate,
      },
    });
    const transport = createTransport({
      host: '127.0.0.1',
      port: app.mailPort ?? 0,
      requireTLS: true,
      tls: { ca: mailCertificate },
    });
    try {
      await expect(
        transport.sendMail({ envelope: { from: 'rosa@example.net', to: ['x@example.com'] }, raw: 'x' }),
      ).rejects.toMatchObject({ responseCode: 550 });
    } finally {
      transport.close();
      await app.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

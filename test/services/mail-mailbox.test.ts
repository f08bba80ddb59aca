// Mails that are read from a mailbox: each leads to what it should once, wherever the connection or the server breaks off,
// and no mail holds up the next.
import { Transform } from 'node:stream';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runChecks } from '../../src/cli/checks.ts';
import { checkMail } from '../../src/cli/mail-check.ts';
import { readConfig, Redacted } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { startMailboxReader } from '../../src/mail/mailbox-reader.ts';
import { ImapAnswers } from '../../src/net/imap-answers.ts';
import { openMailbox, type Mailbox } from '../../src/net/imap-client.ts';
import { makeToken, replyAddress } from '../../src/services/mail/reply-token.ts';
import { maxMailBytes } from '../../src/services/mail/inbound/parsed-mail.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createOrganization,
  createVisitor,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { mailCertificate } from '../helpers/mail-certificate.ts';
import { MailboxHost, type MailboxHostOptions } from '../helpers/mailbox-host.ts';
import { plainMail } from '../helpers/send-mail.ts';
import { setByPath } from '../helpers/settings.ts';

const user = { user: 'desk', password: 'p"\\:/ä' };
const trusted = getCACertificates('default');
let host: MailboxHost;
let app: TestApp;
let acme: TestOrganization;

beforeAll(async () => {
  host = await new MailboxHost(user).start();
  app = await startApp({
    flags: { mailAddress: 'reply@chat.example.com', baseUrl: 'https://chat.example.com' },
    environment: { DESKBELL_IMAP_URL: host.url() },
  });
  acme = await createOrganization(app, 'acme');
});
afterEach(() => {
  host.before = () => null;
});
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await app.stop();
  await host.stop();
});

let number = 0;

/** A conversation, and a mail that answers in it. */
async function answer(text: string): Promise<{ id: string; raw: string; contents(): Promise<string[]> }> {
  number += 1;
  const address = `rosa${number}@example.net`;
  const visitor = createVisitor(app, acme.application);
  await visitor.call('PUT', '/visitor', { email: address });
  const id = await createConversation(visitor);
  const [row] = await rowsOf(app, `select visitor_key from conversations where id = '${id}'`);
  const token = makeToken(app.service, 'reply', { id, visitor_key: String(row?.['visitor_key']) });
  const to = replyAddress('reply@chat.example.com', token);
  const raw = plainMail({ from: `Rosa <${address}>`, to, text, messageId: `<box-${number}@example.net>` });
  return {
    id,
    raw,
    contents: async () =>
      (
        await rowsOf(
          app,
          `select content from messages where conversation_id = '${id}' and via = 'email' order by seq`,
        )
      ).map(({ content }) => String(content)),
  };
}

/** A command of the reader that is answered comes sooner, however busy the machine is, ms. */
const stalledMs = 1_000;

/**
 * Lets the next attempts come, however many there must be. What is under way is given time: an answer has a minute of the
 * clock, and on a busy machine it comes later than the next look.
 */
function later<T>(check: () => Promise<T>, at = host): Promise<T> {
  let commands = -1;
  let since = performance.now();
  return eventually(() => {
    const now = performance.now();
    if (at.commands.length !== commands) {
      commands = at.commands.length;
      since = now;
    }
    if (at.isResting || now - since > stalledMs) {
      since = now;
      app.clock.advance(10_000);
    }
    return check();
  });
}

const isSeen = (flags: ReadonlySet<string>): boolean => flags.has(String.raw`\Seen`);

describe('a mailbox', () => {
  it('is listened to: a mail is in its conversation at once, and marked as read afterwards', async () => {
    await eventually(() => expect(host.commands.at(-1)).toBe('IDLE'));
    const one = await answer('Thank you!');
    const mail = host.deliver(one.raw);
    await eventually(async () => expect(await one.contents()).toEqual(['Thank you!']));
    await eventually(() => expect([...mail.flags]).toEqual([String.raw`\Seen`]));
    expect(app.service.settings.mail.receives).toBe(true);
  });

  it('is read once, wherever the connection breaks off', async () => {
    for (const at of [
      'CAPABILITY',
      'AUTHENTICATE',
      'SELECT',
      'UID SEARCH',
      'RFC822.SIZE',
      'BODY.PEEK',
      'UID STORE',
    ]) {
      let cuts = 2;
      host.before = (command) => (command.includes(at) && (cuts -= 1) >= 0 ? 'cut' : null);
      const one = await answer(`cut at ${at}`);
      const mail = host.deliver(one.raw);
      // Those before the search are met by a connection that ends now.
      if (!at.startsWith('UID') && !at.includes('.')) host.hangUp();
      await later(async () => {
        expect(isSeen(mail.flags)).toBe(true);
        expect(await one.contents()).toEqual([`cut at ${at}`]);
      });
      expect(cuts).toBeLessThanOrEqual(0);
    }
  });

  it('is read once by the server that comes after a crash between storing and marking', async () => {
    const one = await answer('once');
    host.before = (command) => (command.startsWith('UID STORE') ? 'cut' : null);
    const mail = host.deliver(one.raw);
    await later(async () => expect(await one.contents()).toEqual(['once']));
    expect(isSeen(mail.flags)).toBe(false);
    app = await app.restart();
    host.before = () => null;
    await eventually(() => expect(isSeen(mail.flags)).toBe(true));
    expect(await one.contents()).toEqual(['once']);
  });

  it('keeps what can’t be taken, flagged, and goes on', async () => {
    await later(() => Promise.resolve(expect(host.commands.at(-1)).toBe('IDLE')));
    const huge = host.deliver(Buffer.alloc(maxMailBytes + 1, 'x'));
    const nested = host.deliver(`Subject: ${'x'.repeat(600_000)}\r\n\r\nhello`);
    const stray = host.deliver(plainMail({ to: 'x@example.org' }));
    const one = await answer('behind them');
    const mail = host.deliver(one.raw);
    await later(() => Promise.resolve(expect(isSeen(mail.flags)).toBe(true)));
    expect(await one.contents()).toEqual(['behind them']);
    expect(app.logged.filter((line) => line.includes('mails of the mailbox are addressed'))).toEqual([
      expect.stringContaining('"to":["x@example.org"]'),
    ]);
    expect(app.service.metrics.mails).toMatchObject({ astray: 1 });
    const where = app.database === null ? { data: app.folder } : {};
    const checks = await runChecks(readConfig(where, app.environment), app.clock.now());
    expect(checks.find(({ about }) => about === 'mails that came')?.found).toContain('1 of people led to no');
    const flagged = [huge, nested, stray].map(({ flags }) => flags.has(String.raw`\Flagged`));
    expect(flagged).toEqual([true, true, false]);
    expect([huge, nested, stray].every(({ flags }) => isSeen(flags))).toBe(true);
  });

  it('passes a mail over that ends the reading each time, and begins it again later', async () => {
    const bad = await answer('comes late');
    const first = host.deliver(bad.raw);
    host.before = (command) => (command.startsWith(`UID FETCH ${first.uid} `) ? 'cut' : null);
    const one = await answer('not held up');
    const mail = host.deliver(one.raw);
    host.hangUp();
    await later(() => Promise.resolve(expect(isSeen(mail.flags)).toBe(true)));
    expect([isSeen(first.flags), await bad.contents()]).toEqual([false, []]);
    expect(app.logged.join('\n')).toContain('ends its reading');
    host.before = () => null;
    app.clock.advance(900_000);
    await later(() => Promise.resolve(expect(isSeen(first.flags)).toBe(true)));
    expect(await bad.contents()).toEqual(['comes late']);
  });

  it('fetches a mail that a limit holds back once more, when its time has come, and not before', async () => {
    const one = await answer('of many');
    const many = Array.from({ length: 11 }, (_, at) =>
      host.deliver(one.raw.replace(/<box-/, `<many-${at}-`)),
    );
    const fetches = (): number =>
      host.commands.filter((command) => command.includes(`FETCH ${many[10]?.uid} `) && /BODY/.test(command))
        .length;
    await eventually(async () => expect(await one.contents()).toHaveLength(10));
    await eventually(() => expect([fetches(), host.commands.at(-1)]).toEqual([1, 'IDLE']));
    const other = await answer('in between');
    host.deliver(other.raw);
    await eventually(async () => expect(await other.contents()).toHaveLength(1));
    await eventually(() => expect(host.commands.at(-1)).toBe('IDLE'));
    expect(fetches()).toBe(1);
    app.clock.advance(60_000);
    await eventually(async () => expect(await one.contents()).toHaveLength(11));
    expect(fetches()).toBe(2);
  });

  it('brings a mail to every inbox that it names, and to a conversation instead of its application’s inbox', async () => {
    const globex = await createOrganization(app, 'globex');
    for (const { application, slug } of [acme, globex])
      await setByPath(app, application.id, {
        'email.mode': 'inbox',
        'email.address': `${slug}@chat.example.com`,
      });
    const subjects = async (): Promise<unknown[]> =>
      (
        await rowsOf(
          app,
          `select o.slug, c.subject from conversations c join organizations o on o.id = c.organization_id where c.channel = 'email' order by o.slug`,
        )
      ).map((row) => `${String(row['slug'])} ${String(row['subject'])}`);
    const to = 'globex@chat.example.com, acme@chat.example.com';
    host.deliver(plainMail({ to, subject: 'for both' }));
    await later(async () => expect(await subjects()).toEqual(['acme for both', 'globex for both']));
    const one = await answer('to all of you');
    const all = host.deliver(one.raw.replace('To: ', 'To: acme@chat.example.com, '));
    await later(() => Promise.resolve(expect(isSeen(all.flags)).toBe(true)));
    expect(await one.contents()).toEqual(['to all of you']);
    expect(await subjects()).toHaveLength(2);
  });

  it('is read oldest first and once by ranges, also where mails go while it is read', async () => {
    await later(() => Promise.resolve(expect(host.commands.at(-1)).toBe('IDLE')));
    host.hangUp();
    while (host.mails.length < 495) host.deliver('').flags.add(String.raw`\Seen`);
    const old = host.mails.slice(0, 10);
    const mails = Array.from({ length: 8 }, () => host.deliver(plainMail({ to: 'x@example.org' })));
    host.before = (command) => {
      // In the middle of the first range.
      if (command.startsWith(`UID FETCH ${mails[3]?.uid} `))
        old.splice(0).forEach((mail) => host.remove(mail));
      return null;
    };
    host.commands.length = 0;
    await later(() => {
      expect(mails.every(({ flags }) => isSeen(flags))).toBe(true);
      return Promise.resolve(expect(host.commands.at(-1)).toBe('IDLE'));
    });
    const taken = host.commands.flatMap((command) => /UID FETCH (\d+) .*BODY/.exec(command)?.slice(1) ?? []);
    expect(taken).toEqual(mails.map(({ uid }) => String(uid)));
    expect(host.commands.filter((command) => command.startsWith('UID SEARCH')).slice(0, 2)).toEqual([
      'UID SEARCH 1:500 UNSEEN',
      'UID SEARCH 491:493 UNSEEN',
    ]);
    // Few are left: one question is enough from now on.
    const one = await answer('one more');
    host.deliver(one.raw);
    await eventually(async () => expect(await one.contents()).toEqual(['one more']));
    const asked = host.commands.filter((command) => command.startsWith('UID SEARCH')).slice(2);
    expect(new Set(asked)).toEqual(new Set(['UID SEARCH UNSEEN']));
  });

  it('has so many mails wait and no more, and those behind them in their order', async () => {
    const other = await new MailboxHost(user).start();
    const one = await answer('of many');
    const many = Array.from({ length: 14 }, (_, at) => {
      return other.deliver(one.raw.replace(/<box-/, `<room-${at}-`).replace('of many', `number ${at}`));
    });
    const fetched = (): number[] =>
      many.map(
        ({ uid }) => other.commands.filter((command) => command.includes(`FETCH ${uid} (UID BODY`)).length,
      );
    const stop = startMailboxReader({
      service: app.service,
      url: other.url(),
      log: createLog('error', { write: () => undefined }),
      maxWaiting: 2,
    });
    try {
      await eventually(() => expect(other.commands.at(-1)).toBe('IDLE'));
      expect(fetched()).toEqual([...Array.from({ length: 12 }, () => 1), 0, 0]);
      await later(async () => expect(await one.contents()).toHaveLength(14), other);
      expect(await one.contents()).toEqual(many.map((_, at) => `number ${at}`));
      expect(fetched()).toEqual([...Array.from({ length: 10 }, () => 1), 2, 2, 1, 1]);
    } finally {
      await stop();
      await other.stop();
    }
  });

  it('is asked again where the server tells nonsense, and no password is logged', async () => {
    for (const nonsense of [
      '* SEARCH 1 2 x\r\nTAG OK done\r\n',
      'TAG NO not now\r\n',
      `* 1 FETCH (BODY[] {${maxMailBytes + 1}}\r\n`,
      `* SEARCH ${'1,'.repeat(500_000)}\r\nTAG OK done\r\n`,
      '\0\0\0\r\n\r\nTAG BAD\r\n',
      '* BYE\r\n',
    ]) {
      let left = 1;
      host.before = (command) => (command.startsWith('UID SEARCH') && (left -= 1) >= 0 ? nonsense : null);
      const one = await answer('after nonsense');
      host.deliver(one.raw);
      host.hangUp();
      await later(async () => expect(await one.contents()).toEqual(['after nonsense']));
    }
    expect(app.logged.join('\n')).toContain('the mail server says more than 8192 bytes at once');
    host.before = (command) =>
      command.startsWith('AUTHENTICATE') ? `TAG NO wrong: ${user.password}\r\n` : null;
    host.hangUp();
    await later(() => Promise.resolve(expect(app.logged.join('\n')).toContain('refused the user name')));
    expect(app.logged.join('\n')).not.toContain('p\\"');
    expect(app.logged.join('\n')).not.toContain(user.password);
  });
});

describe('the ways to a mailbox', () => {
  const open = async (
    options: Partial<MailboxHostOptions>,
    change: (url: string) => string = (url) => url,
    raw = 'Subject: one\r\n\r\none',
  ): Promise<string> => {
    const other = await new MailboxHost({ ...user, ...options }).start();
    try {
      other.deliver(raw);
      const mailbox = await openMailbox({
        url: change(other.url()),
        clock: app.clock,
        signal: AbortSignal.timeout(60_000),
        maxMailBytes,
      });
      let uid = 0;
      for await (const some of mailbox.unread()) [uid = uid] = some;
      const stretches: Uint8Array[] = [];
      for await (const stretch of mailbox.fetch(uid)) stretches.push(stretch);
      mailbox.close();
      return Buffer.concat(stretches).toString();
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      await other.stop();
    }
  };

  it('hold any number of unread mails, and some are told at a time', async () => {
    const other = await new MailboxHost({ ...user, firstUid: 4_000_000_000 }).start();
    const mails = Array.from({ length: 140_000 }, () => other.deliver(''));
    const mailbox = await openMailbox({
      url: other.url(),
      clock: app.clock,
      signal: AbortSignal.timeout(60_000),
      maxMailBytes,
    });
    try {
      const told: number[] = [];
      let most = 0;
      for await (const some of mailbox.unread()) {
        most = Math.max(most, some.length);
        for (const uid of some) told.push(uid);
      }
      expect(told).toEqual(mails.map(({ uid }) => uid));
      expect(most).toBe(500);
    } finally {
      mailbox.close();
      await other.stop();
    }
  });

  it('end at a server that says more than it may, with what it was', async () => {
    const other = await new MailboxHost(user).start();
    other.deliver('');
    /** What comes of an answer, to a question in its place. */
    const say = async (told: string, asked = 'UID SEARCH'): Promise<string> => {
      other.before = (command) => (command.startsWith(asked) ? `${told}\r\nTAG OK done\r\n` : null);
      let mailbox: Mailbox | null = null;
      try {
        mailbox = await openMailbox({
          url: other.url(),
          clock: app.clock,
          signal: AbortSignal.timeout(60_000),
          maxMailBytes,
        });
        let unread = 0;
        for await (const some of mailbox.unread()) unread += some.length;
        const { value: stretch } = await mailbox.fetch(1).next();
        return stretch instanceof Uint8Array ? `${stretch.length} bytes` : `${unread} unread`;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      } finally {
        mailbox?.close();
      }
    };
    const atOnce = 'the mail server says more than 8192 bytes at once';
    try {
      const mail = (items: string, size: number): string =>
        `* 1 FETCH (UID 1 ${items} {${size}}\r\n${'x'.repeat(size)})`;
      for (const [told, outcome, asked] of [
        // A line, a text, texts without number; the first is what no line's end ever comes to.
        [`* SEARCH ${'1'.repeat(9_000)}`, atOnce],
        [`* SEARCH a${','.repeat(9_000)}`, atOnce],
        [`* SEARCH ${'{1}\r\nx '.repeat(2_000)}`, atOnce],
        [mail('ENVELOPE (NIL', 9_000), atOnce],
        ['* SEARCH 1 {1073741824}', atOnce],
        ['* 1 EXISTS\r\n'.repeat(30_000), 'the mail server answers with more than 262144 bytes'],
        ['* VANISHED 1:16777216', 'the mail server tells what was not asked'],
        ['* 7 "V\\ANISHED" 1:16777216', 'the mail server tells what was not asked'],
        ['* ESEARCH (Tag "1") UID ALL "1:4294967295"', 'the mail server tells what was not asked'],
        ['* ESEARCH (Tag "1") UID ALL 1:4294967295', 'the mail server names more than 10000 mails at once'],
        // A server that is not signed in to has a few lines.
        ['* OK\r\n'.repeat(200), 'the mail server answers with more than 8192 bytes', 'CAPABILITY'],
        // The bytes of a mail come as what they are, and once.
        [mail('FLAGS (\\Seen) BODY[]<0>', 1_048_576), '1048576 bytes', 'UID FETCH'],
        [mail('BODY[]<0>', 1_048_577), atOnce, 'UID FETCH'],
        [mail('BODY[HEADER]', 9_000), atOnce, 'UID FETCH'],
        [mail('ENVELOPE (BODY[]<0>', 9_000), atOnce, 'UID FETCH'],
        [`${mail('BODY[]', 1_040_000)}\r\n${mail('BODY[]', 9_000)}`, atOnce, 'UID FETCH'],
        // And what is within the bounds is read.
        ['* ESEARCH (Tag "1") UID ALL 1', '0 bytes'],
      ] as const)
        expect([told.slice(0, 40), await say(told, asked)]).toEqual([told.slice(0, 40), outcome]);
    } finally {
      await other.stop();
    }
  });

  it('take a large mail in stretches', async () => {
    const raw = `Subject: large\r\n\r\n${'0123456789abcd\r\n'.repeat(160_000)}`;
    expect(await open({}, undefined, raw)).toBe(raw);
  });

  it('read what a server says a little at a time', async () => {
    let turn = 0;
    let lines = new Map<number, number>();
    const stream = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const ends = chunk.toString('latin1').split('\n').length - 1;
        lines.set(turn, (lines.get(turn) ?? 0) + ends);
        done();
      },
    });
    const answers = new ImapAnswers();
    answers.guard(stream, () => false);
    const count = (): void => {
      turn += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    try {
      for (const [line, most] of [
        ['* OK\r\n', 33],
        [`* OK ${'x'.repeat(1_000)}\r\n`, 3],
        ['\n', 33],
      ] as const) {
        lines = new Map();
        answers.expect();
        const told = line.repeat(Math.floor(65_536 / line.length));
        await new Promise((resolve) => stream.write(told, resolve));
        const counts = [...lines.values()];
        expect(Math.max(...counts)).toBeLessThanOrEqual(most);
        expect(counts.reduce((sum, one) => sum + one, 0)).toBe(Math.floor(65_536 / line.length));
      }
    } finally {
      clearImmediate(counting);
    }
  });

  it('are encrypted where that is offered, and only with a certificate that holds', async () => {
    const mail = 'Subject: one\r\n\r\none';
    expect(await open({ tls: 'starttls' })).toMatch(/certificate/);
    expect(await open({ tls: 'imaps' })).toMatch(/certificate/);
    setDefaultCACertificates([...trusted, mailCertificate]);
    expect(await open({ tls: 'starttls' })).toBe(mail);
    expect(await open({ tls: 'imaps' })).toBe(mail);
    // What is said in the clear between the answer and the handshake is not taken for what was encrypted.
    for (const clearly of [
      'TAG OK go\r\n* CAPABILITY IMAP4rev1\r\n',
      'TAG OK go\r\n* OK half a li',
      // Where a portion of it could end.
      `* OK ${'x'.repeat(2_000)}\r\nTAG OK go\r\n* CAPABILITY IMAP4rev1\r\n`,
    ]) {
      expect(await open({ tls: 'starttls', clearly })).toBe('the mail server offers no encrypted connection');
    }
    expect(await open({ password: 'plain "quoted\\"', capabilities: [] })).toBe(mail);
  });

  it('say what is wrong, here and in doctor', async () => {
    const wrong = (url: string): string => url.replace(/:[^:@]*@/, ':other@');
    expect(await open({}, wrong)).toBe('the mail server refused the user name or the password');
    expect(await open({ capabilities: [] }, wrong)).toBe(
      'the mail server refused the user name or the password',
    );
    const none = () => Promise.resolve([]);
    const check = async (url: string): Promise<unknown> =>
      (
        await checkMail(
          {
            smtpUrl: new Redacted('smtp://127.0.0.1:1'),
            imapUrl: new Redacted(url),
            mailAddress: 'reply@localhost',
            mailListen: null,
          },
          { dns: { txt: none, mx: none, addresses: none, names: none } },
        )
      ).find(({ about }) => about === 'mailbox');
    host.before = () => null;
    expect(await check(host.url())).toMatchObject({ state: 'ok' });
    const many = await new MailboxHost(user).start();
    for (let left = 10_001; left > 0; left -= 1) many.deliver('');
    expect(await check(many.url())).toMatchObject({
      found: expect.stringMatching(/: at least 10000 unread/),
    });
    await many.stop();
    expect(await check(wrong(host.url()))).toMatchObject({
      state: 'wrong',
      found: expect.stringContaining('refused'),
    });
  });
});

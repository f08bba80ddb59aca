// Mails that come in: an answer is in its conversation once and within a moment; forged tokens, other tenants, strangers,
// programs, reports and bombs reach nothing that they should not.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { checkRoundTrip } from '../../src/cli/mail-round-trip.ts';
import { readConfig } from '../../src/config.ts';
import { hasFolder, startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { createConfigCache } from '../../src/services/core/config-cache.ts';
import { findMailTarget } from '../../src/services/mail/inbound/receive-mail.ts';
import { MailRefusedError, readMail } from '../../src/services/mail/inbound/read-mail.ts';
import { MailTooLargeError, withMail } from '../../src/services/mail/inbound/collect-mail.ts';
import { escapeHtml } from '../../src/text/escape-html.ts';
import { mailStopLanguages, mailStopWords } from '../../src/http/pages/mail-stop-words.ts';
import { makeRoundTripToken, makeToken, replyAddress } from '../../src/services/mail/reply-token.ts';
import { MailHost, type TakenMail } from '../helpers/mail-host.ts';
import { plainMail, sendMail } from '../helpers/send-mail.ts';
import { setByPath } from '../helpers/settings.ts';

let host: MailHost;
let app: TestApp;
let port: number;
let acme: TestOrganization;
let globex: TestOrganization;
let olivia: TestMember;
let number = 0;

beforeAll(async () => {
  host = await new MailHost().start();
  app = await startApp({
    flags: {
      mailAddress: 'reply@chat.example.com',
      mailListen: '127.0.0.1:0',
      limitMailSender: '6/m,60/h',
      limitMailNew: '4/m,300/h',
      baseUrl: 'https://chat.example.com',
    },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  port = app.mailPort ?? 0;
  acme = await createOrganization(app, 'acme');
  globex = await createOrganization(app, 'globex');
  olivia = await createMember(app, 'acme');
});

afterAll(async () => {
  await app.stop();
  await host.stop();
});

interface Talk {
  readonly id: string;
  readonly visitor: TestClient;
  readonly address: string;
  /** Where answers go. */
  readonly replyTo: string;
}

async function talk(organization = acme): Promise<Talk> {
  number += 1;
  const address = `rosa${number}@example.net`;
  const visitor = createVisitor(app, organization.application);
  await visitor.call('PUT', '/visitor', { email: address, name: 'Rosa' });
  const id = await createConversation(visitor, 'My parcel');
  await createMessage(visitor, id, 'Where is it?');
  if (organization === acme) await olivia.call('POST', `/conversations/${id}/accept`);
  const [row] = await rowsOf(app, `select id, visitor_key from conversations where id = '${id}'`);
  const token = makeToken(app.service, 'reply', { id, visitor_key: String(row?.['visitor_key']) });
  return { id, visitor, address, replyTo: replyAddress('reply@chat.example.com', token) };
}

interface Shown {
  readonly content: string;
  readonly senderRole: string;
  readonly internal?: true;
  readonly via?: string;
  readonly attachments?: readonly { readonly name: string }[];
}

const messagesOf = async (id: string): Promise<Shown[]> =>
  (await olivia.call('GET', `/conversations/${id}/messages`)).body.messages;

const total = async (): Promise<number> =>
  Number((await rowsOf(app, 'select count(*) as n from messages'))[0]?.['n']);

const answer = (of: Talk, text: string, more: Parameters<typeof plainMail>[0] = {}): Promise<number> =>
  sendMail(port, {
    from: of.address,
    to: of.replyTo,
    raw: plainMail({ from: `Rosa <${of.address}>`, to: of.replyTo, text, ...more }),
  });

/** Does something before the nth write to the whole of acme from now on, which is where mails are written. */
async function beforeWrite(nth: number, act: () => Promise<unknown>): Promise<void> {
  const { store } = app.service.engine;
  const write = store.write.bind(store);
  let left = nth;
  const spy = vi.spyOn(store, 'write').mockImplementation(async (scope, work, behind) => {
    if (JSON.stringify(scope) === JSON.stringify({ organization: acme.id })) left -= 1;
    if (left === 0) {
      spy.mockRestore();
      await act();
    }
    return write(scope, work, behind);
  });
}

describe('an answer by mail', () => {
  it('is live in the room at once, as the visitor’s words, without the quotation', async () => {
    const one = await talk();
    const staff = await olivia.connect();
    staff.send('room:join', { conversationId: one.id });
    await staff.receives('room:joined');
    // Time stands still: nothing waits for a timer.
    const code = await answer(
      one,
      'It has not come.\n\nOn Mon, 23 Nov 2026 at 12:00, acme site <reply@chat.example.com> wrote:\n> -- Write your answer above this line --\n> It is on its way.',
    );
    expect(code).toBe(250);
    const heard = await staff.receives('message:new');
    expect(heard).toMatchObject({
      content: 'It has not come.',
      senderRole: 'visitor',
      via: 'email',
      senderId: one.visitor.id,
    });
    expect((await messagesOf(one.id)).at(-1)).toMatchObject({ content: 'It has not come.', via: 'email' });
    staff.socket.close();
  });

  it('is stored once, however often it comes and whichever way', async () => {
    const one = await talk();
    const raw = plainMail({
      from: one.address,
      to: one.replyTo,
      text: 'once',
      messageId: '<again@example.net>',
    });
    const { key } = await app.local('email.createKey', { applicationId: acme.application.id });
    for (let at = 0; at < 2; at += 1)
      expect(await sendMail(port, { from: one.address, to: one.replyTo, raw })).toBe(250);
    const posted = await request(
      app.url,
      'POST',
      `/api/v1/inbound/email/${key}`,
      { 'content-type': 'message/rfc822' },
      raw,
    );
    expect(posted.status).toBe(200);
    expect(posted.body).toEqual({ state: 'taken' });
    const nameless = plainMail({ from: one.address, to: one.replyTo, text: 'nameless', messageId: null });
    for (let at = 0; at < 2; at += 1)
      await sendMail(port, { from: one.address, to: one.replyTo, raw: nameless });
    expect((await messagesOf(one.id)).map(({ content }) => content)).toEqual([
      'Where is it?',
      'once',
      'nameless',
    ]);
  });

  it('to a closed conversation opens one that names it, once, and not again for what came before', async () => {
    const one = await talk();
    const early = { messageId: '<early@example.net>' };
    await answer(one, 'before', early);
    await olivia.call('POST', `/conversations/${one.id}/resolve`);
    await answer(one, 'before', early);
    await answer(one, 'after', { messageId: '<late@example.net>' });
    await answer(one, 'after', { messageId: '<late@example.net>' });
    const opened = (await one.visitor.call('GET', '/conversations')).body.conversations.filter(
      ({ id }: { id: string }) => id !== one.id,
    );
    expect(opened).toHaveLength(1);
    expect(opened[0]).toMatchObject({
      channel: 'email',
      continues: one.id,
      status: 'pending',
      subject: 'My parcel',
    });
    expect((await messagesOf(opened[0].id)).map(({ content }) => content)).toEqual(['after']);
    expect((await messagesOf(one.id)).map(({ content }) => content)).toEqual(['Where is it?', 'before']);
  });

  it('makes no address the visitor’s own: one that is named afterwards gets none of their words', async () => {
    const one = await talk();
    await olivia.call('POST', `/conversations/${one.id}/resolve`);
    expect(await answer(one, 'BUY PILLS')).toBe(250);
    const [row] = await rowsOf(app, `select id from conversations where continues = '${one.id}'`);
    const id = String(row?.['id']);
    expect((await messagesOf(id)).map(({ content }) => content)).toEqual(['BUY PILLS']);
    await one.visitor.call('PUT', '/visitor', { email: 'victim@example.net' });
    const ask = async (): Promise<number> =>
      (await one.visitor.call('POST', `/conversations/${id}/transcript`)).status;
    expect(await ask()).toBe(409);
    await olivia.call('POST', `/conversations/${id}/accept`);
    await createMessage(olivia, id, 'No, thank you.');
    expect(await ask()).toBe(200);
    const mails = await eventually(() => {
      const found = host.taken.filter(({ to }) => to.includes('victim@example.net'));
      if (found.length < 2) throw new Error('not yet');
      return Promise.resolve(found);
    });
    for (const { raw } of mails) expect(raw.toString()).not.toMatch(/PILLS|My parcel/);
  });

  it('never lands in a conversation that was closed while it was taken in', async () => {
    const one = await talk();
    await beforeWrite(1, () => olivia.call('POST', `/conversations/${one.id}/resolve`));
    expect(await answer(one, 'too late', { messageId: '<closing@example.net>' })).toBe(250);
    const { conversations } = (await one.visitor.call('GET', '/conversations')).body;
    const next = conversations.find(({ continues }: { continues?: string }) => continues === one.id);
    expect((await messagesOf(one.id)).map(({ content }) => content)).toEqual(['Where is it?']);
    expect((await messagesOf(next.id)).map(({ content }) => content)).toEqual(['too late']);
  });

  it('brings its files, and names those that may not be taken', async () => {
    const one = await talk();
    const boundary = 'b1';
    const raw = [
      `From: ${one.address}`,
      `To: ${one.replyTo}`,
      'Subject: files',
      'Message-ID: <files@example.net>',
      `Content-Type: multipart/mixed; boundary=${boundary}`,
      '',
      `--${boundary}`,
      'Content-Type: text/plain',
      '',
      'See these.',
      `--${boundary}`,
      'Content-Type: text/plain; name="notes.txt"',
      'Content-Disposition: attachment; filename="notes.txt"',
      '',
      'some notes',
      `--${boundary}`,
      'Content-Type: application/octet-stream; name="virus.exe"',
      'Content-Disposition: attachment; filename="virus.exe"',
      'Content-Transfer-Encoding: base64',
      '',
      'TVqQAAMAAAAEAAAA',
      `--${boundary}--`,
      '',
    ].join('\r\n');
    for (let at = 0; at < 2; at += 1)
      expect(await sendMail(port, { from: one.address, to: one.replyTo, raw })).toBe(250);
    const last = (await messagesOf(one.id)).at(-1);
    expect(last?.content).toBe('See these.\n\n[virus.exe]');
    expect(last?.attachments?.map(({ name }) => name)).toEqual(['notes.txt']);
    expect(await rowsOf(app, "select 1 from files where name = 'notes.txt'")).toHaveLength(1);
  });

  it('is cut where it is longer than a message, says so, and still names the files that are not with it', async () => {
    const one = await talk();
    const mark = '…\n\n(The mail was longer: its end is missing.)';
    const mail = (text: string, names: readonly string[]): string =>
      [
        `From: ${one.address}`,
        'Content-Type: multipart/mixed; boundary=b1',
        '',
        `--b1\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${text}`,
        ...names.map(
          (name) =>
            `--b1\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename="${name}"\r\n\r\nMZ`,
        ),
        '--b1--\r\n',
      ].join('\r\n');
    const arrives = async (raw: string, from = one.address): Promise<string> => {
      expect(await sendMail(port, { from, to: one.replyTo, raw })).toBe(250);
      return (await messagesOf(one.id)).at(-1)?.content ?? '';
    };
    const long = 'word '.repeat(2_000);
    const named = await arrives(mail(long, ['virus.exe']));
    expect(named.length).toBeLessThanOrEqual(5_000);
    expect(named).toMatch(/^(?:word ){900}/);
    expect(named.endsWith(`${mark}\n\n[virus.exe]`)).toBe(true);
    // No character is cut in two.
    const halves = await arrives(mail(`x${'😀'.repeat(4_000)}`, []));
    expect(halves.isWellFormed()).toBe(true);
    expect(halves.endsWith(`😀${mark}`)).toBe(true);
    // Many long names leave room for the text.
    const names = Array.from({ length: 20 }, (_, at) => `${'n'.repeat(180)}${at}.exe`);
    const crowded = await arrives(mail(long, names));
    expect(crowded.length).toBeLessThanOrEqual(5_000);
    expect(crowded).toMatch(/^(?:word ){500}/);
    expect(crowded.endsWith('…]')).toBe(true);
    const note = await arrives(
      mail(long, ['virus.exe']).replace(one.address, 'other@example.net'),
      'other@example.net',
    );
    expect(note).toMatch(/^From another address \(other@example\.net\):/);
    expect(note.endsWith(`${mark}\n\n[virus.exe]`)).toBe(true);
    // What is just as long as a message is whole.
    expect(await arrives(mail('y'.repeat(5_000), []))).toBe('y'.repeat(5_000));
  });
});

describe('who may write', () => {
  it('is decided by the token: one that was forged, changed or made for another is refused', async () => {
    const one = await talk();
    const other = await talk(globex);
    const [local = ''] = one.replyTo.split('@');
    const token = local.slice('reply+'.length);
    const [id = '', mac = ''] = token.split('.');
    const [otherId = '', otherMac = ''] = other.replyTo.split('+')[1]?.split('@')[0]?.split('.') ?? [];
    const stop = makeToken(app.service, 'stop', {
      id: one.id,
      visitor_key: String(
        (await rowsOf(app, `select visitor_key from conversations where id = '${one.id}'`))[0]?.[
          'visitor_key'
        ],
      ),
    });
    const before = await total();
    for (const forged of [
      `${id}.${otherMac}`,
      `${otherId}.${mac}`,
      `${id}.${'a'.repeat(16)}`,
      `${id}.${mac.slice(0, 15)}`,
      `${id}${mac}`,
      id,
      stop,
    ])
      expect(
        await sendMail(port, {
          from: one.address,
          to: `reply+${forged}@chat.example.com`,
          raw: plainMail({ from: one.address }),
        }),
        forged,
      ).toBe(550);
    expect(await sendMail(port, { to: 'someone@elsewhere.example', raw: plainMail({}) })).toBe(550);
    expect(await sendMail(port, { to: 'reply@chat.example.com', raw: plainMail({}) })).toBe(550);
    expect(await total()).toBe(before);
    // An address may lose its case on the way.
    expect(
      await sendMail(port, {
        from: one.address,
        to: one.replyTo.toUpperCase(),
        raw: plainMail({ from: one.address, text: 'loud' }),
      }),
    ).toBe(250);
    expect((await messagesOf(one.id)).at(-1)?.content).toBe('loud');
  });

  it('headers decide nothing: In-Reply-To of another’s mail leads nowhere', async () => {
    const one = await talk();
    const two = await talk();
    await answer(one, 'mine', { headers: [`In-Reply-To: <m.${two.id}@chat.example.com>`] });
    expect((await messagesOf(two.id)).map(({ content }) => content)).toEqual(['Where is it?']);
    expect((await messagesOf(one.id)).at(-1)?.content).toBe('mine');
  });

  it('a stranger with the token writes a note for staff, and never the visitor’s words', async () => {
    const one = await talk();
    const raw = plainMail({
      from: 'Eve <eve@evil.example>',
      to: one.replyTo,
      text: 'Send the parcel to me.',
    });
    expect(await sendMail(port, { from: 'eve@evil.example', to: one.replyTo, raw })).toBe(250);
    const last = (await messagesOf(one.id)).at(-1);
    expect(last).toMatchObject({ internal: true, senderRole: 'system' });
    expect(last?.content).toBe('From another address (eve@evil.example):\n\nSend the parcel to me.');
    const own = await one.visitor.call('GET', `/conversations/${one.id}/messages`);
    expect(own.text).not.toContain('parcel to me');
  });

  it('under a key only conversations of its organization are reached', async () => {
    const one = await talk();
    const { key } = await app.local('email.createKey', { applicationId: globex.application.id });
    const post = (with_: string) =>
      request(
        app.url,
        'POST',
        `/api/v1/inbound/email/${with_}`,
        { 'content-type': 'message/rfc822' },
        plainMail({ from: one.address, to: one.replyTo }),
      );
    const before = await total();
    expect((await post(key)).body).toMatchObject({ state: 'ignored' });
    expect((await post('dbm_wrong')).status).toBe(404);
    const next = await app.local('email.createKey', { applicationId: globex.application.id });
    expect((await post(key)).status).toBe(404);
    expect((await post(next.key)).status).toBe(200);
    expect(await total()).toBe(before);
  });

  it('a key that is replaced while the mail is on its way brings it nowhere', async () => {
    const { key } = await app.local('email.createKey', { applicationId: acme.application.id });
    const looked = vi.spyOn(app.service.secrets, 'digest');
    const asked = requestHttp(new URL(`/api/v1/inbound/email/${key}`, app.url), {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822' },
    });
    const answered = once(asked, 'response');
    asked.write('From: ');
    await eventually(() => expect(looked).toHaveBeenCalledWith(`mail-key:${key}`));
    looked.mockRestore();
    const before = await total();
    await app.local('email.createKey', { applicationId: acme.application.id });
    asked.end('ann@mail.example\r\nSubject: late\r\n\r\nHello');
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(404);
    expect(await total()).toBe(before);
  });

  it('a blocked visitor does not, by mail either', async () => {
    const one = await talk();
    await olivia.call('PUT', `/visitors/${one.visitor.id}/block`, {
      applicationId: acme.application.id,
    });
    const before = await total();
    await answer(one, 'let me in');
    const blocked = (await rowsOf(app, 'select count(*) as n from visitor_blocks'))[0]?.['n'];
    expect(Number(blocked)).toBe(1);
    expect(await total()).toBe(before);
  });
});

describe('programs', () => {
  it.each([
    ['Auto-Submitted: auto-replied'],
    ['Auto-Submitted: auto-generated'],
    ['Precedence: bulk'],
    ['Precedence: list'],
    ['List-Id: <news.example.net>'],
    ['List-Unsubscribe: <https://example.net/>'],
    ['X-Autoreply: yes'],
  ])('write nothing: %s', async (header) => {
    const one = await talk();
    expect(await answer(one, 'I am away.', { headers: [header] })).toBe(250);
    expect(await messagesOf(one.id)).toHaveLength(1);
  });

  it('write nothing with an empty return path, or under a Message-ID of ours', async () => {
    const one = await talk();
    const raw = plainMail({ from: one.address, to: one.replyTo });
    expect(await sendMail(port, { from: '', to: one.replyTo, raw })).toBe(250);
    const { key } = await app.local('email.createKey', { applicationId: acme.application.id });
    const type = { 'content-type': 'message/rfc822' };
    const posted = await request(
      app.url,
      'POST',
      `/api/v1/inbound/email/${key}`,
      type,
      `Return-Path: <>\r\n${raw}`,
    );
    expect(posted.body).toEqual({ state: 'ignored', why: 'a program sent it' });
    await answer(one, 'back', { messageId: `<m.${one.id}@chat.example.com>` });
    expect(await messagesOf(one.id)).toHaveLength(1);
  });

  /** Lets the mail of an answer become due. @returns the mail */
  async function mailTo(address: string, messageId: string): Promise<TakenMail> {
    await eventually(async () =>
      expect(await rowsOf(app, `select 1 from effects where message_id = '${messageId}'`)).toHaveLength(1),
    );
    app.clock.advance(720_000);
    return eventually(() => {
      const found = host.taken.find(({ to }) => to.includes(address));
      if (found === undefined) throw new Error('no mail yet');
      return Promise.resolve(found);
    });
  }

  /** Has an answer go to the visitor by mail. @returns the return path of that mail, and how its message stands */
  async function mailed(one: Talk): Promise<{ returnPath: string; state(): Promise<unknown> }> {
    const id = await createMessage(olivia, one.id, 'On its way.');
    const sent = await mailTo(one.address, id);
    const state = async (): Promise<unknown> =>
      (await olivia.call('GET', `/conversations/${one.id}/messages`)).body.messages.find(
        (message: { id: string }) => message.id === id,
      ).emailed?.state;
    await eventually(async () => expect(await state()).toBe('sent'));
    return { returnPath: sent.from, state };
  }

  const report = (to: string, address: string, action = 'failed'): string =>
    [
      'From: MAILER-DAEMON <mailer-daemon@example.net>',
      `To: ${to}`,
      'Subject: Undelivered Mail Returned to Sender',
      'Message-ID: <dsn@example.net>',
      'Auto-Submitted: auto-replied',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=r',
      '',
      '--r',
      'Content-Type: text/plain',
      '',
      'It could not be delivered.',
      '--r',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example.net',
      '',
      `Final-Recipient: rfc822; ${address}`,
      `Action: ${action}`,
      'Status: 5.1.1',
      '',
      '--r--',
      '',
    ].join('\r\n');
  const sendReport = (to: string, address: string, action?: string): Promise<number> =>
    sendMail(port, { from: '', to, raw: report(to, address, action) });

  it('that report a failure mark the address, and no more mails go there', async () => {
    const one = await talk();
    const { returnPath, state } = await mailed(one);
    expect(returnPath).not.toBe(one.replyTo);
    expect(returnPath.split('@')[0]?.length).toBeLessThanOrEqual(64);
    expect(await sendReport(returnPath, one.address, 'delayed')).toBe(250);
    expect(await state()).toBe('sent');
    expect(await sendReport(returnPath, one.address)).toBe(250);
    expect(await state()).toBe('bounced');
    await createMessage(olivia, one.id, 'Again.');
    const rows = (): Promise<Record<string, unknown>[]> =>
      rowsOf(
        app,
        `select state, error from effects where conversation_id = '${one.id}' and about = 'reply' order by created_at, id`,
      );
    await eventually(async () => expect(await rows()).toHaveLength(2));
    app.clock.advance(720_000);
    await eventually(async () =>
      expect((await rows())[1]).toMatchObject({
        state: 'skipped',
        error: 'mails to this address came back',
      }),
    );
  });

  it('that report a failure prove by the return path which mail it was, and speak for its address alone', async () => {
    const one = await talk();
    const { returnPath, state } = await mailed(one);
    const other = await talk();
    const { returnPath: others } = await mailed(other);
    const before = Number((await rowsOf(app, 'select count(*) as n from mail_addresses'))[0]?.['n']);
    const marked = async (): Promise<number> =>
      Number((await rowsOf(app, 'select count(*) as n from mail_addresses'))[0]?.['n']) - before;
    // Who was told the address for answers has not been given a mail that failed.
    expect(await sendReport(one.replyTo, one.address)).toBe(250);
    const forged = `${returnPath.split('.')[0]}.${others.split('.')[1]?.split('@')[0]}@chat.example.com`;
    expect(await sendReport(forged, one.address)).toBe(550);
    expect([await state(), await marked()]).toEqual(['sent', 0]);
    // What is no report is not the visitor's words there.
    const raw = plainMail({ from: one.address, to: returnPath, text: 'words' });
    expect(await sendMail(port, { from: one.address, to: returnPath, raw })).toBe(250);
    expect(JSON.stringify(await messagesOf(one.id))).not.toContain('words');
    // The visitor has gone to another address since: that one still gets mails.
    await one.visitor.call('PUT', '/visitor', { email: `new-${one.address}` });
    expect(await sendReport(returnPath, `new-${one.address}`)).toBe(250);
    expect([await state(), await marked()]).toEqual(['bounced', 1]);
    const id = await createMessage(olivia, one.id, 'To the new address.');
    expect((await mailTo(`new-${one.address}`, id)).mail.text).toContain('To the new address.');
  });
});

describe('mails that are made to harm', () => {
  it('are refused or cut, and the next one is taken', async () => {
    const one = await talk();
    const nest = (depth: number): string => {
      let text = `From: ${one.address}\r\nMessage-ID: <deep@example.net>\r\n`;
      for (let at = 0; at < depth; at += 1)
        text += `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`;
      return `${text}Content-Type: text/plain\r\n\r\nx\r\n`;
    };
    const parts = [
      `From: ${one.address}`,
      'Message-ID: <parts@example.net>',
      'Content-Type: multipart/mixed; boundary=p',
      '',
      ...Array.from(
        { length: 10_000 },
        (_, at) =>
          `--p\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="${at}.txt"\r\n\r\n${at}`,
      ),
      '--p--',
      '',
    ].join('\r\n');
    const headers = `From: ${one.address}\r\n${'X-Long: a\r\n'.repeat(100_000)}\r\nx\r\n`;
    expect(await sendMail(port, { from: one.address, to: one.replyTo, raw: nest(500) })).toBe(554);
    expect(await sendMail(port, { from: one.address, to: one.replyTo, raw: headers })).toBe(554);
    expect(await sendMail(port, { from: one.address, to: one.replyTo, raw: parts })).toBe(554);
    expect(await sendMail(port, { from: one.address, to: one.replyTo, raw: '' })).not.toBe(0);
    expect(await answer(one, 'still here')).toBe(250);
    expect((await messagesOf(one.id)).at(-1)?.content).toBe('still here');
    // Names and texts on which patterns take minutes: quadratic in dots, blanks and empty lines.
    const slow = [
      `From: ${one.address}`,
      'Message-ID: <slow@example.net>',
      'Content-Type: multipart/mixed; boundary=p',
      '',
      '--p\r\nContent-Type: text/plain\r\n',
      `slow${' \t\r\n'.repeat(20_000)}text`,
      `--p\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="${'.'.repeat(200_000)}x"\r\n\r\nx`,
      '--p--',
      '',
    ].join('\r\n');
    expect(await sendMail(port, { from: one.address, to: one.replyTo, raw: slow })).toBe(250);
    expect((await messagesOf(one.id)).at(-1)?.content).toBe('slow\n\ntext');
    // A list in the place of the sender would send answers to all of them.
    const from = `<a@example.net,b@example.net>`;
    expect(await sendMail(port, { to: one.replyTo, raw: plainMail({ from }) })).toBe(250);
    expect((await messagesOf(one.id)).at(-1)?.content).toBe('slow\n\ntext');
  });
});

describe('an inbox', () => {
  it('opens a conversation for a mail to its address, the same visitor for the same sender', async () => {
    await setByPath(app, acme.application.id, {
      'email.mode': 'inbox',
      'email.address': 'support@chat.example.com',
    });
    const send = (subject: string, headers: readonly string[] = []): Promise<number> =>
      sendMail(port, {
        from: 'paul@example.org',
        to: 'support@chat.example.com',
        raw: plainMail({
          from: '"Paul P." <Paul@example.org>',
          subject,
          text: 'I have a question.',
          headers,
        }),
      });
    expect(await send('First')).toBe(250);
    expect(await send('Second\r\n\tfolded')).toBe(250);
    expect(await send('Robot', ['Auto-Submitted: auto-generated'])).toBe(250);
    const listed = (await olivia.call('GET', '/conversations?limit=100')).body.conversations;
    const conversations = listed.filter(
      (found: { channel?: string; subject?: string }) =>
        found.channel === 'email' && found.subject !== 'My parcel',
    );
    expect(conversations.map((one: { subject: string }) => one.subject).toSorted()).toEqual([
      'First',
      'Second folded',
    ]);
    expect(new Set(conversations.map((one: { visitor: { id: string } }) => one.visitor.id)).size).toBe(1);
    expect(conversations[0]).toMatchObject({
      channel: 'email',
      visitor: { name: 'Paul P.', email: 'paul@example.org', verified: false },
    });
    // An answer goes at once, under the mail that it answers.
    const { id } = conversations.find((one: { subject: string }) => one.subject === 'First');
    await olivia.call('POST', `/conversations/${id}/accept`);
    await createMessage(olivia, id, 'Ask away.');
    await eventually(() => {
      const mail = host.taken.find(({ to }) => to.includes('paul@example.org'));
      expect(mail?.mail).toMatchObject({
        subject: 'Re: First',
        from: { address: 'support@chat.example.com' },
      });
      expect(mail?.mail.inReplyTo).toMatch(/^<mail-\d+@example.net>$/);
    });
    // So it does in the conversation that goes on with it: the address is still the sender's own.
    await olivia.call('POST', `/conversations/${id}/resolve`);
    const replyTo = host.taken.find(({ to }) => to.includes('paul@example.org'))?.mail.replyTo?.[0]?.address;
    const raw = plainMail({ from: 'Paul@example.org', to: replyTo ?? '', text: 'And another.' });
    expect(await sendMail(port, { from: 'paul@example.org', to: replyTo ?? '', raw })).toBe(250);
    const [next] = await rowsOf(app, `select id from conversations where continues = '${id}'`);
    await olivia.call('POST', `/conversations/${String(next?.['id'])}/accept`);
    await createMessage(olivia, String(next?.['id']), 'And another answer.');
    await eventually(() => {
      const mail = host.taken.find(({ mail: { text } }) => text?.includes('And another answer.') === true);
      expect(mail?.mail.subject).toBe('Re: First');
      return Promise.resolve();
    });
    const taken = await app
      .local('applications.update', {
        applicationId: globex.application.id,
        email: { address: 'support@chat.example.com' },
      })
      .catch((error: unknown) => String(error));
    expect(taken).toContain('belongs to another application');
  });
});

it('to an inbox goes on in another conversation where its own was closed before it was written', async () => {
  await setByPath(app, acme.application.id, {
    'email.mode': 'inbox',
    'email.address': 'support@chat.example.com',
  });
  const named = async (): Promise<string[]> =>
    (await rowsOf(app, "select id from conversations where subject = 'Closing' order by created_at, id")).map(
      ({ id }) => String(id),
    );
  // The first write opens it.
  await beforeWrite(2, async () => {
    const [id = ''] = await named();
    await olivia.call('POST', `/conversations/${id}/accept`);
    expect((await olivia.call('POST', `/conversations/${id}/resolve`)).status).toBe(200);
  });
  const raw = plainMail({ from: 'quinn@example.org', subject: 'Closing', text: 'in between' });
  for (let time = 0; time < 2; time += 1)
    expect(await sendMail(port, { from: 'quinn@example.org', to: 'support@chat.example.com', raw })).toBe(
      250,
    );
  const [closed = '', open = '', ...more] = await named();
  expect(more).toEqual([]);
  expect(await messagesOf(closed)).toEqual([]);
  expect((await messagesOf(open)).map(({ content }) => content)).toEqual(['in between']);
});

it('for two applications is taken for one and brought again for the other', async () => {
  await setByPath(app, globex.application.id, {
    'email.mode': 'inbox',
    'email.address': 'help@chat.example.com',
  });
  const one = await talk();
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  const info = await transport.sendMail({
    envelope: { from: one.address, to: [one.replyTo, 'help@chat.example.com'] },
    raw: plainMail({ from: one.address, text: 'to both of you' }),
  });
  transport.close();
  expect([info.accepted, info.rejected]).toEqual([[one.replyTo], ['help@chat.example.com']]);
  expect((await messagesOf(one.id)).at(-1)?.content).toBe('to both of you');
});

it('is refused for good only by a reader that has begun', async () => {
  const read = (program: string): Promise<unknown> =>
    readMail('/nowhere', 'acme', new URL(`data:text/javascript,${program}`)).catch((error: unknown) => error);
  const begun =
    "import { parentPort } from 'node:worker_threads'; parentPort.postMessage({ started: true });";
  for (const program of ['process.exit(1)', 'throw new Error("no memory")', 'not a program'])
    expect(await read(program), program).toMatchObject({ code: 'unavailable' });
  for (const program of ['process.exit(1)', 'throw new Error("bad mail")'])
    expect(await read(`${begun}${program}`), program).toBeInstanceOf(MailRefusedError);
});

it('that can’t be read is counted like one that can', async () => {
  const strict = await startApp({
    flags: { mailAddress: 'r@chat.example.com', mailListen: '127.0.0.1:0', limitMailApplication: '1/m' },
  });
  try {
    const { application } = await createOrganization(strict, 'strict');
    await setByPath(strict, application.id, {
      'email.mode': 'inbox',
      'email.address': 'help@chat.example.com',
    });
    const to = 'help@chat.example.com';
    const damaged = `From: a@example.net\r\n${'X-Long: a\r\n'.repeat(100_000)}\r\nx\r\n`;
    expect(await sendMail(strict.mailPort ?? 0, { to, raw: damaged })).toBe(554);
    expect(await sendMail(strict.mailPort ?? 0, { to, raw: plainMail({}) })).toBe(451);
  } finally {
    await strict.stop();
  }
});

describe('a flood of mails', () => {
  it('to one conversation waits at its senders, and holds up no other conversation', async () => {
    const one = await talk();
    const other = await talk();
    for (let mail = 0; mail < 6; mail += 1) expect(await answer(one, `mail ${mail}`)).toBe(250);
    const late = { messageId: '<late@example.net>' };
    expect(await answer(one, 'one more', late)).toBe(451);
    expect(await answer(other, 'my only one')).toBe(250);
    expect((await messagesOf(one.id)).filter(({ via }) => via === 'email')).toHaveLength(6);
    app.clock.advance(60_000);
    expect(await answer(one, 'one more', late)).toBe(250);
    expect((await messagesOf(one.id)).at(-1)?.content).toBe('one more');
  });

  it('from ever new senders leaves an inbox to those whom it knows', async () => {
    await setByPath(app, globex.application.id, {
      'email.mode': 'inbox',
      'email.address': 'help@chat.example.com',
    });
    const send = (from: string): Promise<number> =>
      sendMail(port, { from, to: 'help@chat.example.com', raw: plainMail({ from }) });
    app.clock.advance(60_000);
    for (let sender = 0; sender < 4; sender += 1)
      expect(await send(`stranger${sender}@example.org`)).toBe(250);
    expect(await send('one.too.many@example.org')).toBe(451);
    expect(await send('stranger0@example.org')).toBe(250);
    expect(await rowsOf(app, `select id from visitors where email = 'one.too.many@example.org'`)).toEqual([]);
    app.clock.advance(60_000);
    expect(await send('one.too.many@example.org')).toBe(250);
  });

  it('holds no more bytes than two large mails of one source, and gives the room back', async () => {
    const stretch = Buffer.alloc(5 * 1024 * 1024);
    const end = Promise.withResolvers<void>();
    let held = 0;
    // What is asked for more holds what it was given.
    async function* slowly(stretches: number, bytes = stretch.length): AsyncGenerator<Buffer> {
      for (let sent = 0; sent < stretches; sent += 1) yield stretch.subarray(0, bytes);
      held += 1;
      await end.promise;
    }
    async function* oneByte(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(await Promise.resolve(1));
    }
    const folder = app.service.files.incomingFolder;
    const bring = (source: string, body: AsyncIterable<Uint8Array>, readOn = true): Promise<number> =>
      withMail(folder, { source, body, readOn }, ({ path }) => stat(path).then(({ size }) => size));
    const large = [bring('a', slowly(5)), bring('a', slowly(5), false)];
    await eventually(() => expect(held).toBe(2));
    await expect(bring('a', oneByte())).rejects.toMatchObject({ asker: 'a' });
    await expect(bring('a', oneByte(), false)).rejects.toMatchObject({ asker: 'a' });
    const others = ['b', 'c', 'd'].flatMap((source) => [bring(source, slowly(5)), bring(source, slowly(5))]);
    await eventually(() => expect(held).toBe(8));
    await expect(bring('e', slowly(1), false)).rejects.toMatchObject({ asker: null });
    // Who has little on the way is taken beside them, as far as that goes.
    expect(await bring('e', oneByte())).toBe(1);
    const small = Array.from({ length: 50 }, (_, at) => bring(`small ${at}`, slowly(1, 1_048_576)));
    await eventually(() => expect(held).toBe(58));
    await expect(bring('e', oneByte())).rejects.toMatchObject({ asker: null });
    end.resolve();
    expect(new Set(await Promise.all(small))).toEqual(new Set([1_048_576]));
    expect(new Set(await Promise.all([...large, ...others]))).toEqual(new Set([5 * stretch.length]));
    await expect(bring('a', slowly(6))).rejects.toThrow(MailTooLargeError);
    expect(await bring('a', oneByte())).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  it('to addresses that are not here, or are known, asks the database nothing', async () => {
    await setByPath(app, globex.application.id, {
      'email.mode': 'inbox',
      'email.address': 'help@chat.example.com',
    });
    let reads = 0;
    const store = new Proxy(app.service.engine.store, {
      get(target, key): unknown {
        if (key === 'read') reads += 1;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const service = {
      ...app.service,
      engine: { ...app.service.engine, store },
      configCache: createConfigCache(store),
    };
    const kindOf = async (address: string): Promise<string | null> =>
      (await findMailTarget(service, address))?.kind ?? null;
    for (let at = 0; at < 50; at += 1) {
      expect(await kindOf(`guess${at}@chat.example.com`)).toBeNull();
      expect(await kindOf('Help@Chat.Example.com')).toBe('inbox');
    }
    expect(reads).toBe(1);
    // A change is seen at once, whichever way it goes.
    await setByPath(app, globex.application.id, { 'email.address': 'new@chat.example.com' });
    expect(await kindOf('help@chat.example.com')).toBeNull();
    expect(await kindOf('new@chat.example.com')).toBe('inbox');
    await setByPath(app, globex.application.id, { 'email.mode': 'replies' });
    expect(await kindOf('new@chat.example.com')).toBeNull();
    expect(await kindOf('a"b@chat.example.com')).toBeNull();
  });

  it('names a thousand recipients a minute of one address at most, and more later', async () => {
    const check = { key: 'mr:127.0.0.1', windows: [{ limit: 1_000, windowMs: 60_000 }] };
    app.clock.advance(60_000);
    const { localLimiter } = app.service.engine;
    for (let at = 0; at < 999; at += 1) expect(localLimiter.take([check]).ok).toBe(true);
    const bring = (): Promise<number> => sendMail(port, { to: 'unknown@example.com', raw: plainMail({}) });
    expect([await bring(), await bring()]).toEqual([550, 421]);
    app.clock.advance(60_000);
    expect(await bring()).toBe(550);
  });

  it('a connection that only keeps its place is ended', async () => {
    const socket = connect(port, '127.0.0.1');
    const closed = once(socket, 'close');
    await once(socket, 'data');
    app.clock.advance(900_000);
    await closed;
    expect(await sendMail(port, { to: 'noone@example.com', raw: plainMail({}) })).toBe(550);
  });
});

it.runIf(hasFolder)('doctor’s to the server itself comes back, and leads to nothing else', async () => {
  const config = readConfig(
    { data: app.folder, mailAddress: 'reply@chat.example.com' },
    { DESKBELL_SMTP_URL: host.url() },
  );
  const { secrets } = app.service;
  const served = { secrets, serverRunning: true };
  const before = await total();
  host.forward = async ({ from, to, raw }) => {
    expect(await sendMail(port, { from, to, raw })).toBe(250);
  };
  expect(await checkRoundTrip(config, served)).toMatchObject({
    state: 'ok',
    found: expect.stringContaining('came back'),
  });
  host.forward = () => Promise.resolve();
  expect(await checkRoundTrip(config, served, 1)).toMatchObject({
    state: 'wrong',
    found: expect.stringContaining('had not come back'),
  });
  const forged = replyAddress('reply@chat.example.com', makeRoundTripToken(app.service, randomUUID()));
  const other = replyAddress('reply@chat.example.com', makeRoundTripToken(app.service, randomUUID()));
  const mixed = `${forged.split('.')[0]}.${other.split('.').slice(1).join('.')}`;
  expect(await sendMail(port, { to: mixed, raw: plainMail({}) })).toBe(550);
  expect(await total()).toBe(before);
});

it('two deskbells that write to each other fall silent after two mails', async () => {
  const other = await createOrganization(app, 'initech');
  await setByPath(app, other.application.id, {
    'email.mode': 'inbox',
    'email.address': 'hello@chat.example.com',
  });
  const visitor = createVisitor(app, acme.application);
  await visitor.call('PUT', '/visitor', { email: 'hello@chat.example.com' });
  const id = await createConversation(visitor);
  await olivia.call('POST', `/conversations/${id}/accept`);
  const before = host.taken.length;
  host.forward = async ({ from, to, raw }) => {
    await sendMail(port, { from, to, raw });
  };
  await createMessage(olivia, id, 'Hello, other desk.');
  await eventually(async () =>
    expect(
      await rowsOf(app, `select 1 from effects where conversation_id = '${id}' and about = 'reply'`),
    ).toHaveLength(1),
  );
  app.clock.advance(120_000);
  await eventually(async () =>
    expect(
      (
        await rowsOf(app, `select state from effects where conversation_id = '${id}' and about = 'reply'`)
      )[0]?.['state'],
    ).toBe('delivered'),
  );
  app.clock.advance(3_600_000);
  await sendMail(port, { to: 'hello@chat.example.com', raw: plainMail({ headers: ['Precedence: bulk'] }) });
  host.forward = () => Promise.resolve();
  expect(host.taken.length).toBeGreaterThan(before);
  expect(host.taken.length - before).toBeLessThanOrEqual(2);
  expect(await rowsOf(app, `select 1 from conversations where organization_id = '${other.id}'`)).toEqual([]);
});

it('an inbox that is written to from its own address, or from another one here, falls silent too', async () => {
  await setByPath(app, acme.application.id, {
    'email.mode': 'inbox',
    'email.address': 'support@chat.example.com',
  });
  await setByPath(app, globex.application.id, {
    'email.mode': 'inbox',
    'email.address': 'help@chat.example.com',
  });
  host.forward = async ({ from, to, raw }) => {
    expect(await sendMail(port, { from, to, raw })).toBe(250);
  };
  app.clock.advance(3_600_000);
  for (const from of ['support@chat.example.com', 'help@chat.example.com']) {
    const before = host.taken.length;
    const raw = plainMail({ from, subject: `loop ${from}`, text: 'hello' });
    expect(await sendMail(port, { from, to: 'support@chat.example.com', raw })).toBe(250);
    const [row] = await rowsOf(app, `select id from conversations where subject = 'loop ${from}'`);
    const id = String(row?.['id']);
    await olivia.call('POST', `/conversations/${id}/accept`);
    await createMessage(olivia, id, 'Who is there?');
    await eventually(() => expect(host.taken.length).toBe(before + 1));
    // What came back was taken before it was acknowledged to us: it has led to nothing, here or there.
    await eventually(async () =>
      expect(
        await rowsOf(app, `select state from effects where conversation_id = '${id}' and about = 'reply'`),
      ).toEqual([{ state: 'delivered' }]),
    );
    expect(await messagesOf(id)).toHaveLength(2);
    const opened = `select 1 from conversations where subject like '%loop ${from}'`;
    expect(await rowsOf(app, opened)).toHaveLength(1);
    expect(host.taken.length).toBe(before + 1);
  }
  host.forward = () => Promise.resolve();
});

describe('no more mails', () => {
  it('is asked in the language of the browser, whole and harmless in each', async () => {
    const path = `/mail/stop/${'a'.repeat(26)}.${'a'.repeat(16)}`;
    const seen = new Set<string>();
    for (const [wish, language] of [
      ...mailStopLanguages.map((one) => [`${one}-XX, en;q=0.1`, one] as const),
      ['ja, de-AT;q=0.5, en;q=0.1', 'de'],
      ['ja', 'en'],
      ['"><script>', 'en'],
    ] as const) {
      const answer = await fetch(`${app.url}${path}`, { headers: { 'accept-language': wish } });
      const html = await answer.text();
      expect(answer.headers.get('content-language'), wish).toBe(language);
      expect(answer.headers.get('vary')).toContain('Accept-Language');
      expect(html).toContain(`<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">`);
      for (const name of ['question', 'conversation', 'address'] as const)
        expect(html).toContain(escapeHtml(mailStopWords[language][name]));
      expect(html.match(/<form method="post">/g)).toHaveLength(2);
      expect(html.replace(/&(?:amp|lt|gt|quot|#39);/g, '')).not.toMatch(/&|'s<|<script/);
      seen.add(html);
    }
    expect(seen.size).toBe(mailStopLanguages.length);
    const words = mailStopLanguages.flatMap((one) => Object.values(mailStopWords[one]));
    expect(new Set(words).size).toBe(words.length);
  });

  it('not by the link of a mail to another address than the visitor has now', async () => {
    const one = await talk();
    const [row] = await rowsOf(app, `select visitor_key from conversations where id = '${one.id}'`);
    const of = { id: one.id, visitor_key: String(row?.['visitor_key']) };
    const token = makeToken(app.service, 'stop', of, one.address);
    await one.visitor.call('PUT', '/visitor', { email: 'victim@example.net' });
    const marked = (): Promise<unknown[]> => rowsOf(app, 'select 1 from mail_addresses');
    const before = await marked();
    const json = { 'content-type': 'application/json' };
    const posted = await request(app.url, 'POST', '/api/v1/email/stop', json, { token, scope: 'address' });
    expect([posted.status, await marked()]).toEqual([404, before]);
  });

  it('by the link of a mail: opening it changes nothing, the one request of RFC 8058 does', async () => {
    const one = await talk();
    const [row] = await rowsOf(app, `select visitor_key from conversations where id = '${one.id}'`);
    const of = { id: one.id, visitor_key: String(row?.['visitor_key']) };
    const token = makeToken(app.service, 'stop', of, one.address);
    const path = `/mail/stop/${token}`;
    const stopped = async (): Promise<unknown> =>
      (await rowsOf(app, `select mail_stopped_at as at from conversations where id = '${one.id}'`))[0]?.[
        'at'
      ];
    const opened = await fetch(`${app.url}${path}`);
    expect(opened.status).toBe(200);
    expect(await opened.text()).toContain('<form method="post">');
    expect(await stopped()).toBeNull();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const posted = await fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: form,
      body: 'List-Unsubscribe=One-Click',
    });
    expect(posted.status).toBe(200);
    expect(await posted.text()).toContain(`<h1>${mailStopWords.en.doneConversation}</h1>`);
    expect(await stopped()).not.toBeNull();
    await createMessage(olivia, one.id, 'hello?');
    const two = await talk();
    await createMessage(olivia, two.id, 'hello?');
    await eventually(async () =>
      expect(
        await rowsOf(app, `select 1 from effects where conversation_id = '${two.id}' and about = 'reply'`),
      ).toHaveLength(1),
    );
    expect(
      await rowsOf(app, `select 1 from effects where conversation_id = '${one.id}' and about = 'reply'`),
    ).toEqual([]);
    const wrong = await fetch(`${app.url}/mail/stop/${'a'.repeat(26)}.${'a'.repeat(16)}`, {
      method: 'POST',
      headers: form,
      body: '',
    });
    expect(wrong.status).toBe(404);
    expect(await wrong.text()).toContain('<h1>This link is not valid any more.</h1>');
    // That wasn't me: nothing of the organization goes to the address.
    const ended = await fetch(`${app.url}${path}`, { method: 'POST', headers: form, body: 'scope=address' });
    expect(await ended.text()).toContain(`<h1>${mailStopWords.en.done}</h1>`);
    expect((await one.visitor.call('POST', `/conversations/${one.id}/transcript`)).status).toBe(409);
  });

  it('a second time writes nothing, by either choice', async () => {
    const one = await talk();
    const [row] = await rowsOf(app, `select visitor_key from conversations where id = '${one.id}'`);
    const of = { id: one.id, visitor_key: String(row?.['visitor_key']) };
    const token = makeToken(app.service, 'stop', of, one.address);
    const json = { 'content-type': 'application/json' };
    const stop = (scope: string) =>
      request(app.url, 'POST', '/api/v1/email/stop', json, { token, scope }).then(({ status }) => status);
    const write = vi.spyOn(app.service.engine.store, 'write');
    // What the server writes beside it, behind the talk above, is of other scopes.
    const written = (): number =>
      write.mock.calls.filter(([scope]) => isDeepStrictEqual(scope, { organization: acme.id })).length;
    const writes = [];
    for (const scope of ['conversation', 'conversation', 'address', 'address', 'conversation']) {
      write.mockClear();
      writes.push([await stop(scope), written()]);
    }
    expect(writes).toEqual([
      [200, 1],
      [200, 0],
      [200, 1],
      [200, 0],
      [200, 0],
    ]);
    write.mockRestore();
  });
});

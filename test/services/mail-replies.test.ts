// Staff's answers by mail to visitors who have left: when one goes, when none does, what is in it, and what a person who
// never wrote to anyone can be made to receive.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { MessageWithSender } from '../../src/engine/rows.ts';
import { mailHtml, makeMessage } from '../../src/services/mail/mail-html.ts';
import { mailWords } from '../../src/services/mail/mail-words.ts';
import { effectRetryDelay } from '../../src/services/outbox/outbox.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createApplication,
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { markAddress } from '../../src/services/mail/mail-addresses.ts';
import { mailRoute } from '../../src/services/mail/mail-server.ts';
import { createReplyComposer, shownMessage } from '../../src/services/mail/reply-mail.ts';
import { CoveredConversations } from '../../src/services/mail/reply-planner.ts';
import { uploadFile } from '../helpers/files.ts';
import { newMessage } from '../helpers/new-message.ts';
import { MailHost, type TakenMail } from '../helpers/mail-host.ts';
import { setByPath } from '../helpers/settings.ts';

let host: MailHost;
let app: TestApp;
let acme: TestOrganization;
let olivia: TestMember;
let number = 0;

beforeAll(async () => {
  host = await new MailHost().start();
  app = await startApp({
    flags: {
      mailAddress: 'reply@chat.example.com',
      mailListen: '127.0.0.1:0',
      baseUrl: 'https://chat.example.com',
    },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  acme = await createOrganization(app, 'acme');
  olivia = await createMember(app, 'acme');
});

afterAll(async () => {
  await app.stop();
  await host.stop();
});

interface Talk {
  readonly visitor: TestClient;
  readonly address: string;
  readonly id: string;
}

/** A visitor with an address whose conversation Olivia has. */
async function talk(
  named: Record<string, unknown> = {},
  client = createVisitor(app, acme.application),
): Promise<Talk> {
  number += 1;
  const address = `rosa${number}@example.net`;
  await client.call('PUT', '/visitor', { email: address, ...named });
  const id = await createConversation(client, 'Where is my secret parcel?');
  await createMessage(client, id, 'Please tell me where it is.');
  await olivia.call('POST', `/conversations/${id}/accept`);
  return { visitor: client, address, id };
}

const mailsTo = ({ address }: Talk): TakenMail[] => host.taken.filter(({ to }) => to.includes(address));

const states = async ({ id }: Talk): Promise<string[]> =>
  (
    await rowsOf(
      app,
      `select state, error from effects where conversation_id = '${id}' and about = 'reply' order by created_at, id`,
    )
  ).map(({ state, error }) => `${String(state)}${typeof error === 'string' ? `: ${error}` : ''}`);

const settled = (of: Talk, expected: readonly (string | RegExp)[]): Promise<void> =>
  eventually(async () =>
    expect(await states(of)).toEqual(
      expected.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))),
    ),
  );

const planned = (of: Talk, count: number): Promise<void> =>
  eventually(async () => expect(await states(of)).toHaveLength(count));

const minutes = (count: number): void => app.clock.advance(count * 60_000);

describe('an answer to a visitor who has left', () => {
  it('goes after two minutes, all that is unread in one mail, and none before', async () => {
    const one = await talk({ name: 'Rosa' });
    await createMessage(olivia, one.id, 'It is on its way.');
    await planned(one, 1);
    app.clock.advance(30_000);
    await createMessage(olivia, one.id, 'It arrives tomorrow.');
    app.clock.advance(89_000);
    await createMessage(olivia, one.id, '(a third)');
    expect(mailsTo(one)).toEqual([]);
    app.clock.advance(1_000);
    await eventually(() => {
      expect(mailsTo(one)).toHaveLength(1);
      return Promise.resolve();
    });
    await eventually(async () => expect((await states(one))[0]).toBe('delivered'));
    minutes(3);
    // What was written while one waited has no row of its own.
    await settled(one, ['delivered']);
    const [mail] = mailsTo(one);
    expect(mail?.mail.text).toContain('It is on its way.');
    expect(mail?.mail.text).toContain('It arrives tomorrow.');
    expect(mail?.mail.html).toContain('It arrives tomorrow.');
    expect(mail?.mail.from).toEqual({ name: 'acme site', address: 'reply@chat.example.com' });
    const replyTo = mail?.mail.replyTo?.[0]?.address ?? '';
    expect(replyTo).toMatch(/^reply\+[a-z2-7]{26}\.[a-z2-7]{16}@chat\.example\.com$/);
    expect(replyTo.split('@')[0]?.length).toBeLessThanOrEqual(64);
    // Reports on it come back elsewhere: who is told the one address does not know the other.
    expect(mail?.from).toMatch(/^reply\+[a-z2-7]{26}\.[a-z2-7]{16}@chat\.example\.com$/);
    expect(mail?.from).not.toBe(replyTo);
    const header = (key: string): string | undefined =>
      mail?.mail.headers.find((found) => found.key === key)?.value;
    expect(header('auto-submitted')).toBe('auto-generated');
    expect(header('x-auto-response-suppress')).toBe('All');
    expect(header('list-unsubscribe')).toMatch(/^<https:\/\/chat\.example\.com\/mail\/stop\/[a-z2-7.]{43}>$/);
    expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  });

  it('does not go if it was read, or withdrawn, or is a note', async () => {
    const read = await talk();
    const messageId = await createMessage(olivia, read.id, 'Here.');
    await planned(read, 1);
    await read.visitor.call('POST', `/conversations/${read.id}/read`, { messageId });
    const deleted = await talk();
    const gone = await createMessage(olivia, deleted.id, 'Wrong window.');
    await olivia.call('POST', `/conversations/${deleted.id}/messages`, { content: 'a note', internal: true });
    await planned(deleted, 1);
    await olivia.call('DELETE', `/conversations/${deleted.id}/messages/${gone}`);
    minutes(2);
    await settled(read, ['skipped: it was read before the mail went']);
    await settled(deleted, ['skipped: it was read before the mail went']);
    expect([...mailsTo(read), ...mailsTo(deleted)]).toEqual([]);
  });

  it('leaves what was written later its own two minutes, where the first was read', async () => {
    const one = await talk();
    const messageId = await createMessage(olivia, one.id, 'First.');
    await planned(one, 1);
    await one.visitor.call('POST', `/conversations/${one.id}/read`, { messageId });
    app.clock.advance(119_000);
    await createMessage(olivia, one.id, 'Second.');
    app.clock.advance(1_000);
    await settled(one, ['waiting: the first answer was read']);
    expect(mailsTo(one)).toEqual([]);
    app.clock.advance(118_000);
    expect(mailsTo(one)).toEqual([]);
    app.clock.advance(1_000);
    await settled(one, ['delivered']);
    expect(mailsTo(one)[0]?.mail.text).not.toContain('First.');
    expect(mailsTo(one)[0]?.mail.text).toContain('Second.');
  });

  it('goes on in another mail where there is more than one holds', async () => {
    const one = await talk();
    for (let at = 1; at <= 52; at += 1) await createMessage(olivia, one.id, `part ${at};`);
    host.refuse = () => ({ at: 'data', code: 451, text: 'busy' });
    const changes: unknown[] = [];
    const undo = app.service.engine.store.subscribe(({ configuration }) => {
      if (configuration !== null && configuration !== 'all') changes.push(...configuration);
    });
    minutes(2);
    const stand = (first: RegExp, second: RegExp): Promise<void> =>
      eventually(async () => {
        // Another that was planned from the log at the same moment finds nothing to carry, leaves nothing to this one, or
        // goes before it.
        const standing = (await states(one)).filter((state) => !state.startsWith('skipped'));
        const others = [...standing];
        for (const pattern of [first, second]) {
          const at = others.findIndex((state) => pattern.test(state));
          expect(at, `${pattern} among ${standing.join(', ')}`).not.toBe(-1);
          others.splice(at, 1);
        }
        for (const other of others) expect(other).toMatch(/^waiting/);
      });
    // The rest has a row as soon as it is known what the first mail takes. No time passes before that has been told how long
    // it waits: the wait would begin after it.
    const rest = /^waiting: one mail of a conversation goes in ten minutes/;
    await stand(/^waiting: the mail server answered 451/, rest);
    // No cache and no connection looks again for it.
    undo();
    expect(changes).toEqual([]);
    host.refuse = () => null;
    app.clock.advance(effectRetryDelay(1, 1));
    await stand(/^delivered$/, rest);
    minutes(10);
    await stand(/^delivered$/, /^delivered$/);
    expect(mailsTo(one)).toHaveLength(2);
    const [first, second] = mailsTo(one).map(({ mail }) => mail.text ?? '');
    expect([first?.includes('part 50;'), first?.includes('part 51;')]).toEqual([true, false]);
    expect([second?.includes('part 50;'), second?.includes('part 52;')]).toEqual([false, true]);
  });

  it('goes in a conversation of any length, also where its visitor has read none of it', async () => {
    const one = await talk();
    await app.service.engine.store.write(
      { organization: acme.id },
      async ({ repositories: { messages } }) => {
        for (let at = 0; at < 500; at += 1)
          await messages.append(
            newMessage({
              id: app.clock.newId(),
              conversation_id: one.id,
              organization_id: acme.id,
              sender_id: one.visitor.id,
              created_at: app.clock.now(),
            }),
            'visitor',
          );
      },
    );
    await createMessage(olivia, one.id, 'The five hundred and second.');
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    expect(mailsTo(one)[0]?.mail.text).toContain('The five hundred and second.');
  });

  it('is not lost where it is written while another’s row ends', async () => {
    const one = await talk();
    const messageId = await createMessage(olivia, one.id, 'First.');
    await planned(one, 1);
    await one.visitor.call('POST', `/conversations/${one.id}/read`, { messageId });
    const { store } = app.service.engine;
    const [effect] = await rowsOf(
      app,
      `select id from effects where conversation_id = '${one.id}' and about = 'reply'`,
    );
    const row = await store.read(({ repositories }) => repositories.effects.byId(String(effect?.['id'])));
    const covered = new CoveredConversations();
    covered.cover(one.id);
    const route = await store.read((tx) => mailRoute(app.service, tx, acme.id));
    const outcome = await createReplyComposer(app.service, covered)(row!, route!);
    // It has found nothing to send, and it is not stored yet that it has ended: who plans now asks the rows.
    expect(outcome).toMatchObject({ state: 'skipped' });
    covered.cover(one.id);
    expect(covered.has(one.id)).toBe(false);
    await createMessage(olivia, one.id, 'Second.');
    if (!('also' in outcome) || outcome.also === undefined)
      throw new Error('The end says nothing of the rest.');
    await store.write(outcome.also.scope, outcome.also.work);
    await settled(one, ['waiting', 'waiting']);
  });

  it('is not planned without an address, in test mode, or where mail is off', async () => {
    const nameless = createVisitor(app, acme.application);
    const first = await createConversation(nameless);
    const tester = createVisitorByKey(app, acme.application, 'test');
    await tester.call('PUT', '/visitor', { email: 'tester@example.net' });
    const second = await createConversation(tester);
    await setByPath(app, acme.application.id, { 'email.mode': 'off' });
    const off = await talk();
    for (const id of [first, second, off.id]) {
      await olivia.call('POST', `/conversations/${id}/accept`);
      await createMessage(olivia, id, 'hello');
    }
    // Planning goes behind the log, in its order: were mail on before it has come here, these would have mails, too.
    const other = await createApplication(app, 'acme', 'other.example');
    const behind = await talk({}, createVisitor(app, other));
    await createMessage(olivia, behind.id, 'hello');
    await planned(behind, 1);
    await setByPath(app, acme.application.id, { 'email.mode': 'replies' });
    const on = await talk();
    await createMessage(olivia, on.id, 'hello');
    await planned(on, 1);
    for (const id of [first, second, off.id])
      expect(
        await rowsOf(app, `select 1 from effects where conversation_id = '${id}' and about = 'reply'`),
      ).toEqual([]);
  });

  it('tells staff in the room how it stands, and no visitor', async () => {
    const one = await talk();
    const staff = await olivia.connect();
    const room = await one.visitor.connect();
    for (const socket of [staff, room]) {
      socket.send('room:join', { conversationId: one.id });
      await socket.receives('room:joined');
    }
    const messageId = await createMessage(olivia, one.id, 'By mail, too.');
    await planned(one, 1);
    // In steps: a connection that does not answer in between is taken for dead.
    for (let step = 0; step < 6; step += 1) {
      app.clock.advance(20_000);
      await Promise.all([staff.drain(), room.drain()]);
    }
    await settled(one, ['delivered']);
    await eventually(() => {
      expect(
        staff.frames.filter(({ type }) => type === 'message:emailed').map(({ payload }) => payload),
      ).toEqual([
        { conversationId: one.id, messageId, state: 'queued' },
        { conversationId: one.id, messageId, state: 'sent' },
      ]);
      return Promise.resolve();
    });
    const seen = await olivia.call('GET', `/conversations/${one.id}/messages`);
    expect(seen.body.messages.at(-1)).toMatchObject({ id: messageId, emailed: { state: 'sent' } });
    // A client that was away in between hears of it as it catches up, and a visitor does not.
    for (const [who, changed] of [
      [olivia, [{ id: messageId, emailed: { state: 'sent' } }]],
      [one.visitor, []],
    ] as const) {
      const back = await who.connect();
      back.send('room:join', { conversationId: one.id, lastMessageId: messageId });
      expect(await back.receives('messages:sync')).toMatchObject({ messages: [], edited: changed });
      back.socket.close();
    }
    const own = await one.visitor.call('GET', `/conversations/${one.id}/messages`);
    expect(own.body.messages.at(-1)).not.toHaveProperty('emailed');
    expect(room.frames.some(({ type }) => type === 'message:emailed')).toBe(false);
    staff.socket.close();
    room.socket.close();
  });

  it('is marked as bounced where the address is refused for good', async () => {
    const one = await talk();
    host.refuse = () => ({ at: 'rcpt', code: 550, text: '5.1.1 no such user' });
    await createMessage(olivia, one.id, 'hello?');
    await planned(one, 1);
    minutes(2);
    await settled(one, [/^failed: the mail server answered 550/]);
    host.refuse = () => null;
    const seen = await olivia.call('GET', `/conversations/${one.id}/messages`);
    expect(seen.body.messages.at(-1).emailed.state).toBe('bounced');
    // The address is left alone for a month.
    await createMessage(olivia, one.id, 'are you there?');
    await planned(one, 2);
    minutes(12);
    await settled(one, [/^failed/, 'skipped: mails to this address came back']);
  });

  it('leaves an address alone only where it was the address that was refused', async () => {
    const one = await talk();
    host.refuse = () => ({ at: 'rcpt', code: 550, text: '5.7.1 your server is on a list' });
    await createMessage(olivia, one.id, 'hello?');
    await planned(one, 1);
    minutes(2);
    await settled(one, [/^failed: the mail server answered 550/]);
    host.refuse = () => null;
    await createMessage(olivia, one.id, 'once more');
    await planned(one, 2);
    minutes(12);
    await settled(one, [/^failed/, 'delivered']);
    expect(mailsTo(one)).toHaveLength(1);
  });

  it('is the same mail at every attempt, whatever was written in between', async () => {
    const one = await talk();
    host.refuse = () => ({ at: 'data', code: 451, text: 'busy' });
    await createMessage(olivia, one.id, 'first words');
    await planned(one, 1);
    minutes(2);
    await settled(one, [/^waiting: the mail server answered 451/]);
    await createMessage(olivia, one.id, 'second words');
    await planned(one, 2);
    host.refuse = () => null;
    app.clock.advance(effectRetryDelay(1, 1));
    await settled(one, ['delivered', 'waiting']);
    expect(mailsTo(one)[0]?.mail.text).not.toContain('second words');
    minutes(10);
    await settled(one, ['delivered', 'delivered']);
    expect(mailsTo(one)[1]?.mail.text).toContain('second words');
    expect(mailsTo(one)[1]?.mail.text).not.toContain('first words');
    expect(mailsTo(one)[1]?.mail.references).toContain(mailsTo(one)[0]?.mail.messageId);
  });
});

describe('limits', () => {
  it('one mail of a conversation in ten minutes', async () => {
    expect.hasAssertions();
    const one = await talk();
    await createMessage(olivia, one.id, 'one');
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    await createMessage(olivia, one.id, 'two');
    await planned(one, 2);
    minutes(2);
    await settled(one, ['delivered', 'waiting: one mail of a conversation goes in ten minutes']);
    minutes(8);
    await settled(one, ['delivered', 'delivered']);
  });

  it('twenty mails of an address in an hour, and what is beyond waits', async () => {
    const address = 'flooded@example.net';
    const talks: Talk[] = [];
    for (let at = 0; at < 22; at += 1) talks.push({ ...(await talk({ email: address })), address });
    for (const { id } of talks) await createMessage(olivia, id, 'hello');
    await eventually(async () =>
      expect((await rowsOf(app, `select 1 from effects where recipient = '${address}'`)).length).toBe(22),
    );
    minutes(2);
    const count = async (state: string): Promise<number> =>
      (
        await rowsOf(
          app,
          `select 1 from effects where recipient = '${address}' and state = '${state}' and error is ${state === 'waiting' ? 'not ' : ''}null`,
        )
      ).length;
    await eventually(async () => expect([await count('delivered'), await count('waiting')]).toEqual([20, 2]));
    minutes(60);
    await eventually(async () => expect(await count('delivered')).toBe(22));
  });

  const replay = async (effectId: string): Promise<unknown> => app.local('outbox.replay', { effectId });

  const mailOf = async ({ id }: Talk): Promise<string> => {
    const [row] = await rowsOf(
      app,
      `select id from effects where conversation_id = '${id}' and about = 'reply'`,
    );
    return String(row?.['id']);
  };

  it('hold where a mail is sent once more, and its further attempts are not counted', async () => {
    const one = await talk();
    await createMessage(olivia, one.id, 'one');
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    const id = await mailOf(one);
    await replay(id);
    await settled(one, ['waiting: one mail of a conversation goes in ten minutes']);
    // Asking again leads no further.
    await replay(id);
    await settled(one, ['waiting: one mail of a conversation goes in ten minutes']);
    expect(mailsTo(one)).toHaveLength(1);
    host.refuse = () => ({ at: 'data', code: 451, text: 'busy' });
    minutes(10);
    await settled(one, [/^waiting: .*busy/]);
    host.refuse = () => null;
    app.clock.advance(effectRetryDelay(2, 1));
    await settled(one, ['delivered']);
    expect(new Set(mailsTo(one).map(({ mail }) => mail.messageId)).size).toBe(1);
    expect(mailsTo(one)).toHaveLength(2);
  });

  it('of an address hold where its mails are sent once more', async () => {
    const address = 'replayed@example.net';
    const talks: Talk[] = [];
    for (let at = 0; at < 11; at += 1) talks.push({ ...(await talk({ email: address })), address });
    for (const one of talks) {
      await createMessage(olivia, one.id, 'hello');
      await planned(one, 1);
    }
    minutes(2);
    for (const one of talks) await settled(one, ['delivered']);
    minutes(10);
    for (const one of talks) await replay(await mailOf(one));
    const standing = async (): Promise<string[]> => (await Promise.all(talks.map(states))).flat().toSorted();
    await eventually(async () =>
      expect(await standing()).toEqual([
        ...Array<string>(9).fill('delivered'),
        ...Array<string>(2).fill('waiting: this address has had 20 mails in an hour'),
      ]),
    );
    expect(host.taken.filter(({ to }) => to.includes(address))).toHaveLength(20);
  });

  it('of transcripts hold where one is sent once more, as does an end of mails', async () => {
    const one = await talk();
    await createMessage(olivia, one.id, 'hello');
    expect((await one.visitor.call('POST', `/conversations/${one.id}/transcript`)).status).toBe(200);
    const standing = async (): Promise<string[]> =>
      (
        await rowsOf(
          app,
          `select state, error from effects where conversation_id = '${one.id}' and about = 'transcript'`,
        )
      ).map(({ state, error }) => `${String(state)}: ${String(error)}`);
    const stands = (text: string): Promise<void> =>
      eventually(async () => expect(await standing()).toEqual([text]));
    await stands('delivered: null');
    const [row] = await rowsOf(
      app,
      `select id from effects where conversation_id = '${one.id}' and about = 'transcript'`,
    );
    const id = String(row?.['id']);
    for (let at = 0; at < 4; at += 1) {
      await replay(id);
      await stands('delivered: null');
    }
    expect(mailsTo(one)).toHaveLength(5);
    await replay(id);
    await stands('waiting: 5 transcripts of a conversation go in an hour');
    await app.service.engine.store.write({ organization: acme.id }, (tx) =>
      markAddress(tx, app.service, acme.id, one.address, 'stopped'),
    );
    minutes(60);
    await stands('skipped: the owner of the address wants no mails');
    expect(mailsTo(one)).toHaveLength(5);
  });
});

describe('a person who never wrote', () => {
  it('gets staff’s words only: not the subject, not the name, not a word of the visitor', async () => {
    const one = await talk({ name: 'BUY CHEAP PILLS' });
    await createMessage(olivia, one.id, 'How can I help?');
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    const raw = mailsTo(one)[0]?.raw.toString() ?? '';
    for (const words of ['PILLS', 'secret parcel', 'tell me where']) expect(raw).not.toContain(words);
    expect(mailsTo(one)[0]?.mail.subject).toBe('New message from acme site');
  });

  it('sees the subject where a backend has said whose address it is', async () => {
    const one = await talk({}, createVisitorByKey(app, acme.application));
    await createMessage(olivia, one.id, 'How can I help?');
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    expect(mailsTo(one)[0]?.mail.subject).toBe('Re: Where is my secret parcel?');
  });
});

describe('the mail itself', () => {
  beforeEach(() =>
    setByPath(app, acme.application.id, { locale: null, 'email.fromName': null, 'email.signature': null }),
  );

  it('has rich text as HTML and as text, no picture, no script, in the visitor’s language', async () => {
    await setByPath(app, acme.application.id, {
      locale: 'de',
      'email.fromName': 'Team Blau',
      'email.signature': 'Ihr Team\n<b>Blau</b>',
    });
    const one = await talk();
    await createMessage(
      one.visitor,
      one.id,
      'Wie kann ich mein Paket finden? Ich möchte es nicht verlieren.',
    );
    await olivia.call('POST', `/conversations/${one.id}/messages`, {
      content:
        '**Fett** und <script>alert(1)</script>\n\n- eins\n- zwei\n\n[Hilfe](https://example.com/a?b=1&c=2)',
      contentFormat: 'markdown',
    });
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    const { html = '', text = '', subject, from } = mailsTo(one)[0]?.mail ?? {};
    expect(subject).toBe('Neue Nachricht von Team Blau');
    expect(from?.name).toBe('Team Blau');
    expect(html).toContain('<strong>Fett</strong>');
    expect(html).toContain('href="https://example.com/a?b=1&amp;c=2"');
    expect(html).toContain('&lt;b&gt;Blau&lt;/b&gt;');
    expect(html).not.toMatch(/<script|<img|url\(|src=/);
    expect(text).toContain('Fett');
    expect(text).toContain('Schreiben Sie Ihre Antwort über diese Zeile');
    expect(html).toMatch(/lang="de" dir="ltr"/);
  });

  it('ends with the signature of whose answer is the last, then the team’s', async () => {
    await setByPath(app, acme.application.id, { 'email.signature': 'The whole team' });
    await olivia.call('PATCH', '/me', { signature: 'Olivia Marsh\n<i>Orders</i>' });
    const one = await talk();
    await createMessage(one.visitor, one.id, 'Where is my parcel?');
    await createMessage(olivia, one.id, 'It comes tomorrow.');
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    await olivia.call('PATCH', '/me', { signature: '' });
    const { html = '', text = '' } = mailsTo(one)[0]?.mail ?? {};
    expect(text).toContain('It comes tomorrow.\n\nOlivia Marsh\n<i>Orders</i>\n\nThe whole team\n\n');
    expect(html).toContain('&lt;i&gt;Orders&lt;/i&gt;');
  });

  it('is no wider than a phone, and begins its lists on the side where its lines begin', () => {
    const page = (locale: 'en' | 'ar', sample: string): string =>
      mailHtml({
        ...mailWords(locale, sample),
        answers: true,
        messages: [
          makeMessage(
            { name: 'Olivia', text: '', html: '<ul><li>one</li></ul>', files: [] },
            mailWords(locale, sample),
          ),
        ],
        signature: null,
        reason: null,
        stopUrl: null,
      });
    const english = page('en', 'Where is my parcel?');
    // A long address would make it as wide as itself.
    expect(english.match(/<table [^>]*table-layout:fixed/g)).toHaveLength(2);
    expect(english).toContain('overflow-wrap:anywhere;word-break:break-word');
    expect(english).toContain('<ul style="margin:0 0 8px;padding:0;padding-left:24px">');
    expect(page('ar', 'أين طردي من فضلك')).toContain('padding:0;padding-right:24px');
  });

  it('calls who has no name in its own language, and a member who is not there any more as the team', async () => {
    const one = await talk();
    const messageId = await createMessage(olivia, one.id, 'Here.');
    const message = await app.service.engine.store.read(({ repositories }) =>
      repositories.messages.byId(messageId),
    );
    if (message === undefined) throw new Error('The message is not there.');
    const called = (of: Partial<MessageWithSender>): string =>
      shownMessage({ ...message, member_name: null, visitor_name: null, ...of }, [], {
        words: mailWords('de', '').words,
        team: 'acme site',
      }).name;
    expect(called({})).toBe('acme site');
    expect(called({ sender_role: 'visitor' })).toBe('Besucher');
    expect(called({ sender_role: 'visitor', visitor_name: 'Rosa' })).toBe('Rosa');
  });

  it('breaks no header by names and subjects', async () => {
    await setByPath(app, acme.application.id, { 'email.fromName': 'Team" <x@y.z>, "Z' });
    const one = await talk(
      { name: 'Eve\u2028Bcc: x@example.org' },
      createVisitorByKey(app, acme.application),
    );
    await createMessage(olivia, one.id, 'hello');
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    const [mail] = mailsTo(one);
    expect(mail?.to).toEqual([one.address]);
    expect(mail?.mail.from?.address).toBe('reply@chat.example.com');
    expect(mail?.mail.to).toHaveLength(1);
  });

  it('carries the files of an answer, and names them', async () => {
    const one = await talk();
    const { body } = await uploadFile(app, olivia, Buffer.from('a label'), {
      name: 'label.txt',
      type: 'text/plain',
    });
    await olivia.call('POST', `/conversations/${one.id}/messages`, {
      content: 'Print this.',
      attachments: [body.file.id],
    });
    await planned(one, 1);
    minutes(2);
    await settled(one, ['delivered']);
    const { text, attachments = [] } = mailsTo(one)[0]?.mail ?? {};
    expect(text).toContain('Files: label.txt');
    expect(attachments).toHaveLength(1);
    expect(attachments[0]).toMatchObject({ filename: 'label.txt', mimeType: 'text/plain' });
  });
});

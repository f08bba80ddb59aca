// Owns: the commands on conversations against a real server: what they do there, what they
// print, what they say when it can't be done.
import { beforeEach, describe, expect, test } from 'vitest';
import { inProcess } from '../helpers/cli.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
} from '../helpers/fixtures.ts';
import {
  acme,
  ann,
  app,
  as,
  document,
  expectFailure,
  login,
  visitor,
  withCommands,
} from './command-fixture.ts';

withCommands();

describe('the queue and one conversation', () => {
  beforeEach(() => login());

  test('a conversation from the queue to its end', async () => {
    const id = await createConversation(visitor, 'A parcel');
    await createMessage(visitor, id, 'Where is it?');
    const { items } = await document<{ items: { id: string; subject: string }[] }>('inbox', '--limit', '100');
    expect(items.find((one) => one.id === id)).toMatchObject({
      subject: 'A parcel',
      status: 'pending',
      lastMessage: { preview: 'Where is it?' },
    });
    await expectFailure(1, new RegExp(`is pending\\. Accept it first: .*accept ${id}`), [
      'reply',
      id,
      'Soon',
    ]);
    expect(await document('accept', id.slice(-8))).toMatchObject({
      id,
      status: 'active',
      assignedToName: 'Ann',
    });
    expect(await document('accept', id)).toMatchObject({ status: 'active', assignedToName: 'Ann' });
    expect(await document('reply', id, 'It is on its way.')).toMatchObject({
      conversationId: id,
      content: 'It is on its way.',
      senderName: 'Ann',
    });
    expect(await document('note', id, 'Was at the depot')).toMatchObject({ internal: true });
    const heard = await visitor.call('GET', `/conversations/${id}/messages`);
    expect(heard.body.messages.map((one: { content: string }) => one.content)).toEqual([
      'Where is it?',
      'It is on its way.',
    ]);
    const shown = await document<{ messages: { content: string }[] }>(
      'show',
      id.slice(0, 20),
      '--limit',
      '2',
    );
    expect(shown.messages.map(({ content }) => content)).toEqual(['It is on its way.', 'Was at the depot']);
    const text = (await inProcess(['show', id], { terminal: true })).stdout;
    expect(text).toMatch(
      /A parcel[\s\S]*Where is it\?[\s\S]*It is on its way\.[\s\S]*\(note\)[\s\S]*Was at the depot/,
    );
    const printed = (await inProcess(['transcript', id])).stdout;
    expect(printed).toMatch(/Where is it\?[\s\S]*It is on its way\./);
    expect(printed).not.toContain('Was at the depot');
    await expectFailure(1, /no e-mail address/, ['transcript', id, '--mail']);
    expect(await document('resolve', id)).toMatchObject({ status: 'closed', resolvedBy: ann.id });
    for (const act of [
      ['resolve', id],
      ['accept', id],
      ['reply', id, 'Too late'],
    ] as const)
      await expectFailure(1, /closed/, act);
    await expectFailure(1, new RegExp(`is closed\\. Open it again: .*reopen ${id}`), [
      'reply',
      id,
      'Too late',
    ]);
  });

  test('a refusal for another reason than whose it is keeps the words of the server', async () => {
    const id = await createConversation(visitor);
    const names = Array.from({ length: 21 }, (_, index) => `tag ${index}`);
    await expectFailure(1, /^A conversation has at most 20 tags\./, ['tag', id, ...names]);
    const { token } = await document<{ token: string }>(
      'token',
      'create',
      '--name',
      'reader',
      '--scope',
      'conversations:read',
    );
    expect((await inProcess(['login', '--url', app.url, '--token-stdin'], { input: token })).code).toBe(0);
    await expectFailure(
      1,
      /lacks the scope conversations:act.*token create --name N --scope conversations:act$/m,
      ['accept', id],
    );
    await expectFailure(1, /lacks the scope conversations:reply/, ['reply', id, 'Hello']);
  });

  test('what was verified of the visitor has a line of its own, and attributes a heading', async () => {
    const named = createVisitor(app, acme.application);
    await named.call('PUT', '/visitor', {
      name: 'Ann (verified)',
      email: 'ann@mail.example',
      attributes: { verified: 'id, name' },
    });
    const id = await createConversation(named);
    const lines = (await inProcess(['show', id])).stdout.split('\n').map((line) => line.trimEnd());
    const at = (pattern: RegExp): number => lines.findIndex((line) => pattern.test(line));
    expect(lines[at(/^visitor /)]).toMatch(/^visitor +Ann \(verified\)$/);
    expect(lines[at(/^verified /)]).toMatch(/^verified +nothing$/);
    expect(lines[at(/^ATTRIBUTES$/) + 1]).toMatch(/^ {2}verified +id, name$/);
    const byBackend = createVisitorByKey(app, acme.application, 'live', named.id);
    await byBackend.call('PUT', '/visitor', { email: 'ann@mail.example' });
    expect((await inProcess(['show', id])).stdout).toMatch(/^verified +id, email$/m);
  });

  test('the lists: mine, closed, searched, and what a person sees', async () => {
    const mine = await createConversation(visitor, 'zebra crossing');
    await ann.call('POST', `/conversations/${mine}/accept`);
    const ids = async (...args: readonly string[]): Promise<string[]> =>
      (await document<{ items: { id: string }[] }>('inbox', '--limit', '100', ...args)).items.map(
        ({ id }) => id,
      );
    expect(await ids('--mine')).toContain(mine);
    expect(await ids()).not.toContain(mine);
    expect(await ids('--search', 'zebra')).toEqual([mine]);
    expect(await ids('--status', 'closed')).not.toContain(mine);
    const seen = await inProcess(['inbox', '--mine'], { terminal: true, columns: 140 });
    expect(seen.stdout).toContain(mine.slice(-8));
    expect(seen.stdout).not.toContain(mine);
    expect((await inProcess(['inbox', '--mine'])).stdout).toContain(mine);
    await expectFailure(2, /from 1 to 100/, ['inbox', '--limit', '101']);
    await expectFailure(2, /pending, active, closed, all/, ['inbox', '--status', 'odd']);
  });

  test('what a list leaves out is said, and how to see it', async () => {
    const seen = async (...args: readonly string[]): Promise<string> =>
      (await inProcess(['inbox', ...args], { terminal: true })).stdout;
    // As many as no list shows; by three, because one may not have so many that wait.
    const askers = [1, 2, 3].map(() => createVisitorByKey(app, acme.application, 'test'));
    for (let made = 0; made < 101; made += 1) await createConversation(askers[made % 3]!);
    expect(await seen('--test')).toContain('20 of 101; more with --limit.');
    expect(await seen('--test', '--limit', '100')).toContain(
      '100 of 101; narrow it with --search or another filter.',
    );
    expect(await seen('--status', 'pending', '--tag', 'none')).toContain('No such conversations.');
  });

  test('of two who accept, the slower one reads who was faster', async () => {
    const id = await createConversation(visitor);
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    await as(bob, () => document('accept', id));
    await expectFailure(1, /^Bob was faster and has the conversation\.$/m, ['accept', id]);
    await expectFailure(1, /Bob has the conversation.*note/, ['reply', id, 'Mine?']);
    await expectFailure(1, /Bob has the conversation/, ['release', id]);
    expect(await document('note', id, 'Seen.')).toMatchObject({ internal: true });
    await as(bob, async () => {
      expect(await document('release', id)).toMatchObject({ status: 'pending', assignedTo: null });
    });
    await expectFailure(1, /pending/, ['release', id]);
  });

  test('a transfer goes to a member by id or by name', async () => {
    const id = await createConversation(visitor);
    const zoe = await createMember(app, 'acme', 'operator', 'Zoë Transfer');
    await document('accept', id);
    expect(await document('transfer', id, zoe.id)).toMatchObject({ status: 'active', assignedTo: zoe.id });
    const boss = await createMember(app, 'acme', 'admin', 'Boss');
    await as(boss, async () => {
      expect(await document('transfer', id, 'boss')).toMatchObject({ assignedTo: boss.id });
      expect(await document('transfer', id, zoe.email)).toMatchObject({ assignedTo: zoe.id });
      await expectFailure(1, /No member is called Unknown, but: .*Boss \([0-9a-f-]{36}\)/, [
        'transfer',
        id,
        'Unknown',
      ]);
    });
    // An operator may not list members, but knows those who have worked.
    await expectFailure(1, /Zoë Transfer has the conversation|No member/, ['transfer', id, 'boss']);
  });

  test('ids: too short, unknown, malformed, ambiguous', async () => {
    await expectFailure(2, /not the id of a conversation/, ['show', 'abc']);
    await expectFailure(2, /not the id of a conversation/, ['show', '../../admin']);
    await expectFailure(1, /No recent conversation has the id 0000000/, ['show', '0000000']);
    await expectFailure(1, /no conversation 00000000-0000/, [
      'accept',
      '00000000-0000-7000-8000-000000000000',
    ]);
    const both = [
      await createConversation(visitor),
      await createConversation(createVisitor(app, acme.application)),
    ];
    await expectFailure(1, new RegExp(`fits \\d+ conversations`), ['show', both[0]!.slice(0, 6)]);
  });

  test("another organization's conversation is not there", async () => {
    const other = await createOrganization(app, `foreign-${Date.now()}`);
    const id = await createConversation(createVisitor(app, other.application));
    for (const args of [
      ['show', id],
      ['accept', id],
      ['note', id, 'x'],
      ['show', id.slice(-10)],
    ])
      await expectFailure(1, /no conversation|No recent conversation/, args);
  });
});

test("a visitor's text can't command the terminal, in any of the commands", async () => {
  await login();
  const evil = '\u001b]0;owned\u0007\u001b[2J\u009b31m\rX\u202egnp.exe \u2066\u0301'.concat(
    '\u0301'.repeat(3_000),
  );
  await visitor.call('PUT', '/visitor', {
    name: 'Eve\u001b[31m\u202e',
    attributes: { 'k\u001b[1m': 'v\u001b]52;c;AAAA\u0007' },
  });
  const id = await createConversation(visitor, 'Sub\u001b[5mject\u009b2J');
  await createMessage(visitor, id, evil);
  const seen = [
    await inProcess(['inbox'], { terminal: true, columns: 100 }),
    await inProcess(['inbox']),
    await inProcess(['inbox', '--json']),
    await inProcess(['show', id]),
    await inProcess(['show', id, '--json']),
    await inProcess(['accept', id, '--json']),
  ];
  for (const { code, stdout, stderr } of seen) {
    expect(code).toBe(0);
    // Our own colours for people are the only sequences there may be.
    const [plain, ...coloured] = `${stdout}${stderr}`.split('\u001b');
    for (const piece of coloured) expect(piece).toMatch(/^\[\d{1,2}m/);
    expect([plain, ...coloured].join('')).not.toMatch(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
  }
  expect(seen[3]!.stdout).toContain('owned');
});

// Attacks what is typed: it must reach whom it is meant for, once, and never be lost. Notes
// never become answers, drafts survive, edits give back what was there before.
import { describe, expect, test } from 'vitest';
import { beginEdit, beginKeep } from '../../src/desk/composer-changes.ts';
import { toOutgoingMessage } from '../../src/desk/composer-controller.ts';
import { editableText } from '../../src/desk/lexical-markdown.ts';
import { markdownToLexical } from '../../src/text/markdown.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { sdkError } from '../../src/sdk/error.ts';
import { cannedLines } from '../../src/cli/console/views/conversation-lines.ts';
import { layoutOfState } from '../../src/cli/console/views/pane-layout.ts';
import { textOf } from '../../src/cli/console/text/wrap.ts';
import { eventually } from '../helpers/eventually.ts';
import { createModelFixture, type ModelFixture } from './model-fixture.ts';
import { buildConversation, buildMessage, ann, mine, own } from './fake-staff.ts';

const item = buildConversation(1, mine());
const sent = (fixture: ModelFixture): string[] =>
  fixture.staff.calls
    .filter((call) => call.startsWith('send'))
    .map((call) => call.replace(`send ${item.id} `, ''));
const text = (fixture: ModelFixture): string | undefined => fixture.state().composer?.buffer.text;
const cannedReplies = [
  { id: 'r1', shortcut: 'hello', content: 'Hello there', contentFormat: 'plain' },
  { id: 'r2', shortcut: 'refund', content: 'Your refund\nis on its way', contentFormat: 'plain' },
  { id: 'r3', shortcut: 'return', content: 'Send it back', contentFormat: 'plain' },
];

/** A fixture with a conversation of mine open and the composer in focus. */
async function writing(options: Parameters<typeof createModelFixture>[1] = {}): Promise<ModelFixture> {
  const fixture = await createModelFixture([item, buildConversation(2, mine())], {
    ...options,
    prepare: (staff) => {
      staff.answers.set('GET /canned-replies', () => ({ cannedReplies, total: 3 }));
      staff.messages.set(item.id, [buildMessage(item, 'question')]);
      options.prepare?.(staff);
    },
  });
  await fixture.press('2', 'enter', 'r');
  return fixture;
}

describe('sending', () => {
  test('Enter sends once, empties the composer and its draft, and goes to the end', async () => {
    const fixture = await writing();
    await fixture.press('Hello you', 'enter', 'enter');
    expect(sent(fixture)).toEqual(['plain Hello you']);
    expect(text(fixture)).toBe('');
    expect(fixture.drafts.ids()).toEqual([]);
    expect(fixture.state().anchor).toBeNull();
  });

  test('two Enters in one report of the terminal send one message', async () => {
    const fixture = await writing();
    await fixture.press('Hello');
    fixture.model.pressKeys([
      { key: 'enter', text: '' },
      { key: 'enter', text: '' },
    ]);
    await fixture.settle();
    expect(sent(fixture)).toEqual(['plain Hello']);
  });

  test('blanks alone are not sent', async () => {
    const fixture = await writing();
    await fixture.press('   ', 'enter');
    expect(sent(fixture)).toEqual([]);
  });

  test('Alt+Enter and a paste make lines, not messages', async () => {
    const fixture = await writing();
    await fixture.press('one', 'alt+enter', 'two');
    fixture.model.paste('\r\nthree\rfour\u001b[31m');
    await fixture.press('enter');
    expect(sent(fixture)).toEqual(['plain one\ntwo\nthree\nfour']);
  });

  test('too long is refused with the number of characters, and nothing is lost', async () => {
    const fixture = await writing();
    fixture.model.paste('x'.repeat(sizeLimits.contentRest + 3));
    await fixture.press('enter');
    expect(sent(fixture)).toEqual([]);
    expect(fixture.flash()).toBe('Too long by 3 characters: shorten it or send it in parts.');
    expect(text(fixture)).toHaveLength(sizeLimits.contentRest + 3);
  });

  test('a waiting conversation is accepted first; a faster colleague keeps it, and the text is kept', async () => {
    const waiting = buildConversation(5);
    const fixture = await createModelFixture([waiting]);
    await fixture.press('r', 'Hello', 'enter');
    expect(fixture.staff.calls.filter((call) => /^(accept|send)/.test(call))).toEqual([
      `accept ${waiting.id}`,
      `send ${waiting.id} plain Hello`,
    ]);
    const late = await createModelFixture([waiting]);
    await late.press('r', 'Hello');
    late.staff.failures.set('accept', sdkError('conflict', 'no', 409));
    late.staff.items = [buildConversation(5, mine({ assignedTo: ann, assignedToName: 'Ann' }))];
    await late.press('enter');
    expect(late.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
    expect([late.flash(), text(late)]).toEqual(['Ann was faster.', 'Hello']);
    // Now it is Ann's: nothing goes to the visitor any more.
    await late.press('enter');
    expect(late.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
    expect(late.flash()).toBe('Ann has this conversation: only notes can be added.');
  });

  test('what is typed while the last text is on its way is the next one, whichever conversation is open', async () => {
    const waiting = buildConversation(5);
    const fixture = await createModelFixture([waiting, buildConversation(4)]);
    await fixture.press('enter');
    fixture.model.pressKeys(Array.from('r1', (key) => ({ key, text: key })));
    fixture.model.pressKeys([{ key: 'enter', text: '' }]);
    // A crash now would find both on the disk.
    fixture.model.pressKeys(Array.from('2', (key) => ({ key, text: key })));
    expect(fixture.drafts.get(waiting.id)).toEqual({ text: '1\n2', note: false });
    fixture.model.open(buildConversation(4).id);
    await fixture.settle();
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([
      `send ${waiting.id} plain 1`,
    ]);
    expect(fixture.drafts.get(waiting.id)).toEqual({ text: '2', note: false });
    fixture.model.open(waiting.id);
    expect(text(fixture)).toBe('2');
  });

  test('what could not go stands before what was typed since, and a note in it makes it a note', async () => {
    const waiting = buildConversation(5);
    const fixture = await createModelFixture([waiting]);
    fixture.staff.failures.set('accept', sdkError('network'));
    await fixture.press('enter');
    fixture.model.pressKeys(Array.from('r1', (key) => ({ key, text: key })));
    fixture.model.pressKeys([
      { key: 'enter', text: '' },
      { key: 'ctrl+n', text: '' },
      { key: '2', text: '2' },
    ]);
    await fixture.settle();
    expect([text(fixture), fixture.state().composer?.note]).toEqual(['1\n2', true]);
    expect(fixture.drafts.get(waiting.id)).toEqual({ text: '1\n2', note: true });
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
  });

  test('several are sent in the order in which they were written', async () => {
    const fixture = await writing();
    for (const line of ['**one**', 'two', '**three**']) {
      fixture.model.paste(line);
      fixture.model.pressKeys([{ key: 'enter', text: '' }]);
    }
    await eventually(() => expect(sent(fixture)).toHaveLength(3));
    expect(sent(fixture).map((line) => /one|two|three/.exec(line)?.[0])).toEqual(['one', 'two', 'three']);
  });

  /** An answer to a conversation that waits is held back behind one to another, which is open by then. */
  async function heldBack(): Promise<{ fixture: ModelFixture; id: string; release(): Promise<void> }> {
    const [first, { id }] = [buildConversation(5), buildConversation(4, mine())];
    const fixture = await createModelFixture([first, buildConversation(4, mine())]);
    const release = fixture.staff.hold('accept');
    for (const [to, answer] of [
      [first.id, 'one'],
      [id, 'two'],
    ] as const) {
      fixture.model.open(to);
      await fixture.press('r', answer, 'enter');
    }
    fixture.model.open(first.id);
    return {
      fixture,
      id,
      release: async () => {
        release();
        await fixture.settle();
      },
    };
  }

  test.each([
    [{ status: 'closed' as const }, 'This conversation is closed. Your text is kept as a draft.'],
    [{ assignedTo: ann, assignedToName: 'Ann' }, 'Ann has this conversation: only notes can be added.'],
  ])('what comes too late from another conversation is kept there, and that is said', async (patch, why) => {
    const { fixture, id, release } = await heldBack();
    fixture.staff.change(id, patch);
    await release();
    expect(fixture.staff.calls).not.toContain(`send ${id} plain two`);
    expect(fixture.drafts.get(id)).toEqual({ text: 'two', note: false });
    expect(fixture.flash()).toBe(`A message to Visitor 4 was not sent. ${why}`);
  });

  test('what goes to a conversation that the queue has forgotten is sent', async () => {
    const { fixture, id, release } = await heldBack();
    fixture.staff.client.keepConversations(new Set([buildConversation(5).id]));
    expect(fixture.model.context.item(id)).toBeUndefined();
    await release();
    expect(fixture.staff.calls).toContain(`send ${id} plain two`);
    expect(fixture.drafts.get(id)).toBeNull();
  });

  test('a closed conversation keeps the text as a draft', async () => {
    const fixture = await writing();
    await fixture.press('late');
    fixture.staff.change(item.id, { status: 'closed' });
    await fixture.press('enter');
    expect(sent(fixture)).toEqual([]);
    expect(fixture.drafts.get(item.id)?.text).toBe('late');
  });
});

describe('notes', () => {
  test('go to colleagues, and the next text is an answer again', async () => {
    const fixture = await writing();
    await fixture.press('ctrl+n', 'careful', 'enter', 'Hello', 'enter');
    expect(sent(fixture)).toEqual(['note plain careful', 'plain Hello']);
  });

  test('a note that is a draft never becomes an answer by the way', async () => {
    const fixture = await writing();
    await fixture.press('ctrl+n', 'he is a pain', 'escape', 'r');
    expect(fixture.state().composer?.note).toBe(true);
    expect(fixture.flash()).toBe('Your draft here is an internal note.');
    await fixture.press('enter');
    expect(sent(fixture)).toEqual(['note plain he is a pain']);
  });

  test('may be added to a colleague’s conversation', async () => {
    const theirs = buildConversation(3, mine({ assignedTo: ann, assignedToName: 'Ann' }));
    const fixture = await createModelFixture([theirs]);
    await fixture.press('3', 'enter', 'N', 'look', 'enter');
    expect(fixture.staff.calls).toContain(`send ${theirs.id} note plain look`);
  });

  test('typing a note is not told to the visitor', async () => {
    const fixture = await writing();
    await fixture.press('ctrl+n', 'x');
    expect(fixture.staff.calls.filter((call) => call.startsWith('typing on'))).toEqual([]);
    await fixture.press('backspace', 'ctrl+n', 'x');
    expect(fixture.staff.calls.filter((call) => call.startsWith('typing on'))).toHaveLength(1);
  });
});

describe('Markdown', () => {
  test('with formatting becomes Lexical; without, it is the text that was typed', async () => {
    expect(await toOutgoingMessage('2 * 3 = 6, a_b_c and 1. no')).toEqual({
      content: '2 * 3 = 6, a_b_c and 1. no',
      contentFormat: 'plain',
    });
    const rich = await toOutgoingMessage('Hello **you**');
    expect(rich.contentFormat).toBe('lexical');
    expect(JSON.parse(rich.content).root.children[0].children[1]).toMatchObject({ text: 'you', format: 1 });
    expect((await toOutgoingMessage('- one\n- two')).contentFormat).toBe('lexical');
  });

  test('that would be too long as Lexical goes as plain text', async () => {
    const long = Array.from({ length: 200 }, (_, index) => `**word ${index}** and`).join(' ');
    expect(long.length).toBeLessThan(sizeLimits.contentRest);
    expect(await toOutgoingMessage(long)).toEqual({ content: long, contentFormat: 'plain' });
  });

  test('comes back for editing as it was written', async () => {
    for (const markdown of [
      'Hello **you** and *me*',
      '- one\n- two',
      '1. one\n2. two',
      'see [our page](https://example.com/a)',
      '`npm i`',
      'now ~~12~~ ~~**10**~~ 8 and ~~`off`~~',
      '- one\n  - two\n  - three\n- four',
      'it is ++so++ and ++so **much** and ~~more~~++, in C++',
      '\\+\\+i is no underline, `++i++` neither',
    ])
      expect(editableText({ content: await markdownToLexical(markdown), contentFormat: 'lexical' })).toBe(
        markdown,
      );
  });

  test.each(['{', '{"root":null}', '{"root":{"children":[null,7,{"type":"list"}]}}', '[]', 'null'])(
    'broken trees do not break editing: %s',
    (content) => {
      expect(typeof editableText({ content, contentFormat: 'lexical' })).toBe('string');
    },
  );
});

describe('drafts', () => {
  test('are kept with every change, per conversation, and are there again', async () => {
    const fixture = await writing();
    await fixture.press('one');
    expect(fixture.drafts.get(item.id)).toEqual({ text: 'one', note: false });
    await fixture.press('escape', 'escape', 'j', 'enter', 'r', 'two');
    expect(fixture.drafts.get(buildConversation(2).id)?.text).toBe('two');
    await fixture.press('escape', 'escape', 'k', 'enter', 'r');
    expect(text(fixture)).toBe('one');
    expect([...fixture.state().drafted].toSorted()).toEqual([item.id, buildConversation(2).id].toSorted());
  });

  test('of an earlier console are there at the start, notes as notes', async () => {
    const fixture = await writing({ drafts: new Map([[item.id, { text: 'from before', note: true }]]) });
    expect([text(fixture), fixture.state().composer?.note]).toEqual(['from before', true]);
  });

  test('that come from elsewhere are notes or answers as a whole, whatever is written there', async () => {
    const fixture = await writing();
    await fixture.press('later');
    fixture.model.composer.setDraft({ text: 'he is a pain\nlater', note: true });
    expect([text(fixture), fixture.state().composer?.note]).toEqual(['he is a pain\nlater', true]);
    expect(fixture.drafts.get(item.id)).toEqual({ text: 'he is a pain\nlater', note: true });
    await fixture.press('enter');
    expect(sent(fixture)).toEqual(['note plain he is a pain\nlater']);
  });

  test('that come from elsewhere wait behind a change of a message', async () => {
    const fixture = await writing();
    const { composer } = fixture.model;
    beginEdit(composer, buildMessage(item, 'mine', own()), 'mine');
    composer.setDraft({ text: 'he is a pain', note: true });
    expect([text(fixture), fixture.state().composer?.note]).toEqual(['mine', false]);
    composer.cancelEdit();
    expect([text(fixture), fixture.state().composer?.note]).toEqual(['he is a pain', true]);
  });

  test('an emptied composer leaves none', async () => {
    const fixture = await writing();
    await fixture.press('x', 'backspace');
    expect(fixture.drafts.ids()).toEqual([]);
  });
});

describe('changing and deleting', () => {
  const desks = (content = 'my *text*') =>
    writing({
      prepare: (staff) =>
        staff.messages.set(item.id, [buildMessage(item, 'question'), buildMessage(item, content, own())]),
    });

  test('the last own message comes into the composer, is changed, and the draft is back', async () => {
    const fixture = await desks();
    await fixture.press('half a draft', 'escape', 'e');
    expect([text(fixture), fixture.state().composer?.editing]).toEqual(['my *text*', expect.any(String)]);
    expect(fixture.drafts.get(item.id)?.text).toBe('half a draft');
    await fixture.press('!', 'enter');
    await eventually(() => expect(fixture.staff.calls.some((call) => call.startsWith('edit'))).toBe(true));
    await fixture.settle();
    expect(fixture.staff.calls.find((call) => call.startsWith('edit'))).toContain(' lexical ');
    expect([text(fixture), fixture.state().composer?.editing]).toEqual(['half a draft', null]);
    expect(sent(fixture)).toEqual([]);
  });

  test('Esc leaves the message as it was, and a refusal keeps what was typed', async () => {
    const fixture = await desks('plain');
    await fixture.press('escape', 'e', ' changed', 'escape');
    expect(fixture.staff.calls.filter((call) => call.startsWith('edit'))).toEqual([]);
    expect(text(fixture)).toBe('');
    await fixture.press('escape', 'e', ' more');
    fixture.staff.failures.set('edit', sdkError('edit_window_expired', 'late', 422));
    await fixture.press('enter');
    expect(text(fixture)).toBe('plain more');
    expect(fixture.flash()).toBe('Only messages of the last 15 minutes can be changed.');
  });

  const edits = ({ staff }: ModelFixture): string[] =>
    staff.calls.filter((call) => call.startsWith('edit')).map((call) => call.replace(/^edit \S+ plain /, ''));

  test('a change is saved once, and what was typed since is the next one', async () => {
    const fixture = await desks('plain');
    const release = fixture.staff.hold('edit');
    await fixture.press('escape', 'e', ' one', 'enter', 'enter');
    expect(edits(fixture)).toEqual(['plain one']);
    await fixture.press(' two');
    release();
    await fixture.settle();
    expect([text(fixture), fixture.state().composer?.editing]).toEqual(['plain one two', expect.any(String)]);
    await fixture.press('enter');
    expect(edits(fixture)).toEqual(['plain one', 'plain one two']);
    expect(fixture.state().composer?.editing).toBeNull();
  });

  test('a second change of the same message is saved after the first', async () => {
    const fixture = await desks('plain');
    const release = fixture.staff.hold('edit');
    await fixture.press('escape', 'e', '1', 'enter', '2', 'enter');
    expect(edits(fixture)).toEqual(['plain1']);
    release();
    await fixture.settle();
    expect(edits(fixture)).toEqual(['plain1', 'plain12']);
    expect(fixture.staff.messages.get(item.id)?.at(-1)?.content).toBe('plain12');
    expect(fixture.state().composer?.editing).toBeNull();
  });

  test('a change that is saved ends no other', async () => {
    const fixture = await desks('plain');
    const release = fixture.staff.hold('edit');
    await fixture.press('escape', 'e', '!', 'enter');
    const other = buildConversation(2, mine());
    fixture.model.open(other.id);
    beginEdit(fixture.model.composer, buildMessage(other, 'there', own()), 'there, too');
    release();
    await fixture.settle();
    expect(fixture.flash()).toBe('Changed.');
    expect([text(fixture), fixture.state().composer?.editing]).toEqual(['there, too', expect.any(String)]);
  });

  test('a change that could not be saved is there again with its message', async () => {
    const fixture = await desks('plain');
    const release = fixture.staff.hold('edit');
    fixture.staff.failures.set('edit', sdkError('network'));
    await fixture.press('escape', 'e', ' more', 'enter');
    fixture.model.open(buildConversation(2, mine()).id);
    release();
    await fixture.settle();
    expect(fixture.flash()).toBe(
      'The server can’t be reached just now. Your change is kept: edit the message again.',
    );
    fixture.model.open(item.id);
    await fixture.settle();
    expect(text(fixture)).toBe('');
    await fixture.press('e');
    expect(text(fixture)).toBe('plain more');
    await fixture.press('enter', 'escape', 'e');
    expect(text(fixture)).toBe('plain more');
    expect(edits(fixture)).toEqual(['plain more', 'plain more']);
  });

  test('what was changed or sent is on its way until the service has it', async () => {
    const fixture = await desks('plain');
    const { composer } = fixture.model;
    for (const [name, ...keys] of [
      ['edit', 'escape', 'e', '!', 'enter'],
      ['send', 'Hello', 'enter'],
    ]) {
      const release = fixture.staff.hold(name ?? '');
      expect(composer.isLeaving()).toBe(false);
      await fixture.press(...keys);
      expect(composer.isLeaving()).toBe(true);
      release();
      await fixture.settle();
      expect(composer.isLeaving()).toBe(false);
    }
  });

  test('deleting asks, and leaves a place that says so without the text', async () => {
    const fixture = await desks('regretted');
    await fixture.press('escape', 'd', 'y');
    expect(fixture.staff.calls.filter((call) => call.startsWith('delete'))).toHaveLength(1);
    const [deleted] = fixture.state().open!.deletedMessages;
    expect(deleted).toMatchObject({ deleted: true, content: '' });
    expect(JSON.stringify(fixture.state().open)).not.toContain('regretted');
  });

  test('another author’s message is neither changed nor deleted', async () => {
    const fixture = await writing();
    await fixture.press('escape', 'k', 'e');
    expect(fixture.flash()).toBe('Only your own messages can be changed.');
    await fixture.press('d');
    expect(fixture.state().dialog).toBeNull();
  });

  test('what was not sent is sent again or taken back', async () => {
    const failed = buildMessage(item, 'stuck', own({ state: 'failed' }));
    const fixture = await writing({ prepare: (staff) => staff.messages.set(item.id, [failed]) });
    fixture.staff.failures.set('send', sdkError('forbidden', 'no', 403));
    await fixture.press('escape', 's');
    expect(fixture.staff.calls).toContain(`retry ${failed.key}`);
    await fixture.press('D', 'y');
    expect(fixture.staff.calls).toContain(`discard ${failed.key}`);
  });

  test('a message is copied as Markdown', async () => {
    const fixture = await writing();
    await fixture.press('escape', 'k', 'y');
    expect(fixture.copied).toEqual(['question']);
  });
});

describe('canned replies', () => {
  test('a slash lists them, letters narrow them down, Enter puts one in the place of the slash and sends nothing', async () => {
    const fixture = await writing();
    await fixture.press('/', 're', 'down', 'enter');
    expect(text(fixture)).toBe('Send it back');
    expect(sent(fixture)).toEqual([]);
    await fixture.press('enter');
    expect(sent(fixture)).toEqual(['plain Send it back']);
  });

  test('Esc puts the list away and keeps what was typed; then Enter sends it', async () => {
    const fixture = await writing();
    await fixture.press('/', 're', 'escape');
    expect([text(fixture), fixture.state().focus]).toEqual(['/re', 'composer']);
    await fixture.press('enter');
    expect(sent(fixture)).toEqual(['plain /re']);
  });

  test('a slash inside a text is a slash', async () => {
    const fixture = await writing();
    await fixture.press('1', '/', '2', 'enter');
    expect(sent(fixture)).toEqual(['plain 1/2']);
  });
});

describe('canned replies that are changed elsewhere', () => {
  const corrected = [{ ...cannedReplies[0], shortcut: 're', content: 'Keep it' }];
  const listed = (fixture: ModelFixture): (string | undefined)[] | undefined =>
    fixture.state().cannedReplies?.map(({ content }) => content);

  test('are there when the list is opened after a minute; the old ones stand until then', async () => {
    const fixture = await writing();
    await fixture.press('/', 'backspace');
    const before = listed(fixture);
    const answer = Promise.withResolvers<object>();
    fixture.staff.answers.set('GET /canned-replies', () => answer.promise);
    await fixture.press('/', 'backspace');
    expect(listed(fixture)).toEqual(before);
    await fixture.advance(60_000);
    await fixture.press('/', 're');
    expect(listed(fixture)).toEqual(before);
    answer.resolve({ cannedReplies: corrected, total: 1 });
    await fixture.settle();
    expect(listed(fixture)).toEqual(['Keep it']);
    await fixture.press('enter');
    expect(text(fixture)).toBe('Keep it');
  });

  test('are never offered as they were after a change here, nor by an answer from before it', async () => {
    const fixture = await writing();
    const early = Promise.withResolvers<object>();
    fixture.staff.answers.set('GET /canned-replies', () => early.promise);
    await fixture.press('/', 'backspace');
    fixture.model.composer.suggestions.forgetCannedReplies();
    fixture.staff.answers.set('GET /canned-replies', () => ({ cannedReplies: corrected, total: 1 }));
    await fixture.press('/');
    early.resolve({ cannedReplies, total: 3 });
    await fixture.settle();
    expect(listed(fixture)).toEqual(['Keep it']);
  });

  test('are said to load as long as they do', async () => {
    const fixture = await writing();
    const answer = Promise.withResolvers<object>();
    fixture.staff.answers.set('GET /canned-replies', () => answer.promise);
    const lines = (): string => {
      const { composer } = fixture.state();
      const shown =
        composer === null ? [] : cannedLines(fixture.state(), composer, layoutOfState(fixture.state()));
      return shown.map(textOf).join(' ').trim();
    };
    await fixture.press('/');
    expect(lines()).toBe('Loading…');
    answer.resolve({ cannedReplies: [], total: 0 });
    await fixture.settle();
    expect(lines()).toMatch(/^No canned replies yet/);
  });
});

describe('the assistant', () => {
  const answer = { text: 'Take **the train**.', answered: true, sources: [{ title: 'Travel\u001b[2J' }] };
  const withDraft = (body: () => unknown) =>
    writing({ prepare: (staff) => staff.answers.set(`POST /conversations/${item.id}/ai/reply`, body) });

  test('its draft is put into the composer, never sent, and Undo brings the own text back', async () => {
    const fixture = await withDraft(() => answer);
    await fixture.press('my own', 'ctrl+g');
    expect([text(fixture), fixture.state().composer?.ai]).toEqual(['Take **the train**.', 'drafted']);
    expect(sent(fixture)).toEqual([]);
    expect(fixture.flash()).toContain('Travel␛[2J');
    await fixture.press('ctrl+z');
    expect([text(fixture), fixture.state().composer?.ai]).toEqual(['my own', null]);
  });

  test('a draft never takes the place of a note, which Undo would bring back as an answer', async () => {
    const fixture = await withDraft(() => answer);
    await fixture.press('ctrl+n', 'a note', 'ctrl+g');
    expect([text(fixture), fixture.state().composer?.note]).toEqual(['a note', true]);
    expect(fixture.flash()).toBe('Your draft here is an internal note: send it or clear it first.');
  });

  /** Asked for with Ctrl+G while nothing is written; its answer comes with the function that is returned. */
  async function asking(): Promise<{ fixture: ModelFixture; arrive(): Promise<void> }> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const fixture = await withDraft(() => promise);
    await fixture.press('ctrl+g');
    expect(fixture.state().composer?.ai).toBe('asking');
    return {
      fixture,
      arrive: async () => {
        resolve(answer);
        await fixture.settle();
      },
    };
  }
  const keeping = { applicationId: 'a', settles: [], refused: null };
  const message = buildMessage(item, 'as it was sent', own());

  test.each<[string, (fixture: ModelFixture) => Promise<void> | void, string, boolean]>([
    ['other words', (fixture) => fixture.press('my own'), 'my own', false],
    ['a note', (fixture) => fixture.press('ctrl+n', 'he is a pain'), 'he is a pain', true],
    ['an empty note', (fixture) => fixture.press('ctrl+n'), '', true],
    [
      'a message that is changed',
      ({ model }) => beginEdit(model.composer, message, 'as it was sent'),
      'as it was sent',
      false,
    ],
    ['what is kept', ({ model }) => beginKeep(model.composer, 'Q\n\nA', keeping), 'Q\n\nA', false],
    ['an answer by hand', (fixture) => fixture.press('by hand', 'enter'), '', false],
  ])('its draft never takes the place of %s, and that is said', async (_what, begin, words, note) => {
    const { fixture, arrive } = await asking();
    await begin(fixture);
    await arrive();
    expect(fixture.state().composer).toMatchObject({ note, ai: null });
    expect(text(fixture)).toBe(words);
    expect(fixture.flash()).toBe('The assistant’s draft is left out: you went on writing.');
  });

  test.each([
    [() => ({ text: '', answered: false, sources: [] }), 'The assistant found no answer in your documents.'],
    [
      () => {
        throw sdkError('plan_limit', 'x', 403);
      },
      'This organization’s plan has no drafts by the assistant; premium has.',
    ],
    [
      () => {
        throw sdkError('ai_unavailable', 'x', 502);
      },
      'The assistant’s model did not answer. Try again in a moment.',
    ],
    [
      () => {
        throw sdkError('forbidden', 'x', 403);
      },
      'The assistant is off for this application: an admin turns it on.',
    ],
  ])('says why there is none, and leaves the text alone', async (body, words) => {
    const fixture = await withDraft(body);
    await fixture.press('my own', 'ctrl+g');
    expect([fixture.flash(), text(fixture), fixture.state().composer?.ai]).toEqual([words, 'my own', null]);
  });
});

describe('history and the editor', () => {
  test('Up at the first row brings back what was sent, Down goes forward again', async () => {
    const fixture = await writing();
    await fixture.press('first', 'enter', 'second', 'enter', 'up');
    expect(text(fixture)).toBe('second');
    await fixture.press('up', 'down', 'down');
    expect(text(fixture)).toBe('');
  });

  test('what was sent as a note does not come back as an answer', async () => {
    const fixture = await writing();
    await fixture.press('ctrl+n', 'secret', 'enter', 'up');
    expect([text(fixture), fixture.state().composer?.note]).toEqual(['', false]);
  });

  test('what the editor gives back is the text; an editor that fails changes nothing', async () => {
    const fixture = await writing();
    await fixture.press('before');
    fixture.edited = 'after\nmore\n';
    await fixture.press('ctrl+x');
    expect(text(fixture)).toBe('after\nmore');
    fixture.edited = null;
    await fixture.press('ctrl+x');
    expect(text(fixture)).toBe('after\nmore');
  });
});

// Attacks what is typed: it must reach whom it is meant for, once, and never be lost. Notes
// never become answers, drafts survive, edits give back what was there before.
import { describe, expect, test } from 'vitest';
import { toOutgoingMessage } from '../../../src/cli/console/state/composer-controller.ts';
import { editableText } from '../../../src/cli/console/state/lexical-markdown.ts';
import { markdownToLexical } from '../../../src/text/markdown.ts';
import { sizeLimits } from '../../../src/protocol/codes.ts';
import { sdkError } from '../../../src/sdk/error.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createModelFixture, type ModelFixture } from '../model-fixture.ts';
import { buildConversation, buildMessage, ann, mine, own } from '../fake-staff.ts';

const item = buildConversation(1, mine());
const sent = (desk: ModelFixture): string[] =>
  desk.staff.calls
    .filter((call) => call.startsWith('send'))
    .map((call) => call.replace(`send ${item.id} `, ''));
const text = (desk: ModelFixture): string | undefined => desk.state().composer?.buffer.text;
const cannedReplies = [
  { id: 'r1', shortcut: 'hello', content: 'Hello there', contentFormat: 'plain' },
  { id: 'r2', shortcut: 'refund', content: 'Your refund\nis on its way', contentFormat: 'plain' },
  { id: 'r3', shortcut: 'return', content: 'Send it back', contentFormat: 'plain' },
];

/** A desk with a conversation of mine open and the composer in focus. */
async function writing(options: Parameters<typeof createModelFixture>[1] = {}): Promise<ModelFixture> {
  const desk = await createModelFixture([item, buildConversation(2, mine())], {
    ...options,
    prepare: (staff) => {
      staff.answers.set('GET /canned-replies', () => ({ cannedReplies, total: 3 }));
      staff.messages.set(item.id, [buildMessage(item, 'question')]);
      options.prepare?.(staff);
    },
  });
  await desk.press('2', 'enter', 'r');
  return desk;
}

describe('sending', () => {
  test('Enter sends once, empties the composer and its draft, and goes to the end', async () => {
    const desk = await writing();
    await desk.press('Hello you', 'enter', 'enter');
    expect(sent(desk)).toEqual(['plain Hello you']);
    expect(text(desk)).toBe('');
    expect(desk.drafts.ids()).toEqual([]);
    expect(desk.state().anchor).toBeNull();
  });

  test('two Enters in one report of the terminal send one message', async () => {
    const desk = await writing();
    await desk.press('Hello');
    desk.model.pressKeys([
      { key: 'enter', text: '' },
      { key: 'enter', text: '' },
    ]);
    await desk.settle();
    expect(sent(desk)).toEqual(['plain Hello']);
  });

  test('blanks alone are not sent', async () => {
    const desk = await writing();
    await desk.press('   ', 'enter');
    expect(sent(desk)).toEqual([]);
  });

  test('Alt+Enter and a paste make lines, not messages', async () => {
    const desk = await writing();
    await desk.press('one', 'alt+enter', 'two');
    desk.model.paste('\r\nthree\rfour\u001b[31m');
    await desk.press('enter');
    expect(sent(desk)).toEqual(['plain one\ntwo\nthree\nfour']);
  });

  test('too long is refused with the number of characters, and nothing is lost', async () => {
    const desk = await writing();
    desk.model.paste('x'.repeat(sizeLimits.contentRest + 3));
    await desk.press('enter');
    expect(sent(desk)).toEqual([]);
    expect(desk.flash()).toBe('Too long by 3 characters: shorten it or send it in parts.');
    expect(text(desk)).toHaveLength(sizeLimits.contentRest + 3);
  });

  test('a waiting conversation is accepted first; whoever was faster keeps it, and I keep my text', async () => {
    const waiting = buildConversation(5);
    const desk = await createModelFixture([waiting]);
    await desk.press('r', 'Hello', 'enter');
    expect(desk.staff.calls.filter((call) => /^(accept|send)/.test(call))).toEqual([
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

  test('what is typed while the last text is on its way is the next one, wherever one has gone', async () => {
    const waiting = buildConversation(5);
    const desk = await createModelFixture([waiting, buildConversation(4)]);
    await desk.press('enter');
    desk.model.pressKeys(Array.from('r1', (key) => ({ key, text: key })));
    desk.model.pressKeys([{ key: 'enter', text: '' }]);
    // A crash now would find both on the disk.
    desk.model.pressKeys(Array.from('2', (key) => ({ key, text: key })));
    expect(desk.drafts.get(waiting.id)).toEqual({ text: '1\n2', note: false });
    desk.model.open(buildConversation(4).id);
    await desk.settle();
    expect(desk.staff.calls.filter((call) => call.startsWith('send'))).toEqual([
      `send ${waiting.id} plain 1`,
    ]);
    expect(desk.drafts.get(waiting.id)).toEqual({ text: '2', note: false });
    desk.model.open(waiting.id);
    expect(text(desk)).toBe('2');
  });

  test('what could not go stands before what was typed since, and a note in it makes it a note', async () => {
    const waiting = buildConversation(5);
    const desk = await createModelFixture([waiting]);
    desk.staff.failures.set('accept', sdkError('network'));
    await desk.press('enter');
    desk.model.pressKeys(Array.from('r1', (key) => ({ key, text: key })));
    desk.model.pressKeys([
      { key: 'enter', text: '' },
      { key: 'ctrl+n', text: '' },
      { key: '2', text: '2' },
    ]);
    await desk.settle();
    expect([text(desk), desk.state().composer?.note]).toEqual(['1\n2', true]);
    expect(desk.drafts.get(waiting.id)).toEqual({ text: '1\n2', note: true });
    expect(desk.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
  });

  test('several are sent in the order in which they were written', async () => {
    const desk = await writing();
    for (const line of ['**one**', 'two', '**three**']) {
      desk.model.paste(line);
      desk.model.pressKeys([{ key: 'enter', text: '' }]);
    }
    await eventually(() => expect(sent(desk)).toHaveLength(3));
    expect(sent(desk).map((line) => /one|two|three/.exec(line)?.[0])).toEqual(['one', 'two', 'three']);
  });

  test('a closed conversation keeps the text as a draft', async () => {
    const desk = await writing();
    await desk.press('late');
    desk.staff.change(item.id, { status: 'closed' });
    await desk.press('enter');
    expect(sent(desk)).toEqual([]);
    expect(desk.drafts.get(item.id)?.text).toBe('late');
  });
});

describe('notes', () => {
  test('go to colleagues, and the next text is an answer again', async () => {
    const desk = await writing();
    await desk.press('ctrl+n', 'careful', 'enter', 'Hello', 'enter');
    expect(sent(desk)).toEqual(['note plain careful', 'plain Hello']);
  });

  test('a note that is a draft never becomes an answer by the way', async () => {
    const desk = await writing();
    await desk.press('ctrl+n', 'he is a pain', 'escape', 'r');
    expect(desk.state().composer?.note).toBe(true);
    expect(desk.flash()).toBe('Your draft here is an internal note.');
    await desk.press('enter');
    expect(sent(desk)).toEqual(['note plain he is a pain']);
  });

  test('may be added to a colleague’s conversation', async () => {
    const theirs = buildConversation(3, mine({ assignedTo: ann, assignedToName: 'Ann' }));
    const desk = await createModelFixture([theirs]);
    await desk.press('3', 'enter', 'N', 'look', 'enter');
    expect(desk.staff.calls).toContain(`send ${theirs.id} note plain look`);
  });

  test('typing a note is not told to the visitor', async () => {
    const desk = await writing();
    await desk.press('ctrl+n', 'x');
    expect(desk.staff.calls.filter((call) => call.startsWith('typing on'))).toEqual([]);
    await desk.press('backspace', 'ctrl+n', 'x');
    expect(desk.staff.calls.filter((call) => call.startsWith('typing on'))).toHaveLength(1);
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
      '- one\n  - two\n  - three\n- four',
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
    const desk = await writing();
    await desk.press('one');
    expect(desk.drafts.get(item.id)).toEqual({ text: 'one', note: false });
    await desk.press('escape', 'escape', 'j', 'enter', 'r', 'two');
    expect(desk.drafts.get(buildConversation(2).id)?.text).toBe('two');
    await desk.press('escape', 'escape', 'k', 'enter', 'r');
    expect(text(desk)).toBe('one');
    expect([...desk.state().drafted].toSorted()).toEqual([item.id, buildConversation(2).id].toSorted());
  });

  test('of an earlier console are there at the start, notes as notes', async () => {
    const desk = await writing({ drafts: new Map([[item.id, { text: 'from before', note: true }]]) });
    expect([text(desk), desk.state().composer?.note]).toEqual(['from before', true]);
  });

  test('an emptied composer leaves none', async () => {
    const desk = await writing();
    await desk.press('x', 'backspace');
    expect(desk.drafts.ids()).toEqual([]);
  });
});

describe('changing and deleting', () => {
  const desks = (content = 'my *text*') =>
    writing({
      prepare: (staff) =>
        staff.messages.set(item.id, [buildMessage(item, 'question'), buildMessage(item, content, own())]),
    });

  test('the last own message comes into the composer, is changed, and the draft is back', async () => {
    const desk = await desks();
    await desk.press('half a draft', 'escape', 'e');
    expect([text(desk), desk.state().composer?.editing]).toEqual(['my *text*', expect.any(String)]);
    expect(desk.drafts.get(item.id)?.text).toBe('half a draft');
    await desk.press('!', 'enter');
    await eventually(() => expect(desk.staff.calls.some((call) => call.startsWith('edit'))).toBe(true));
    await desk.settle();
    expect(desk.staff.calls.find((call) => call.startsWith('edit'))).toContain(' lexical ');
    expect([text(desk), desk.state().composer?.editing]).toEqual(['half a draft', null]);
    expect(sent(desk)).toEqual([]);
  });

  test('Esc leaves the message as it was, and a refusal keeps what was typed', async () => {
    const desk = await desks('plain');
    await desk.press('escape', 'e', ' changed', 'escape');
    expect(desk.staff.calls.filter((call) => call.startsWith('edit'))).toEqual([]);
    expect(text(desk)).toBe('');
    await desk.press('escape', 'e', ' more');
    desk.staff.failures.set('edit', sdkError('edit_window_expired', 'late', 422));
    await desk.press('enter');
    expect(text(desk)).toBe('plain more');
    expect(desk.flash()).toBe('Only messages of the last 15 minutes can be changed.');
  });

  test('deleting asks, and leaves a place that says so without the text', async () => {
    const desk = await desks('regretted');
    await desk.press('escape', 'd', 'y');
    expect(desk.staff.calls.filter((call) => call.startsWith('delete'))).toHaveLength(1);
    const [deleted] = desk.state().open!.deletedMessages;
    expect(deleted).toMatchObject({ deleted: true, content: '' });
    expect(JSON.stringify(desk.state().open)).not.toContain('regretted');
  });

  test('somebody else’s message is neither changed nor deleted', async () => {
    const desk = await writing();
    await desk.press('escape', 'k', 'e');
    expect(desk.flash()).toBe('Only your own messages can be changed.');
    await desk.press('d');
    expect(desk.state().dialog).toBeNull();
  });

  test('what was not sent is sent again or taken back', async () => {
    const failed = buildMessage(item, 'stuck', own({ state: 'failed' }));
    const desk = await writing({ prepare: (staff) => staff.messages.set(item.id, [failed]) });
    desk.staff.failures.set('send', sdkError('forbidden', 'no', 403));
    await desk.press('escape', 's');
    expect(desk.staff.calls).toContain(`retry ${failed.key}`);
    await desk.press('D', 'y');
    expect(desk.staff.calls).toContain(`discard ${failed.key}`);
  });

  test('a message is copied as Markdown', async () => {
    const desk = await writing();
    await desk.press('escape', 'k', 'y');
    expect(desk.copied).toEqual(['question']);
  });
});

describe('canned replies', () => {
  test('a slash lists them, letters narrow them down, Enter puts one in the place of the slash and sends nothing', async () => {
    const desk = await writing();
    await desk.press('/', 're', 'down', 'enter');
    expect(text(desk)).toBe('Send it back');
    expect(sent(desk)).toEqual([]);
    await desk.press('enter');
    expect(sent(desk)).toEqual(['plain Send it back']);
  });

  test('Esc puts the list away and keeps what was typed; then Enter sends it', async () => {
    const desk = await writing();
    await desk.press('/', 're', 'escape');
    expect([text(desk), desk.state().focus]).toEqual(['/re', 'composer']);
    await desk.press('enter');
    expect(sent(desk)).toEqual(['plain /re']);
  });

  test('a slash inside a text is a slash', async () => {
    const desk = await writing();
    await desk.press('1', '/', '2', 'enter');
    expect(sent(desk)).toEqual(['plain 1/2']);
  });
});

describe('the assistant', () => {
  const answer = { text: 'Take **the train**.', answered: true, sources: [{ title: 'Travel\u001b[2J' }] };
  const withDraft = (body: () => unknown) =>
    writing({ prepare: (staff) => staff.answers.set(`POST /conversations/${item.id}/ai/reply`, body) });

  test('its draft is put into the composer, never sent, and Undo brings the own text back', async () => {
    const desk = await withDraft(() => answer);
    await desk.press('my own', 'ctrl+g');
    expect([text(desk), desk.state().composer?.ai]).toEqual(['Take **the train**.', 'drafted']);
    expect(sent(desk)).toEqual([]);
    expect(desk.flash()).toContain('Travel␛[2J');
    await desk.press('ctrl+z');
    expect([text(desk), desk.state().composer?.ai]).toEqual(['my own', null]);
  });

  test('a draft never takes the place of a note, which Undo would bring back as an answer', async () => {
    const desk = await withDraft(() => answer);
    await desk.press('ctrl+n', 'a note', 'ctrl+g');
    expect([text(desk), desk.state().composer?.note]).toEqual(['a note', true]);
    expect(desk.flash()).toBe('Your draft here is an internal note: send it or clear it first.');
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
  ])('says why there is none, and leaves the text alone', async (body, words) => {
    const desk = await withDraft(body);
    await desk.press('my own', 'ctrl+g');
    expect([desk.flash(), text(desk), desk.state().composer?.ai]).toEqual([words, 'my own', null]);
  });
});

describe('history and the editor', () => {
  test('Up at the first row brings back what was sent, Down goes forward again', async () => {
    const desk = await writing();
    await desk.press('first', 'enter', 'second', 'enter', 'up');
    expect(text(desk)).toBe('second');
    await desk.press('up', 'down', 'down');
    expect(text(desk)).toBe('');
  });

  test('what was sent as a note does not come back as an answer', async () => {
    const desk = await writing();
    await desk.press('ctrl+n', 'secret', 'enter', 'up');
    expect([text(desk), desk.state().composer?.note]).toEqual(['', false]);
  });

  test('what the editor gives back is the text; an editor that fails changes nothing', async () => {
    const desk = await writing();
    await desk.press('before');
    desk.edited = 'after\nmore\n';
    await desk.press('ctrl+x');
    expect(text(desk)).toBe('after\nmore');
    desk.edited = null;
    await desk.press('ctrl+x');
    expect(text(desk)).toBe('after\nmore');
  });
});

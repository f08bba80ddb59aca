// Attacks reading: unread line and read marks only for what was really in front of the
// operator, history that loads upwards, and a place that stays where it is.
import { describe, expect, test } from 'vitest';
import { layoutOfState } from '../../src/cli/console/views/pane-layout.ts';
import { lastSeenMessage } from '../../src/desk/shown-messages.ts';
import { messageBlocks } from '../../src/cli/console/views/message-lines.ts';
import { viewportOf } from '../../src/cli/console/views/viewport.ts';
import { textOf } from '../../src/cli/console/text/wrap.ts';
import { sdkError } from '../../src/sdk/error.ts';
import { createModelFixture, type ModelFixture } from './model-fixture.ts';
import { buildConversation, buildMessage, mine, own } from './fake-staff.ts';

const item = buildConversation(1, mine({ unreadCount: 2 }));
const other = buildConversation(2, mine());
const reads = (fixture: ModelFixture): number =>
  fixture.staff.calls.filter((call) => call === `read ${item.id}`).length;

function inSight(fixture: ModelFixture): string[] {
  const state = fixture.state();
  const layout = layoutOfState(state);
  return viewportOf(
    messageBlocks(state, layout.conversationColumns, layout.compact),
    state.anchor,
    layout.messageRows,
  ).lines.map(({ line }) => textOf(line).trimEnd());
}

const reading = async (count = 4, rows = 40): Promise<ModelFixture> => {
  const fixture = await createModelFixture([item, other], {
    rows,
    prepare: (staff) =>
      staff.messages.set(
        item.id,
        Array.from({ length: count }, (_, index) => buildMessage(item, `message ${index}`)),
      ),
  });
  await fixture.press('2', 'enter');
  await fixture.advance(500);
  return fixture;
};

describe('read marks', () => {
  test('opening marks as read, once; a new message in sight does so again', async () => {
    const fixture = await reading();
    expect(reads(fixture)).toBe(1);
    fixture.staff.hear(buildMessage(item, 'more'));
    fixture.staff.hear(buildMessage(item, 'and more'));
    await fixture.advance(500);
    expect(reads(fixture)).toBe(2);
  });

  test('nothing is marked while the window is elsewhere, further up, or another one is open', async () => {
    const fixture = await reading(60);
    const before = reads(fixture);
    fixture.model.setFocused(false);
    fixture.staff.hear(buildMessage(item, 'unseen'));
    await fixture.advance(500);
    expect(reads(fixture)).toBe(before);
    fixture.model.setFocused(true);
    await fixture.advance(500);
    expect(reads(fixture)).toBe(before + 1);
    await fixture.press('pageup');
    fixture.staff.hear(buildMessage(item, 'below'));
    await fixture.advance(500);
    expect(reads(fixture)).toBe(before + 1);
    expect(fixture.state().open?.unseen).toBe(1);
    await fixture.press('G');
    await fixture.advance(500);
    expect([reads(fixture), fixture.state().open?.unseen]).toEqual([before + 2, 0]);
  });

  test('where one pane must do, the queue in front means that nothing is read', async () => {
    const fixture = await reading();
    fixture.view.resize(40, 12);
    await fixture.press('escape');
    fixture.staff.hear(buildMessage(item, 'unseen'));
    await fixture.advance(500);
    expect(reads(fixture)).toBe(1);
  });
});

describe('the unread line', () => {
  test('stands before the first unread message and stays there while new ones come', async () => {
    const fixture = await reading();
    const at = () => inSight(fixture).findIndex((line) => /─ new ─/.test(line));
    expect(inSight(fixture)[at() + 2]).toContain('message 2');
    fixture.staff.hear(buildMessage(item, 'later'));
    await fixture.advance(500);
    expect(inSight(fixture)[at() + 2]).toContain('message 2');
  });

  test('goes when one answers', async () => {
    const fixture = await reading();
    await fixture.press('r', 'Hi', 'enter');
    expect(inSight(fixture).some((line) => /─ new ─/.test(line))).toBe(false);
  });

  test('comes before what arrived while the window was elsewhere', async () => {
    const fixture = await reading();
    await fixture.press('r', 'Hi', 'enter');
    fixture.model.setFocused(false);
    fixture.staff.hear(buildMessage(item, 'while away'));
    await fixture.settle();
    expect(fixture.state().open?.unreadFrom).not.toBeNull();
  });
});

describe('history', () => {
  test('loads upwards when its beginning comes near, and what is in sight does not move', async () => {
    const fixture = await reading(400);
    expect(fixture.state().open?.room?.messages).toHaveLength(50);
    await fixture.press('pageup', 'pageup');
    const before = inSight(fixture);
    await fixture.settle();
    expect(fixture.state().open!.room!.messages.length).toBeGreaterThan(50);
    expect(inSight(fixture)).toEqual(before);
    expect(fixture.state().open?.loadingOlder).toBe(false);
  });

  test('reaches the very first message, and asks no more then', async () => {
    const fixture = await reading(120);
    for (let step = 0; step < 12; step += 1) await fixture.press('g');
    expect(inSight(fixture).join('\n')).toContain('message 0');
    const asked = fixture.staff.calls.length;
    await fixture.press('g', 'pageup', 'k');
    expect(fixture.staff.calls).toHaveLength(asked);
  });

  test('a window that is taller than the first page fills itself', async () => {
    const fixture = await reading(130, 120);
    expect(fixture.state().open!.room!.messages.length).toBeGreaterThan(50);
  });
});

describe('the room', () => {
  test('is left when another conversation is opened', async () => {
    const fixture = await reading();
    await fixture.press('escape', 'j', 'enter');
    expect(fixture.staff.calls.filter((call) => /^(join|leave)/.test(call))).toEqual([
      `join ${item.id}`,
      `leave ${item.id}`,
      `join ${other.id}`,
    ]);
    expect(Object.keys(fixture.staff.client.getState().rooms)).toEqual([other.id]);
  });

  test('that can’t be joined says why, and is joined when the connection is back', async () => {
    const fixture = await createModelFixture([item]);
    fixture.staff.failures.set('join', sdkError('network'));
    await fixture.press('2', 'enter');
    expect(fixture.state().open?.problem).toBe('The server can’t be reached just now.');
    fixture.staff.connect('offline');
    fixture.staff.connect('online');
    await fixture.settle();
    expect([fixture.state().open?.problem, fixture.state().open?.room?.loaded]).toEqual([null, true]);
  });

  test('that could not be asked for is asked for again, though the connection was never lost', async () => {
    const fixture = await createModelFixture([item, other]);
    fixture.staff.failures.set('join', sdkError('network'));
    await fixture.press('2', 'enter');
    expect(fixture.state().open?.problem).toBe('The server can’t be reached just now.');
    await fixture.advance(5_000);
    expect([fixture.state().open?.problem, fixture.state().open?.room?.loaded]).toEqual([null, true]);
    // What is not there does not come by asking.
    fixture.staff.failures.set('join', sdkError('not_found'));
    fixture.model.open(other.id);
    await fixture.settle();
    const asked = fixture.staff.calls.length;
    await fixture.advance(20_000);
    expect(fixture.staff.calls.slice(asked).filter((call) => call.startsWith('join'))).toEqual([]);
    expect(fixture.state().open?.problem).toBe('This conversation is not there any more.');
  });

  test('a late answer for a conversation that was left changes nothing, and its room is left', async () => {
    const fixture = await createModelFixture([item, other], {
      prepare: (staff) => staff.messages.set(item.id, [buildMessage(item, 'of the first')]),
    });
    const release = fixture.staff.hold('join');
    fixture.model.open(item.id);
    fixture.model.open(other.id);
    await fixture.settle();
    release();
    await fixture.settle();
    expect(fixture.state().open?.id).toBe(other.id);
    expect(fixture.state().open?.room?.messages).toEqual([]);
    expect(Object.keys(fixture.staff.client.getState().rooms)).toEqual([other.id]);
  });

  test('of a conversation that is open once more is not hidden when the first time fails', async () => {
    const fixture = await createModelFixture([item, other], {
      prepare: (staff) => staff.messages.set(item.id, [buildMessage(item, 'of the first')]),
    });
    const release = fixture.staff.hold('join');
    for (const { id } of [item, other, item]) {
      fixture.model.open(id);
      await fixture.settle();
    }
    fixture.staff.failures.set('join', sdkError('network'));
    release();
    await fixture.settle();
    expect(fixture.state().open?.problem).toBeNull();
    expect(inSight(fixture).join('\n')).toContain('of the first');
  });
});

describe('seen', () => {
  test('is the last own answer up to where the visitor has read; never a note', async () => {
    const messages = [
      buildMessage(item, 'q'),
      buildMessage(item, 'one', own()),
      buildMessage(item, 'note', own({ internal: true })),
      buildMessage(item, 'two', own()),
    ];
    const fixture = await createModelFixture([item], {
      prepare: (staff) => staff.messages.set(item.id, messages),
    });
    await fixture.press('2', 'enter');
    const seen = () => lastSeenMessage(fixture.state().open!, item.visitor.id);
    expect(seen()).toBeNull();
    fixture.staff.setRoom(item.id, { reads: { [item.visitor.id]: messages[2]!.id } });
    expect(seen()).toBe(messages[1]!.id);
    fixture.staff.setRoom(item.id, { reads: { [item.visitor.id]: messages[3]!.id } });
    expect(seen()).toBe(messages[3]!.id);
  });
});

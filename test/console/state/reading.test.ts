// Attacks reading: unread line and read marks only for what was really before somebody's
// eyes, history that loads upwards, and a place that stays where it is.
import { describe, expect, test } from 'vitest';
import { layoutOfState } from '../../../src/cli/console/views/pane-layout.ts';
import { lastSeenMessage } from '../../../src/cli/console/state/shown-messages.ts';
import { messageBlocks } from '../../../src/cli/console/views/message-lines.ts';
import { viewportOf } from '../../../src/cli/console/views/viewport.ts';
import { textOf } from '../../../src/cli/console/text/wrap.ts';
import { sdkError } from '../../../src/sdk/error.ts';
import { createModelFixture, type ModelFixture } from '../model-fixture.ts';
import { buildConversation, buildMessage, mine, own } from '../fake-staff.ts';

const item = buildConversation(1, mine({ unreadCount: 2 }));
const other = buildConversation(2, mine());
const reads = (desk: ModelFixture): number =>
  desk.staff.calls.filter((call) => call === `read ${item.id}`).length;

function inSight(desk: ModelFixture): string[] {
  const state = desk.state();
  const layout = layoutOfState(state);
  return viewportOf(
    messageBlocks(state, layout.conversationColumns, layout.compact),
    state.anchor,
    layout.messageRows,
  ).lines.map(({ line }) => textOf(line).trimEnd());
}

const reading = async (count = 4, rows = 40): Promise<ModelFixture> => {
  const desk = await createModelFixture([item, other], {
    rows,
    prepare: (staff) =>
      staff.messages.set(
        item.id,
        Array.from({ length: count }, (_, index) => buildMessage(item, `message ${index}`)),
      ),
  });
  await desk.press('2', 'enter');
  await desk.advance(500);
  return desk;
};

describe('read marks', () => {
  test('opening marks as read, once; a new message in sight does so again', async () => {
    const desk = await reading();
    expect(reads(desk)).toBe(1);
    desk.staff.hear(buildMessage(item, 'more'));
    desk.staff.hear(buildMessage(item, 'and more'));
    await desk.advance(500);
    expect(reads(desk)).toBe(2);
  });

  test('nothing is marked while the window is elsewhere, further up, or another one is open', async () => {
    const desk = await reading(60);
    const before = reads(desk);
    desk.model.setFocused(false);
    desk.staff.hear(buildMessage(item, 'unseen'));
    await desk.advance(500);
    expect(reads(desk)).toBe(before);
    desk.model.setFocused(true);
    await desk.advance(500);
    expect(reads(desk)).toBe(before + 1);
    await desk.press('pageup');
    desk.staff.hear(buildMessage(item, 'below'));
    await desk.advance(500);
    expect(reads(desk)).toBe(before + 1);
    expect(desk.state().open?.unseen).toBe(1);
    await desk.press('G');
    await desk.advance(500);
    expect([reads(desk), desk.state().open?.unseen]).toEqual([before + 2, 0]);
  });

  test('where one pane must do, the queue in front means that nobody reads', async () => {
    const desk = await reading();
    desk.view.resize(40, 12);
    await desk.press('escape');
    desk.staff.hear(buildMessage(item, 'unseen'));
    await desk.advance(500);
    expect(reads(desk)).toBe(1);
  });
});

describe('the unread line', () => {
  test('stands before the first unread message and stays there while new ones come', async () => {
    const desk = await reading();
    const at = () => inSight(desk).findIndex((line) => /─ new ─/.test(line));
    expect(inSight(desk)[at() + 2]).toContain('message 2');
    desk.staff.hear(buildMessage(item, 'later'));
    await desk.advance(500);
    expect(inSight(desk)[at() + 2]).toContain('message 2');
  });

  test('goes when one answers', async () => {
    const desk = await reading();
    await desk.press('r', 'Hi', 'enter');
    expect(inSight(desk).some((line) => /─ new ─/.test(line))).toBe(false);
  });

  test('comes before what arrived while nobody looked', async () => {
    const desk = await reading();
    await desk.press('r', 'Hi', 'enter');
    desk.model.setFocused(false);
    desk.staff.hear(buildMessage(item, 'while away'));
    await desk.settle();
    expect(desk.state().open?.unreadFrom).not.toBeNull();
  });
});

describe('history', () => {
  test('loads upwards when its beginning comes near, and what is in sight does not move', async () => {
    const desk = await reading(400);
    expect(desk.state().open?.room?.messages).toHaveLength(50);
    await desk.press('pageup', 'pageup');
    const before = inSight(desk);
    await desk.settle();
    expect(desk.state().open!.room!.messages.length).toBeGreaterThan(50);
    expect(inSight(desk)).toEqual(before);
    expect(desk.state().open?.loadingOlder).toBe(false);
  });

  test('reaches the very first message, and asks no more then', async () => {
    const desk = await reading(120);
    for (let step = 0; step < 12; step += 1) await desk.press('g');
    expect(inSight(desk).join('\n')).toContain('message 0');
    const asked = desk.staff.calls.length;
    await desk.press('g', 'pageup', 'k');
    expect(desk.staff.calls).toHaveLength(asked);
  });

  test('a window that is taller than the first page fills itself', async () => {
    const desk = await reading(130, 120);
    expect(desk.state().open!.room!.messages.length).toBeGreaterThan(50);
  });
});

describe('the room', () => {
  test('is left when another conversation is opened', async () => {
    const desk = await reading();
    await desk.press('escape', 'j', 'enter');
    expect(desk.staff.calls.filter((call) => /^(join|leave)/.test(call))).toEqual([
      `join ${item.id}`,
      `leave ${item.id}`,
      `join ${other.id}`,
    ]);
    expect(Object.keys(desk.staff.client.getState().rooms)).toEqual([other.id]);
  });

  test('that can’t be joined says why, and is joined when the connection is back', async () => {
    const desk = await createModelFixture([item]);
    desk.staff.failures.set('join', sdkError('network'));
    await desk.press('2', 'enter');
    expect(desk.state().open?.problem).toBe('The server can’t be reached just now.');
    desk.staff.connect('offline');
    desk.staff.connect('online');
    await desk.settle();
    expect([desk.state().open?.problem, desk.state().open?.room?.loaded]).toEqual([null, true]);
  });

  test('a late answer for a conversation that was left changes nothing, and its room is left', async () => {
    const desk = await createModelFixture([item, other], {
      prepare: (staff) => staff.messages.set(item.id, [buildMessage(item, 'of the first')]),
    });
    const release = desk.staff.hold('join');
    desk.model.open(item.id);
    desk.model.open(other.id);
    await desk.settle();
    release();
    await desk.settle();
    expect(desk.state().open?.id).toBe(other.id);
    expect(desk.state().open?.room?.messages).toEqual([]);
    expect(Object.keys(desk.staff.client.getState().rooms)).toEqual([other.id]);
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
    const desk = await createModelFixture([item], {
      prepare: (staff) => staff.messages.set(item.id, messages),
    });
    await desk.press('2', 'enter');
    const seen = () => lastSeenMessage(desk.state().open!, item.visitor.id);
    expect(seen()).toBeNull();
    desk.staff.setRoom(item.id, { reads: { [item.visitor.id]: messages[2]!.id } });
    expect(seen()).toBe(messages[1]!.id);
    desk.staff.setRoom(item.id, { reads: { [item.visitor.id]: messages[3]!.id } });
    expect(seen()).toBe(messages[3]!.id);
  });
});

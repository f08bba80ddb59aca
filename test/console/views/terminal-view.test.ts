// Attacks the terminal's window over the state: what must stay in sight, whatever moves and however small it is.
import { describe, expect, test } from 'vitest';
import { shownCursor } from '../../../src/desk/queue.ts';
import { textOf } from '../../../src/cli/console/text/wrap.ts';
import { queueLines } from '../../../src/cli/console/views/queue-lines.ts';
import { buildConversation, buildMessage, mine } from '../../desk/fake-staff.ts';
import { createModelFixture, type ModelFixture } from '../../desk/model-fixture.ts';

const waiting = Array.from({ length: 40 }, (_, index) => buildConversation(index + 1));

describe('the cursor of the queue stays in sight', () => {
  const expectInSight = (fixture: ModelFixture): void => {
    const { view } = fixture;
    const drawn = queueLines(view.get(), view.layout, view.queueTop()).map((line) => textOf(line));
    const { queue } = view.get();
    const item = queue.items.find(({ id }) => id === shownCursor(queue));
    expect(drawn.find((line) => line.startsWith('▌'))).toContain(item?.visitor.name);
  };

  test('as it moves, and as the window shrinks and grows', async () => {
    const fixture = await createModelFixture(waiting, { columns: 80, rows: 24 });
    for (const key of ['G', 'k', 'pageup', 'pageup', 'g', 'pagedown']) {
      await fixture.press(key);
      expectInSight(fixture);
    }
    await fixture.press('G');
    for (const rows of [8, 40, 12]) {
      fixture.view.resize(80, rows);
      expectInSight(fixture);
    }
  });

  test('in a search, whose field takes a row', async () => {
    const fixture = await createModelFixture(waiting, { columns: 80, rows: 24 });
    await fixture.press('/', 'visitor');
    await fixture.advance(500);
    for (let index = 0; index < 20; index += 1) {
      await fixture.press('down');
      expectInSight(fixture);
    }
  });
});

describe('a dialog', () => {
  test('scrolls, and begins at its top when it is opened again', async () => {
    const fixture = await createModelFixture(waiting, { columns: 80, rows: 24 });
    await fixture.press('?', 'down', 'down', 'pagedown');
    expect(fixture.state().dialogTop).toBe(12);
    await fixture.press('up', 'escape', '?');
    expect(fixture.state().dialogTop).toBe(0);
  });
});

describe('the conversation', () => {
  test('follows its end again when another one is opened, and when an answer is sent', async () => {
    const [one, two] = [buildConversation(1, mine()), buildConversation(2, mine())];
    const fixture = await createModelFixture([one, two], {
      columns: 80,
      rows: 24,
      prepare: (staff) => {
        for (const item of [one, two])
          staff.messages.set(
            item.id,
            Array.from({ length: 40 }, (_, index) => buildMessage(item, `message ${index}`)),
          );
      },
    });
    await fixture.press('2', 'enter', 'pageup');
    expect(fixture.state()).toMatchObject({ anchor: expect.anything(), open: { atEnd: false } });
    await fixture.press('escape', 'j', 'enter');
    expect(fixture.state()).toMatchObject({ anchor: null, open: { atEnd: true } });
    await fixture.press('pageup', 'r', 'Hello', 'enter');
    expect(fixture.state()).toMatchObject({ anchor: null, open: { atEnd: true } });
  });
});

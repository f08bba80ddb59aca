// Commands whose code is still on its way: they go where they were aimed, or the member is told that they went nowhere.
import { describe, expect, test } from 'vitest';
import { createBrowserTools } from '../../src/dashboard/desk-tools.ts';
import { createModelFixture, type ModelFixture } from '../desk/model-fixture.ts';
import { ann, buildConversation, buildMessage, mine, own } from '../desk/fake-staff.ts';

interface Line {
  readonly fixture: ModelFixture;
  /** The files arrive. */
  arrive(): Promise<void>;
  /** The line breaks instead; the next one is as slow. */
  fail(): Promise<void>;
}

const toldNot = 'Not done: something else was chosen before it could be. Do it again.';
const [first, second] = [buildConversation(1, mine()), buildConversation(2, mine())];

/** A desk with two conversations of the member, and what it loads on use still on the line. */
async function slowLine(): Promise<Line> {
  const files = await Promise.all([
    import('../../src/desk/dialogs.ts'),
    import('../../src/desk/acts.ts'),
    import('../../src/desk/learning.ts'),
  ]);
  let gate = Promise.withResolvers<void>();
  const late = async <T>(file: T): Promise<T> => {
    await gate.promise;
    return file;
  };
  const fixture = await createModelFixture([first, second], {
    role: 'admin',
    tools: createBrowserTools({
      dialogs: () => late(files[0]),
      acts: () => late(files[1]),
      learning: () => late(files[2]),
      drafting: () => import('../../src/desk/ai-draft.ts'),
    }),
  });
  fixture.staff.messages.set(first.id, [
    buildMessage(first, 'Where is it?'),
    buildMessage(first, 'On its way.', own()),
  ]);
  await fixture.press('2');
  fixture.model.open(first.id);
  await fixture.settle();
  return {
    fixture,
    arrive: async () => {
      gate.resolve();
      await fixture.settle();
    },
    fail: async () => {
      gate.reject(new TypeError('Failed to fetch dynamically imported module'));
      gate = Promise.withResolvers();
      await fixture.settle();
    },
  };
}

describe('a command whose file is on its way', () => {
  test.each(['resolve', 'priority', 'snooze', 'visitor'] as const)(
    '%s goes where it was aimed',
    async (name) => {
      const { fixture, arrive } = await slowLine();
      fixture.model.run(name);
      expect(fixture.state().dialog).toBeNull();
      await arrive();
      expect(fixture.state().dialog).not.toBeNull();
      expect(fixture.flash()).toBe('');
    },
  );

  test('what a visitor writes in between changes nothing of it', async () => {
    const { fixture, arrive } = await slowLine();
    fixture.model.run('resolve');
    fixture.staff.hear(buildMessage(first, 'Hello?'));
    await fixture.settle();
    await arrive();
    expect(fixture.state().dialog).toMatchObject({ kind: 'confirm', ask: { id: first.id } });
  });

  test.each(['resolve', 'release', 'tag', 'snooze', 'unread', 'keep', 'gaps'] as const)(
    '%s does nothing to another conversation, and says so',
    async (name) => {
      const { fixture, arrive } = await slowLine();
      fixture.model.run(name);
      fixture.model.open(second.id);
      await fixture.settle();
      const asked = fixture.staff.calls.length;
      await arrive();
      expect(fixture.flash()).toBe(toldNot);
      expect(fixture.state()).toMatchObject({ dialog: null, open: { id: second.id } });
      expect(fixture.staff.calls.slice(asked)).toEqual([]);
      // The file is there now.
      fixture.model.run('resolve');
      await fixture.settle();
      expect(fixture.state().dialog).toMatchObject({ kind: 'confirm', ask: { id: second.id } });
    },
  );

  test('an act on marked conversations is told of when the marks have changed', async () => {
    const { fixture, arrive } = await slowLine();
    fixture.model.setFocus('queue');
    fixture.model.marks.toggle(first.id);
    fixture.model.run('release');
    fixture.model.marks.toggle(second.id);
    await arrive();
    expect(fixture.flash()).toBe(toldNot);
    expect(fixture.staff.calls.filter((call) => call.startsWith('bulk'))).toEqual([]);
  });

  test('a choice in a menu that was closed before it came', async () => {
    const { fixture, arrive } = await slowLine();
    fixture.model.run('palette');
    await fixture.press('resolve', 'enter');
    fixture.model.closeDialog();
    await arrive();
    expect(fixture.flash()).toBe(toldNot);
    expect(fixture.state().dialog).toBeNull();
  });

  test('keys in a menu wait, and do what they meant', async () => {
    const { fixture, arrive } = await slowLine();
    fixture.model.run('palette');
    await fixture.press('resolve', 'enter');
    await arrive();
    expect(fixture.flash()).toBe('');
    expect(fixture.state().dialog).toMatchObject({ kind: 'confirm', ask: { id: first.id } });
  });

  test('that does not come: the member is told, and the next one tries again', async () => {
    const { fixture, arrive, fail } = await slowLine();
    fixture.model.run('resolve');
    await fail();
    expect(fixture.flash()).toBe('The server can’t be reached just now.');
    fixture.model.run('resolve');
    await arrive();
    expect(fixture.state().dialog).toMatchObject({ kind: 'confirm', ask: { id: first.id } });
  });

  test('a colleague takes what it was aimed at away from the queue’s cursor', async () => {
    const { fixture, arrive } = await slowLine();
    fixture.model.close();
    fixture.model.run('resolve');
    const { cursor } = fixture.state().queue.lists.mine;
    fixture.staff.change(cursor ?? '', mine({ assignedTo: ann, assignedToName: 'Ann' }));
    await arrive();
    expect(fixture.flash()).toBe(toldNot);
    expect(fixture.state().dialog).toBeNull();
  });
});

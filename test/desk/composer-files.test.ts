// Attacks files in the composer: they leave with their message, once, when they are there; never with another
// conversation's, and what failed is neither sent nor lost.
import { describe, expect, test } from 'vitest';
import { beginEdit, beginKeep } from '../../src/desk/composer-changes.ts';
import type { FileSource } from '../../src/desk/composer-files.ts';
import { sdkError } from '../../src/sdk/error.ts';
import type { SdkFile } from '../../src/sdk/types.ts';
import { ann, buildConversation, buildMessage, mine, own } from './fake-staff.ts';
import { createModelFixture, type ModelFixture } from './model-fixture.ts';

const item = buildConversation(1, mine());
const other = buildConversation(2, mine());

interface Held extends FileSource {
  /** How often it was uploaded. */
  readonly tries: () => number;
  arrive(): void;
  fail(code: 'network' | 'payload_too_large'): void;
}

function held(name: string, size = 10): Held {
  let tries = 0;
  let settled = Promise.withResolvers<SdkFile>();
  return {
    name,
    size,
    tries: () => tries,
    upload: () => {
      tries += 1;
      settled = Promise.withResolvers();
      return settled.promise;
    },
    arrive: () =>
      settled.resolve({
        id: `id-${name}`,
        name,
        type: 'text/plain',
        size,
        width: null,
        height: null,
        state: 'ready',
      }),
    fail: (code) => settled.reject(sdkError(code)),
  };
}

async function writing(): Promise<ModelFixture> {
  const fixture = await createModelFixture([item, other], {
    prepare: (staff) => void staff.messages.set(item.id, [buildMessage(item, 'question')]),
  });
  await fixture.press('2', 'enter', 'r');
  return fixture;
}

const sent = ({ staff }: ModelFixture): string[] => staff.calls.filter((call) => /^(send|files) /.test(call));

describe('files in the composer', () => {
  test('go with the text, or alone under their names', async () => {
    const fixture = await writing();
    const { composer } = fixture.model;
    const file = held('plan.pdf');
    composer.attach([file]);
    await fixture.settle();
    file.arrive();
    await fixture.settle();
    await fixture.press('See', 'enter');
    expect(sent(fixture)).toEqual(['files id-plan.pdf', `send ${item.id} plain See`]);
    const alone = held('a.txt');
    composer.attach([alone]);
    await fixture.settle();
    alone.arrive();
    await fixture.settle();
    await fixture.press('enter');
    expect(sent(fixture).slice(2)).toEqual(['files id-a.txt', `send ${item.id} plain a.txt`]);
    expect(fixture.state().composer?.files).toEqual([]);
  });

  test('on their way hold the message back, which then leaves once', async () => {
    const fixture = await writing();
    const file = held('plan.pdf');
    fixture.model.composer.attach([file]);
    await fixture.press('See', 'enter', 'enter');
    expect(sent(fixture)).toEqual([]);
    expect(fixture.state().composer?.leaving).toBe(true);
    file.arrive();
    await fixture.settle();
    expect(sent(fixture)).toEqual(['files id-plan.pdf', `send ${item.id} plain See`]);
  });

  test('leave by themselves for the conversation that was left, never for the one that is open', async () => {
    const fixture = await writing();
    const file = held('plan.pdf');
    fixture.model.composer.attach([file]);
    await fixture.press('See', 'enter');
    fixture.model.open(other.id);
    await fixture.settle();
    expect(fixture.state().composer?.files).toEqual([]);
    file.arrive();
    await fixture.settle();
    expect(sent(fixture)).toEqual(['files id-plan.pdf', `send ${item.id} plain See`]);
  });

  test('what is still being written does not leave by itself', async () => {
    const fixture = await writing();
    const file = held('plan.pdf');
    fixture.model.composer.attach([file]);
    await fixture.press('See', 'enter', ' this');
    file.arrive();
    await fixture.settle();
    expect(sent(fixture)).toEqual([]);
    expect(fixture.state().composer?.buffer.text).toBe('See this');
  });

  const keeping = { applicationId: 'a', settles: [], refused: null };

  test.each<[string, (fixture: ModelFixture) => void]>([
    ['a change', ({ model }) => beginEdit(model.composer, buildMessage(item, 'mine', own()), 'mine')],
    ['something to keep', ({ model }) => beginKeep(model.composer, 'Q\n\nA', keeping)],
  ])('do not save %s that was begun since, and what was written waits behind it', async (_what, begin) => {
    const fixture = await writing();
    const file = held('plan.pdf');
    fixture.model.composer.attach([file]);
    await fixture.press('See', 'enter');
    begin(fixture);
    const before = fixture.state().composer?.buffer.text;
    file.arrive();
    await fixture.settle();
    expect(fixture.staff.calls.filter((call) => /^(send|edit|POST) /.test(call))).toEqual([]);
    expect(fixture.state().composer?.buffer.text).toBe(before);
    await fixture.press('escape', 'enter');
    expect(sent(fixture)).toEqual(['files id-plan.pdf', `send ${item.id} plain See`]);
  });

  test('do not send as a note what was sent as an answer', async () => {
    const fixture = await writing();
    const file = held('plan.pdf');
    fixture.model.composer.attach([file]);
    await fixture.press('See', 'enter', 'ctrl+n');
    file.arrive();
    await fixture.settle();
    expect(sent(fixture)).toEqual([]);
    expect(fixture.state().composer).toMatchObject({ note: true, buffer: { text: 'See' } });
  });

  test('leave nothing on its way once a colleague has the conversation', async () => {
    const fixture = await writing();
    const file = held('plan.pdf');
    fixture.model.composer.attach([file]);
    await fixture.press('See', 'enter');
    expect(fixture.model.composer.isLeaving()).toBe(true);
    fixture.staff.change(item.id, { assignedTo: ann, assignedToName: 'Ann' });
    file.arrive();
    await fixture.settle();
    expect(sent(fixture)).toEqual([]);
    expect(fixture.flash()).toBe('Ann has this conversation: only notes can be added.');
    expect(fixture.model.composer.isLeaving()).toBe(false);
  });

  test('that failed are neither sent nor lost, and can be tried again or taken out', async () => {
    const fixture = await writing();
    const [file, large] = [held('plan.pdf'), held('large.iso.txt')];
    fixture.model.composer.attach([file, large]);
    await fixture.press('See', 'enter');
    file.fail('network');
    await fixture.settle();
    large.fail('payload_too_large');
    await fixture.settle();
    expect(fixture.state().composer).toMatchObject({
      leaving: false,
      files: [{ mayRetry: true }, { mayRetry: false }],
    });
    await fixture.press('enter');
    expect(sent(fixture)).toEqual([]);
    const [first, second] = fixture.state().composer?.files ?? [];
    fixture.model.composer.removeFile(second?.key ?? '');
    fixture.model.composer.retryFile(first?.key ?? '');
    await fixture.settle();
    expect(file.tries()).toBe(2);
    file.arrive();
    await fixture.settle();
    await fixture.press('enter');
    expect(sent(fixture)).toEqual(['files id-plan.pdf', `send ${item.id} plain See`]);
  });

  test('that can’t be sent are said and left out; at most ten go', async () => {
    const fixture = await writing();
    const { composer } = fixture.model;
    composer.attach([held('setup.exe'), held('nothing', 0), held('film.mp4', 30_000_000)]);
    expect(fixture.state().composer?.files).toEqual([]);
    expect(fixture.flash()).toContain('setup.exe');
    expect(fixture.flash()).toContain('at most 25 MiB');
    composer.attach(Array.from({ length: 12 }, (_, index) => held(`${index}`)));
    expect(fixture.state().composer?.files).toHaveLength(10);
  });
});

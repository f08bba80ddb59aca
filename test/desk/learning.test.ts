// Owns: what the operator teaches the assistant from the console: nothing is kept before it was read, what may be of a
// person is pointed out, and a text that is being kept reaches no visitor.
import { inEnglish } from '../../src/desk/english.ts';
import { describe, expect, test } from 'vitest';
import type { KnowledgeGap } from '../../src/protocol/assistant.ts';
import { sdkError } from '../../src/sdk/error.ts';
import { createModelFixture, type ModelFixture } from './model-fixture.ts';
import { buildConversation, buildMessage, mine, own } from './fake-staff.ts';
import { menuChoices } from '../../src/desk/menus.ts';
import { messageBlocks } from '../../src/cli/console/views/message-lines.ts';
import { textOf } from '../../src/cli/console/text/wrap.ts';

const item = buildConversation(1, mine());
const application = `/admin/applications/${item.application.id}`;
const gap = (question: string, patch: Partial<KnowledgeGap> = {}): KnowledgeGap => ({
  question,
  count: 1,
  entries: ['e1'],
  lastAskedAt: '2026-11-21T12:00:00.000Z',
  chosen: null,
  ...patch,
});

interface Taught extends ModelFixture {
  /** What was kept. */
  readonly kept: object[];
}

async function teaching(
  gaps: readonly KnowledgeGap[],
  role: 'admin' | 'operator' = 'admin',
  keep: (body: object) => void = () => undefined,
): Promise<Taught> {
  const kept: object[] = [];
  const answer = (body?: object): object => {
    keep(body ?? {});
    kept.push(body ?? {});
    return {};
  };
  const fixture = await createModelFixture([item], {
    role,
    prepare: (staff) => {
      staff.answers.set(`GET ${application}/gaps`, () => ({ gaps, total: gaps.length }));
      staff.answers.set(`POST ${application}/replies`, answer);
      staff.answers.set(`POST ${application}/questions`, answer);
      staff.messages.set(item.id, [
        buildMessage(item, 'Do you wrap\ngifts?'),
        buildMessage(item, 'We wrap any parcel.', own()),
        buildMessage(item, 'thanks'),
      ]);
    },
  });
  await fixture.press('2', 'enter');
  return Object.assign(fixture, { kept });
}

const text = ({ state }: ModelFixture): string => state().composer?.buffer.text ?? '';

describe('a reply', () => {
  test('is kept under the question before it, once it was read, and settles the gap of these words', async () => {
    const fixture = await teaching([gap('do you wrap gifts?', { entries: ['e1', 'e2'] })]);
    await fixture.press('K');
    expect(text(fixture)).toBe('Do you wrap gifts?\n\nWe wrap any parcel.');
    expect(fixture.kept).toEqual([]);
    await fixture.press(' For 3 euros.', 'enter');
    expect(fixture.kept).toEqual([
      {
        question: 'Do you wrap gifts?',
        reply: 'We wrap any parcel. For 3 euros.',
        settles: ['e1', 'e2'],
        reviewed: false,
      },
    ]);
    expect(fixture.flash()).toContain('Kept.');
    expect(text(fixture)).toBe('');
  });

  test('that is being kept is no message and no typing, and Escape gives the draft back', async () => {
    const fixture = await teaching([]);
    await fixture.press('r', 'half a draft', 'escape');
    fixture.staff.calls.length = 0;
    await fixture.press('K', ' more', 'ctrl+n', 'ctrl+g');
    expect(fixture.staff.calls.filter((call) => /^(typing on|POST)/.test(call))).toEqual([]);
    await fixture.press('enter');
    expect(fixture.kept).toHaveLength(1);
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
    expect(text(fixture)).toBe('half a draft');
    await fixture.press('escape', 'K', 'escape');
    expect(text(fixture)).toBe('half a draft');
    expect(fixture.kept).toHaveLength(1);
  });

  test('that may name a person is kept only when it is confirmed as it is', async () => {
    const fixture = await teaching([], 'admin', (body) => {
      if (!('reviewed' in body) || body.reviewed !== true)
        throw sdkError(
          'bad_request',
          'The field reply may name a person (Mary): remove that, or send reviewed: true.',
          400,
        );
    });
    await fixture.press('K', ' Dear Mary.', 'enter');
    expect(fixture.flash()).toContain('It may name a person: Mary.');
    expect(fixture.kept).toEqual([]);
    // Changed since: what is in it now was not pointed out yet.
    await fixture.press('!', 'enter');
    expect(fixture.kept).toEqual([]);
    await fixture.press('enter');
    expect(fixture.kept).toMatchObject([{ reviewed: true }]);
  });

  test('without an answer below the question is not kept', async () => {
    const fixture = await teaching([]);
    await fixture.press('K', 'ctrl+home', 'ctrl+k', 'ctrl+k', 'ctrl+k', 'enter');
    expect(fixture.kept).toEqual([]);
    expect(fixture.flash()).toContain('write the answer below it');
  });
});

describe('questions without an answer', () => {
  const wrapped = gap('Do you wrap?', { count: 7, chosen: { id: 'p1', title: 'Gifts' } });

  test('are listed with their number, and an answer is written to the chosen one', async () => {
    const fixture = await teaching([wrapped, gap('Do you ship to Mars?', { entries: ['e9'] })]);
    await fixture.press('Q');
    const { dialog } = fixture.state();
    expect(
      dialog?.kind === 'menu' && menuChoices(fixture.state(), dialog, fixture.keymap, inEnglish),
    ).toMatchObject([
      { label: 'Do you wrap?', detail: 'keep with: Gifts', note: '7×' },
      { label: 'Do you wrap?', detail: 'write an answer', note: '7×' },
      { label: 'Do you ship to Mars?', detail: 'write an answer', note: '1×' },
    ]);
    await fixture.press('mars', 'enter');
    expect(text(fixture)).toBe('Do you ship to Mars?\n\n');
    await fixture.press('Not yet.', 'enter');
    expect(fixture.kept).toEqual([
      { question: 'Do you ship to Mars?', reply: 'Not yet.', settles: ['e9'], reviewed: false },
    ]);
  });

  test('become a further heading of the title that visitors chose, after a yes', async () => {
    const fixture = await teaching([wrapped]);
    await fixture.press('Q', 'enter');
    expect(fixture.state().dialog).toMatchObject({
      kind: 'confirm',
      question: 'Keep “Do you wrap?” with “Gifts”?',
    });
    await fixture.press('n');
    expect(fixture.kept).toEqual([]);
    await fixture.press('Q', 'enter', 'y');
    expect(fixture.kept).toEqual([
      { passageId: 'p1', question: 'Do you wrap?', reviewed: false, settles: ['e1'] },
    ]);
  });

  test('that may name a person are asked about once more', async () => {
    const fixture = await teaching([wrapped], 'admin', (body) => {
      if (!('reviewed' in body) || body.reviewed !== true)
        throw sdkError('bad_request', 'The field question may name a person (Mary): remove that.', 400);
    });
    await fixture.press('Q', 'enter', 'y');
    expect(fixture.state().dialog).toMatchObject({
      question: 'It may name a person: Mary. Keep “Do you wrap?” with “Gifts”?',
    });
    await fixture.press('y');
    expect(fixture.kept).toMatchObject([{ reviewed: true }]);
  });

  test('are an admin’s: an operator is told so', async () => {
    const fixture = await teaching([wrapped], 'operator');
    for (const key of ['Q', 'K']) {
      await fixture.press(key);
      expect(fixture.flash()).toContain('Only an admin');
    }
    expect(fixture.staff.calls.join('\n')).not.toContain('/admin/');
  });
});

test('titles that were offered, and the one that was chosen, are marked', async () => {
  const fixture = await createModelFixture([item], {
    prepare: (staff) =>
      staff.messages.set(item.id, [
        buildMessage(item, 'Did you mean?', {
          senderRole: 'assistant',
          choices: [
            { id: 'p1', title: 'Gifts' },
            { id: 'p2', title: 'Parcels' },
          ],
        }),
        buildMessage(item, 'Gifts', { choice: 'p1' }),
      ]),
  });
  await fixture.press('2', 'enter');
  const blocks = messageBlocks(fixture.state(), 100, false);
  const lines = [0, 1]
    .flatMap((index) => blocks.linesAt(index))
    .map(textOf)
    .join('\n');
  expect(lines).toContain('Did you mean?  2 titles offered');
  expect(lines).toContain('Gifts  chose this title');
});

// Attacks a message's lines: too wide, unsafe, or silent about what the message is.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ShownMessage } from '../../../src/desk/desk-state.ts';
import { messageLines, type LineOptions } from '../../../src/cli/console/views/message-lines.ts';
import { textOf, widthOf } from '../../../src/cli/console/text/wrap.ts';
import { sdkError } from '../../../src/sdk/error.ts';
import { buildConversation, buildMessage, ann, me, own, start } from '../../desk/fake-staff.ts';

const conversation = buildConversation(1);
const options: LineOptions = {
  columns: 60,
  memberId: me,
  now: start,
  compact: false,
  unreadFrom: null,
  selected: null,
  seen: null,
  editing: null,
};
const texts = (message: ShownMessage, before?: ShownMessage, more: Partial<LineOptions> = {}): string[] =>
  messageLines(message, before, { ...options, ...more }).map((line) => textOf(line).trimEnd());
const at = (minutes: number): string => new Date(start + minutes * 60_000).toISOString();
const said = (content: string, patch: Partial<ShownMessage> = {}): ShownMessage => ({
  ...buildMessage(conversation, content),
  createdAt: at(0),
  ...patch,
});

describe('who, when and what', () => {
  test('the first of a day has its day line, its name and its hour', () => {
    const lines = texts(said('Hello'));
    expect(lines[0]).toMatch(/^─+ Today ─+$/);
    expect(lines[1]).toMatch(/^ │ Visitor 1 +\d\d:\d\d$/);
    expect(lines[2]).toBe(' │ Hello');
  });

  test('the next of the same person goes on without a name; after five minutes, or from another author, it is said again', () => {
    const first = said('one');
    expect(texts(said('two', { createdAt: at(4) }), first)).toEqual([' │ two']);
    expect(texts(said('two', { createdAt: at(6) }), first).join('\n')).toContain('Visitor 1');
    expect(
      texts({ ...buildMessage(conversation, 'two', own()), createdAt: at(1) }, first).join('\n'),
    ).toContain('You');
    expect(texts(said('two', { createdAt: at(-24 * 60 * 3) }), first)[1]).toMatch(/─ \w+day \d+ \w+ ─/);
  });

  test('a note never passes for a message, nor the other way round', () => {
    const note = texts(
      { ...buildMessage(conversation, 'secret', own({ internal: true })), createdAt: at(1) },
      said('x'),
    );
    expect(note.join('\n')).toContain('internal note');
    expect(note.at(-1)).toBe(' ┊ secret');
    // Behind a note of one's own an answer begins anew, with its own name.
    const answer = texts(
      { ...buildMessage(conversation, 'public', own()), createdAt: at(2) },
      { ...buildMessage(conversation, 'secret', own({ internal: true })), createdAt: at(1) },
    );
    expect(answer.join('\n')).toContain('You');
    expect(answer.join('\n')).not.toContain('internal');
  });

  test('a colleague and the assistant are told apart by words', () => {
    expect(texts(said('x', { senderRole: 'operator', senderId: ann, senderName: 'Ann' })).join('\n')).toMatch(
      /Ann +colleague/,
    );
    expect(texts(said('x', { senderRole: 'assistant', senderName: 'Helper' })).join('\n')).toMatch(
      /Helper +assistant/,
    );
  });

  test('what happened to it: edited, seen, on its way, refused, deleted, chosen', () => {
    const message = said('x', { editedAt: at(1) });
    expect(texts(message).at(-1)).toBe(' │ x  edited');
    const ours = { ...buildMessage(conversation, 'x', own()), createdAt: at(0) };
    expect(texts(ours, undefined, { seen: ours.id }).at(-1)).toContain('✓ seen');
    expect(texts(said('x', { state: 'sending' })).at(-1)).toContain('… sending');
    expect(
      texts(said('x', { state: 'failed', error: sdkError('forbidden', 'Not yours\u001b[2J.') })).at(-1),
    ).toContain('✗ not sent: Not yours␛[2J');
    expect(texts(said('gone text', { deleted: true, content: '' })).join('\n')).toMatch(
      /Visitor 1 deleted a message/,
    );
    expect(
      texts(message, undefined, { selected: message.key })
        .slice(1)
        .every((line) => line.startsWith(' ▌')),
    ).toBe(true);
    expect(texts(message, undefined, { unreadFrom: message.id })[1]).toMatch(/─ new ─/);
    expect(texts(message, undefined, { editing: message.id }).at(-1)).toContain('you are editing this');
    expect(texts(said('x', { via: 'email' })).at(-1)).toBe(' │ x  by e-mail');
    expect(texts(said('x', { emailed: { state: 'queued' } })).at(-1)).toContain('mail waits');
    expect(texts(said('x', { emailed: { state: 'sent' } })).at(-1)).toContain('mailed');
    expect(texts(said('x', { emailed: { state: 'bounced' } })).at(-1)).toContain('✗ the mail came back');
  });
});

describe('remembered lines', () => {
  test('are the same as long as nothing changed, and others as soon as something did', () => {
    const message = said('Hello');
    const lines = messageLines(message, undefined, options);
    expect(messageLines(message, undefined, { ...options })).toBe(lines);
    for (const change of [
      { columns: 40 },
      { selected: message.key },
      { seen: message.id },
      { now: start + 2 * 86_400_000 },
      { compact: true },
    ])
      expect(messageLines(message, undefined, { ...options, ...change })).not.toBe(lines);
    expect(messageLines(message, said('before'), options)).not.toBe(lines);
  });
});

describe('hostile and foreign text', () => {
  const nasty = fc
    .stringMatching(/^[\s\S]{0,80}$/)
    .map((text) => text + '\u001b]0;x\u0007\u009b31m\u202e家族👨‍👩‍👧‍👦שלום');
  test('no line is wider than the pane, and none holds a control character', () => {
    fc.assert(
      fc.property(
        nasty,
        nasty,
        fc.integer({ min: 12, max: 200 }),
        fc.boolean(),
        (name, text, columns, internal) => {
          const message = said(text, {
            senderName: name,
            ...(internal && { internal }),
            state: 'failed',
            error: sdkError('unknown', name),
          });
          for (const line of messageLines(message, undefined, { ...options, columns })) {
            expect(widthOf(line)).toBeLessThanOrEqual(columns);
            expect(textOf(line)).not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('five thousand marks on a letter take no more than a row', () => {
    expect(
      texts(said(`Z${'\u0301'.repeat(5_000)}`, { senderName: `N${'\u0301'.repeat(5_000)}` })),
    ).toHaveLength(3);
  });
});

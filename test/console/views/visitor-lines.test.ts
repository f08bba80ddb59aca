// Attacks the marks beside what a visitor says of themselves: only what was verified has one, and no text can draw it.
import { expect, test } from 'vitest';
import { initialState } from '../../../src/desk/desk-state.ts';
import { visitorLines } from '../../../src/cli/console/views/visitor-lines.ts';
import { textOf } from '../../../src/cli/console/text/wrap.ts';
import type { VerifiedField, Visitor } from '../../../src/protocol/entities.ts';
import { buildConversation, start } from '../../desk/fake-staff.ts';

function shown(patch: Partial<Visitor>, columns = 40): string[] {
  const plain = buildConversation(1);
  const item = { ...plain, visitor: { ...plain.visitor, ...patch } };
  const state = initialState(start);
  const lines = visitorLines(
    {
      ...state,
      queue: { ...state.queue, items: [item] },
      open: {
        id: item.id,
        room: null,
        detail: null,
        problem: null,
        unreadFrom: null,
        atEnd: true,
        selected: null,
        loadingOlder: false,
        earlier: null,
        loadingEarlier: false,
        unseen: 0,
        deletedMessages: [],
      },
    },
    columns,
  );
  return lines.map((line) => textOf(line).trimEnd());
}

const claims = { name: '✓ Ann', email: 'boss@acme.example', attributes: { plan: 'gold' } };

test('a claim has no mark, in whatever it is written', () => {
  const lines = shown(claims);
  expect(lines.slice(0, 3)).toEqual(['  ✓ Ann', '  boss@acme.example', 'identity not verified']);
  expect(lines).toContain('Attributes, not verified');
});

test('each field that was verified has its own', () => {
  const verifiedFields: VerifiedField[] = ['id', 'email'];
  const lines = shown({ ...claims, verified: true, verifiedFields });
  expect(lines.slice(0, 3)).toEqual(['  ✓ Ann', '✓ boss@acme.example', '✓ identity verified']);
  expect(lines).toContain('Attributes, not verified');
  const all = shown({ ...claims, verified: true, verifiedFields: ['id', 'name', 'email', 'attributes'] });
  expect(all.slice(0, 2)).toEqual(['✓ ✓ Ann', '✓ boss@acme.example']);
  expect(all).toContain('Attributes, verified');
});

test('a name that takes several lines is marked in the first alone', () => {
  const lines = shown({ name: 'Ann '.repeat(20), verified: true, verifiedFields: ['id', 'name'] }, 24);
  expect(lines.filter((line) => line.startsWith('✓ Ann'))).toHaveLength(1);
});

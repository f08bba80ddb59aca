// Results that are kept must be those that the function would give now, and must not fill memory.
import { expect, it } from 'vitest';
import { keepResults } from '../../src/net/keep-results.ts';

function counted() {
  let calls = 0;
  const kept = keepResults((text) => {
    calls += 1;
    return text === 'nothing' ? null : `${text}!`;
  });
  return { kept, calls: () => calls };
}

it('works a text out once, also one without a result', () => {
  const { kept, calls } = counted();
  expect(['a', 'a', 'b', 'nothing', 'nothing', 'a'].map(kept)).toEqual(['a!', 'a!', 'b!', null, null, 'a!']);
  expect(calls()).toBe(3);
});

it('answers rightly after a flood of other texts, which is forgotten', () => {
  const { kept, calls } = counted();
  kept('a');
  for (let at = 0; at < 1_000; at += 1) kept(`other ${at}`);
  const before = calls();
  expect(kept('a')).toBe('a!');
  expect(calls()).toBe(before + 1);
});

it('keeps no long text', () => {
  const { kept, calls } = counted();
  const long = 'x'.repeat(301);
  expect([kept(long), kept(long)]).toEqual([`${long}!`, `${long}!`]);
  expect(calls()).toBe(2);
});

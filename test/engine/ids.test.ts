// Ids are UUIDs of version 7 (RFC 9562, 5.7): their time is the clock's, the rest is chance.
import { expect, it } from 'vitest';
import { createIdSource } from '../../src/engine/clock.ts';
import { uuid } from '../../src/protocol/entities.ts';

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it('have the form of version 7, which the contract takes, and never repeat', () => {
  const newId = createIdSource(() => 1_795_262_400_123.9);
  const ids = Array.from({ length: 200_000 }, newId);
  expect(ids.every((id) => shape.test(id))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  expect(uuid.safeParse(ids[0]).success).toBe(true);
});

it('begin with the time in ms, so that they sort by it', () => {
  let now = 0;
  const newId = createIdSource(() => now);
  const times = [
    0,
    1,
    255,
    4096,
    Date.UTC(2026, 10, 21),
    Date.UTC(2038, 0, 19, 3, 14, 8),
    Date.UTC(9999, 11, 31),
  ];
  const ids = times.map((time) => {
    now = time;
    return newId();
  });
  expect(ids.map((id) => Number.parseInt(id.slice(0, 13).replace('-', ''), 16))).toEqual(times);
  expect(ids.toSorted()).toEqual(ids);
});

it('keep the order in which they were made, within one ms and when the clock stands still', () => {
  let now = 1_795_262_400_000;
  const newId = createIdSource(() => now);
  const ids = Array.from({ length: 20_000 }, newId);
  expect(ids.toSorted()).toEqual(ids);
  // A clock that was set back is followed.
  now -= 3_600_000;
  expect(Number.parseInt(newId().slice(0, 13).replace('-', ''), 16)).toBe(now);
});

it('begin at a random place in every ms', () => {
  let now = 0;
  const newId = createIdSource(() => now++);
  expect(new Set(Array.from({ length: 2_000 }, () => newId().slice(15, 18))).size).toBeGreaterThan(1_000);
});

it('use all their random bits', () => {
  const newId = createIdSource(() => 0);
  const digits = Array.from({ length: 2_000 }, () => newId().replaceAll('-', ''));
  for (let place = 16; place < 32; place += 1) {
    const seen = new Set(digits.map((text) => text.charAt(place)));
    expect(seen.size, `place ${place}`).toBe(place === 16 ? 4 : 16);
  }
});

// Seats: as many as there are and no more, all or none of what is asked for, and each given back once.
import { expect, it } from 'vitest';
import { createMemorySeats } from '../../src/engine/memory/seats.ts';

const release = (seat: (() => void) | { full: number }): void => {
  if (typeof seat === 'function') seat();
};

it('has no more places under a key than there are, however many ask at once', async () => {
  const seats = createMemorySeats();
  const asked = await Promise.all(Array.from({ length: 5 }, () => seats.take([{ key: 'a', most: 3 }])));
  expect(asked.filter((seat) => typeof seat === 'function')).toHaveLength(3);
  expect(asked.filter((seat) => typeof seat !== 'function')).toEqual([{ full: 0 }, { full: 0 }]);
});

it('takes a place under every key or under none, and says which is full', async () => {
  const seats = createMemorySeats();
  const only = await seats.take([{ key: 'b', most: 1 }]);
  const both = [
    { key: 'a', most: 1 },
    { key: 'b', most: 1 },
  ];
  expect(await seats.take(both)).toEqual({ full: 1 });
  expect(await seats.take([{ key: 'a', most: 1 }])).toBeTypeOf('function');
  release(only);
  expect(await seats.take(both)).toEqual({ full: 0 });
});

it('frees a place once, however often it is given back', async () => {
  const seats = createMemorySeats();
  const first = await seats.take([{ key: 'a', most: 2 }]);
  await seats.take([{ key: 'a', most: 2 }]);
  release(first);
  release(first);
  expect(await seats.take([{ key: 'a', most: 2 }])).toBeTypeOf('function');
  expect(await seats.take([{ key: 'a', most: 2 }])).toEqual({ full: 0 });
});

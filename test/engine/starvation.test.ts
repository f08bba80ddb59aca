// When a process of the idle class gets too little: judged by what it has done over a stretch of a time moved by hand.
import { expect, it } from 'vitest';
import { StarvationWatch, type Phase } from '../../src/engine/sqlite/starvation.ts';

const MiB = 1_048_576;

/** Looks four times a second at a process that does the same in each second; returns the second in which it is starving, or null. */
function starvesAfter(
  seconds: number,
  phaseAt: (second: number) => Phase,
  done: (second: number) => { readonly moved: number; readonly cpuMs: number },
): number | null {
  const watch = new StarvationWatch();
  let moved = 0;
  let cpuMs = 0;
  for (let quarter = 0; quarter <= seconds * 4; quarter += 1) {
    if (watch.isStarving(quarter * 250, phaseAt(quarter / 4), { moved, cpuMs })) return quarter / 4;
    const next = done(quarter / 4);
    moved += next.moved / 4;
    cpuMs += next.cpuMs / 4;
  }
  return null;
}

const starting = (): Phase => 'starting';
const copying = (): Phase => 'copying';
const copied = (): Phase => 'copied';

it('lets a copy go on that moves enough, whatever it takes of the processor', () => {
  expect(starvesAfter(600, copying, () => ({ moved: 32 * MiB, cpuMs: 0 }))).toBeNull();
});

it('ends a copy that moves less over two seconds, also one that computes all the time', () => {
  expect(starvesAfter(600, copying, () => ({ moved: 31 * MiB, cpuMs: 0 }))).toBe(2);
  expect(starvesAfter(600, copying, () => ({ moved: 31 * MiB, cpuMs: 1_000 }))).toBe(2);
});

it('ends a copy that moved enough at first, and not any more', () => {
  const slower = (second: number) => ({ moved: second < 60 ? 500 * MiB : MiB, cpuMs: 1 });
  expect(starvesAfter(600, copying, slower)).toBe(62);
});

it('lets the rest take long: as long as it moves some, or computes some', () => {
  expect(starvesAfter(600, copied, () => ({ moved: 8 * MiB, cpuMs: 0 }))).toBeNull();
  expect(starvesAfter(600, copied, () => ({ moved: 0, cpuMs: 50 }))).toBeNull();
});

it('ends the rest after a minute of neither', () => {
  expect(starvesAfter(600, copied, () => ({ moved: 7 * MiB, cpuMs: 40 }))).toBe(60);
});

it('ends a start after ten seconds of neither', () => {
  expect(starvesAfter(600, starting, () => ({ moved: 7 * MiB, cpuMs: 40 }))).toBe(10);
  expect(starvesAfter(600, starting, () => ({ moved: 0, cpuMs: 50 }))).toBeNull();
  expect(starvesAfter(600, starting, () => ({ moved: 8 * MiB, cpuMs: 0 }))).toBeNull();
});

it('begins a stretch anew where the copy begins, and where it ends', () => {
  const slow = () => ({ moved: MiB, cpuMs: 1 });
  expect(starvesAfter(600, (second) => (second < 9 ? 'starting' : 'copying'), slow)).toBe(11);
  expect(starvesAfter(600, (second) => (second < 1.5 ? 'copying' : 'copied'), slow)).toBe(61.5);
});

it('takes a pause of both processes for no starvation, and looks anew behind it', () => {
  const watch = new StarvationWatch();
  const progress = { moved: 100 * MiB, cpuMs: 100 };
  for (const now of [0, 250, 60_000, 60_250, 61_750])
    expect(watch.isStarving(now, 'copying', progress)).toBe(false);
  expect(watch.isStarving(62_000, 'copying', progress)).toBe(true);
});

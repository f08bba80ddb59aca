// Presence: an organization's first and last connection are told, no other; and for how long each member has been
// away, by a clock that never jumps.
import { expect, it } from 'vitest';
import { createPresence } from '../../src/engine/memory/presence.ts';

it('tells of the first connection that comes and the last that goes, per organization', async () => {
  const presence = createPresence(() => 0);
  const heard: [string, boolean][] = [];
  const stop = presence.subscribe((organization, online) => heard.push([organization, online]));
  presence.join('a', 'ann', '1');
  presence.join('a', 'bob', '2');
  presence.join('a', 'bob', '2');
  presence.join('b', 'cy', '1');
  expect(await Promise.all(['a', 'b', 'c'].map((organization) => presence.online(organization)))).toEqual([
    true,
    true,
    false,
  ]);
  presence.leave('a', 'bob', '2');
  presence.leave('a', 'bob', '2');
  presence.leave('a', 'ann', 'no connection of hers');
  presence.leave('c', 'stranger', '1');
  expect(heard).toEqual([
    ['a', true],
    ['b', true],
  ]);
  presence.leave('a', 'ann', '1');
  presence.leave('a', 'ann', '1');
  expect(heard).toEqual([
    ['a', true],
    ['b', true],
    ['a', false],
  ]);
  expect(await presence.online('a')).toBe(false);
  presence.join('a', 'ann', '1');
  stop();
  presence.leave('a', 'ann', '1');
  expect(heard).toEqual([
    ['a', true],
    ['b', true],
    ['a', false],
    ['a', true],
  ]);
});

it('shows the new state to the listener that is told of it', async () => {
  const presence = createPresence(() => 0);
  const seen: Promise<boolean>[] = [];
  presence.subscribe((organization) => seen.push(presence.online(organization)));
  presence.join('a', 'ann', '1');
  presence.leave('a', 'ann', '1');
  expect(await Promise.all(seen)).toEqual([true, false]);
});

it('knows for how long a member is away: since the last connection, or since the start for one never seen', async () => {
  let now = 100;
  const presence = createPresence(() => now);
  now = 200;
  expect(await presence.awayMs('ann')).toBe(100);
  presence.join('a', 'ann', '1');
  presence.join('a', 'ann', '2');
  presence.join('a', 'bob', '3');
  expect(await presence.memberCount()).toBe(2);
  now = 300;
  presence.leave('a', 'ann', '1');
  expect(await presence.awayMs('ann')).toBeNull();
  now = 400;
  presence.leave('a', 'ann', '2');
  now = 450;
  expect(await Promise.all(['ann', 'bob', 'never seen'].map((member) => presence.awayMs(member)))).toEqual([
    50,
    null,
    350,
  ]);
  expect(await presence.present(['ann', 'bob', 'never seen'])).toEqual(new Set(['bob']));
  now = 500;
  presence.leave('a', 'ann', '2');
  expect(await presence.awayMs('ann')).toBe(100);
  presence.join('a', 'ann', '4');
  expect(await presence.awayMs('ann')).toBeNull();
  expect(await presence.memberCount()).toBe(2);
});

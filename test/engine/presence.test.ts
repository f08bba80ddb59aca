// Who of an organization is there: the first to come and the last to go are told, nobody else;
// and since when each member is away, by a clock that never jumps.
import { expect, it } from 'vitest';
import { createPresence } from '../../src/engine/memory/presence.ts';

it('tells of the first connection that comes and the last that goes, per organization', () => {
  const presence = createPresence(() => 0);
  const heard: [string, boolean][] = [];
  const stop = presence.subscribe((organization, online) => heard.push([organization, online]));
  presence.join('a', 'ann', '1');
  presence.join('a', 'bob', '2');
  presence.join('a', 'bob', '2');
  presence.join('b', 'cy', '1');
  expect([presence.online('a'), presence.online('b'), presence.online('c')]).toEqual([true, true, false]);
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
  expect(presence.online('a')).toBe(false);
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

it('shows the new state to whoever is told of it', () => {
  const presence = createPresence(() => 0);
  const seen: boolean[] = [];
  presence.subscribe((organization) => seen.push(presence.online(organization)));
  presence.join('a', 'ann', '1');
  presence.leave('a', 'ann', '1');
  expect(seen).toEqual([true, false]);
});

it('knows since when a member is away: from the last connection, or from the start for one never seen', () => {
  let now = 100;
  const presence = createPresence(() => now);
  now = 200;
  expect(presence.awaySince('ann')).toBe(100);
  presence.join('a', 'ann', '1');
  presence.join('a', 'ann', '2');
  presence.join('a', 'bob', '3');
  expect(presence.memberCount()).toBe(2);
  now = 300;
  presence.leave('a', 'ann', '1');
  expect(presence.awaySince('ann')).toBeNull();
  now = 400;
  presence.leave('a', 'ann', '2');
  expect([presence.awaySince('ann'), presence.awaySince('bob'), presence.awaySince('never seen')]).toEqual([
    400,
    null,
    100,
  ]);
  now = 500;
  presence.leave('a', 'ann', '2');
  expect(presence.awaySince('ann')).toBe(400);
  presence.join('a', 'ann', '4');
  expect(presence.awaySince('ann')).toBeNull();
  expect(presence.memberCount()).toBe(2);
});

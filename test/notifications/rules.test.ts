// The rules of being told as a table: who is told of what, by which ways. A row fails when its rule is broken.
import { describe, expect, it } from 'vitest';
import { defaultNotifications } from '../../src/services/notifications/preferences.ts';
import { isQuiet } from '../../src/services/notifications/quiet-hours.ts';
import {
  whoIsEscalatedTo,
  whoIsTold,
  type Happening,
  type Person,
} from '../../src/services/notifications/rules.ts';
import { findMentions, fittingNames, mentionQuery } from '../../src/text/mentions.ts';

const all = { push: true, email: true, bell: true };
const person = (memberId: string, change: Partial<Person> = {}): Person => ({
  memberId,
  enabled: true,
  settings: { events: { new: all, assigned: all, reply: all, mention: all, due: all } },
  quiet: false,
  connected: false,
  watching: new Set(),
  ...change,
});
const happening = (event: Happening['event'], change: Partial<Happening> = {}): Happening => ({
  event,
  conversationId: 'c',
  actorId: 'visitor',
  assigneeId: event === 'assigned' || event === 'reply' ? 'ann' : null,
  mentioned: new Set(event === 'mention' ? ['ann'] : []),
  ...change,
});

/** As `ann:push,email bob:bell`. */
const said = (told: ReturnType<typeof whoIsTold>): string =>
  told.map(({ memberId, ways }) => `${memberId}:${ways.join(',')}`).join(' ');

describe('who is told', () => {
  const rows: [string, Happening, Person[], string][] = [
    [
      'a new conversation: all',
      happening('new'),
      [person('ann'), person('bob')],
      'ann:push,email bob:push,email',
    ],
    [
      'a new one that a member has by now: none',
      happening('new', { assigneeId: 'ann' }),
      [person('ann'), person('bob')],
      '',
    ],
    [
      'one put back: all but who did it',
      happening('new', { actorId: 'ann' }),
      [person('ann'), person('bob')],
      'bob:push,email',
    ],
    ['assigned: the one who got it', happening('assigned'), [person('ann'), person('bob')], 'ann:push,email'],
    ['taken by oneself: none', happening('assigned', { actorId: 'ann' }), [person('ann'), person('bob')], ''],
    ['a reply: whose it is', happening('reply'), [person('ann'), person('bob')], 'ann:push,email'],
    ['a reply where no member has it: none', happening('reply', { assigneeId: null }), [person('ann')], ''],
    [
      'a snooze that is over: whose it is',
      happening('due', { assigneeId: 'ann' }),
      [person('ann'), person('bob')],
      'ann:push,email',
    ],
    [
      'a snooze that is over where no member has it: all',
      happening('due'),
      [person('ann'), person('bob')],
      'ann:push,email bob:push,email',
    ],
    ['a mention: who is named', happening('mention'), [person('ann'), person('bob')], 'ann:push,email'],
    ['a mention of oneself: none', happening('mention', { actorId: 'ann' }), [person('ann')], ''],
    ['the disabled: nothing', happening('mention'), [person('ann', { enabled: false })], ''],
    ['quiet hours: nothing', happening('reply'), [person('ann', { quiet: true, connected: true })], ''],
    [
      'what a member looks at: nothing',
      happening('reply'),
      [person('ann', { connected: true, watching: new Set(['c']) })],
      '',
    ],
    [
      'what a member looks at elsewhere',
      happening('reply'),
      [person('ann', { connected: true, watching: new Set(['d']) })],
      'ann:push,bell',
    ],
    [
      'the connected: no mail, a bell',
      happening('new'),
      [person('ann', { connected: true })],
      'ann:push,bell',
    ],
    [
      'nothing chosen: nothing',
      happening('new'),
      [
        person('ann', {
          settings: {
            events: { ...person('x').settings.events, new: { push: false, email: false, bell: false } },
          },
        }),
      ],
      '',
    ],
    [
      'by default no mail for a new one',
      happening('new'),
      [person('ann', { settings: defaultNotifications })],
      'ann:push',
    ],
    [
      'by default a mail for a reply',
      happening('reply'),
      [person('ann', { settings: defaultNotifications })],
      'ann:push,email',
    ],
  ];
  it.each(rows)('%s', (_name, what, people, expected) => {
    expect(said(whoIsTold(what, people))).toBe(expected);
  });
});

describe('who is told that no member accepts', () => {
  const here = person('ann', { connected: true });
  const away = person('bob');
  const rows: [string, string, Person[], string][] = [
    ['the available: who is connected', 'available', [here, away], 'ann:push,email,bell'],
    ['all', 'all', [here, away], 'ann:push,email,bell bob:push,email'],
    ['one member', 'bob', [here, away], 'bob:push,email'],
    ['all, in quiet hours: not those', 'all', [here, { ...away, quiet: true }], 'ann:push,email,bell'],
    ['one member, in quiet hours: all the same', 'bob', [here, { ...away, quiet: true }], 'bob:push,email'],
    ['the disabled: never', 'bob', [{ ...away, enabled: false }], ''],
    ['who looks at it: no', 'all', [{ ...here, watching: new Set(['c']) }], ''],
  ];
  it.each(rows)('%s', (_name, to, people, expected) => {
    const step = { afterMinutes: 5, to, ways: ['push', 'email', 'bell'] as const };
    expect(said(whoIsEscalatedTo({ ...step, ways: [...step.ways] }, { conversationId: 'c' }, people))).toBe(
      expected,
    );
  });
});

describe('quiet hours', () => {
  const berlin = { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' };
  it.each([
    ['in the evening', '2026-11-20T21:30:00Z', true],
    ['before the evening', '2026-11-20T20:59:59.999Z', false],
    ['on the stroke', '2026-11-20T21:00:00Z', true],
    ['after midnight', '2026-11-21T02:00:00Z', true],
    ['until the morning', '2026-11-21T05:59:59Z', true],
    ['no longer', '2026-11-21T06:00:00Z', false],
    // 29 March 2026: 02:00 becomes 03:00; the morning comes an hour earlier in UTC.
    ['the night of the jump forward, before', '2026-03-29T00:30:00Z', true],
    ['the night of the jump forward, morning', '2026-03-29T05:00:00Z', false],
    ['the night of the jump forward, still', '2026-03-29T04:59:00Z', true],
    // 25 October 2026: 03:00 becomes 02:00.
    ['the night of the jump back, still', '2026-10-25T05:59:00Z', true],
    ['the night of the jump back, morning', '2026-10-25T06:00:00Z', false],
  ])('%s', (_name, at, quiet) => {
    expect(isQuiet(berlin, Date.parse(at))).toBe(quiet);
  });
  it('may lie within a day, and may not be', () => {
    const noon = { from: '12:00', to: '13:00', timezone: 'UTC' };
    expect(isQuiet(noon, Date.parse('2026-11-21T12:30:00Z'))).toBe(true);
    expect(isQuiet(noon, Date.parse('2026-11-21T13:00:00Z'))).toBe(false);
    expect(isQuiet(null, Date.parse('2026-11-21T12:30:00Z'))).toBe(false);
  });
});

describe('a mention', () => {
  const people = [
    { id: 'ann', name: 'Ann' },
    { id: 'anna', name: 'Anna Berg' },
    { id: 'bob1', name: 'Bob Stone' },
    { id: 'bob2', name: 'Bob Wood' },
    { id: 'zoe', name: 'Zoë Žák' },
    { id: 'li', name: '李 雷' },
  ];
  it.each<[string, string[]]>([
    ['@Ann please', ['ann']],
    ['hello @anna berg, see', ['anna']],
    ['@Anna: look', ['anna']],
    ['@annabel is no one', []],
    ['mail ann@ann.example', []],
    ['@Bob is two people', []],
    ['@Bob Stone and @bob wood.', ['bob1', 'bob2']],
    ['(@zoë) and @李 雷', ['zoe', 'li']],
    // Decomposed, as some keyboards write it.
    ['@Zoë Žák', ['zoe']],
    ['@@ann', ['ann']],
    ['no one', []],
  ])('%s', (text, ids) => {
    expect([...findMentions(text, people)].toSorted()).toEqual(ids.toSorted());
  });

  it('is offered while it is typed', () => {
    expect(mentionQuery('hello @an')).toEqual({ start: 6, typed: 'an' });
    expect(mentionQuery('@')).toEqual({ start: 0, typed: '' });
    expect(mentionQuery('a@b')).toBeNull();
    expect(mentionQuery('@ ann')).toBeNull();
    expect(mentionQuery('@ann\nnext')).toBeNull();
    expect(fittingNames('be', people).map(({ id }) => id)).toEqual(['anna']);
    expect(fittingNames('an', people).map(({ id }) => id)).toEqual(['ann', 'anna']);
  });
});

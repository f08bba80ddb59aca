// Who may receive which event: every kind of event against every kind of listener, the expected answers
// written out. The transports have no rule of their own, so this table is the whole of it.
import { describe, expect, test } from 'vitest';
import type { Mode } from '../../src/protocol/entities.ts';
import type { MemberActor, VisitorActor } from '../../src/services/core/actor.ts';
import {
  canReceive,
  conversationAudience,
  messageAudience,
  type DeliverableEvent,
  type Listener,
  type LoggedEvent,
  type Subscription,
} from '../../src/services/core/audience.ts';
import { memberActor } from '../helpers/actors.ts';

const acme = 'organization-acme';
const otherTenant = 'organization-other';
const conversationId = 'conversation-1';
const otherConversationId = 'conversation-2';

const visitor: VisitorActor = {
  kind: 'visitor',
  organizationId: acme,
  applicationId: 'application-acme',
  visitorId: 'visitor-1',
  mode: 'live',
  via: 'origin',
  origin: 'https://acme.example',
};
const testVisitor: VisitorActor = { ...visitor, mode: 'test' };
const otherVisitor: VisitorActor = { ...visitor, visitorId: 'visitor-2' };
const foreignVisitor: VisitorActor = {
  ...visitor,
  organizationId: otherTenant,
  applicationId: 'application-other',
};

const operator = memberActor(acme, 'operator-1', { sessionId: 'session-1' });
const colleague: MemberActor = { ...operator, memberId: 'operator-2', sessionId: 'session-2' };
const admin: MemberActor = { ...operator, memberId: 'admin-1', role: 'admin', sessionId: 'session-3' };
const foreignOperator: MemberActor = { ...colleague, organizationId: otherTenant };
const foreignAdmin: MemberActor = { ...admin, organizationId: otherTenant };

const webhook = { kind: 'webhook', organizationId: acme } as const;
const foreignWebhook = { kind: 'webhook', organizationId: otherTenant } as const;
const commandLine = { kind: 'local' } as const;

const room = (echo = false, connectionId = 'another-connection', id = conversationId): Subscription => ({
  kind: 'room',
  conversationId: id,
  connectionId,
  echo,
});
const outside = (...modes: Mode[]): Subscription => ({ kind: 'organization', modes, changes: false });
const changes: Subscription = { kind: 'organization', modes: ['live', 'test'], changes: true };
const hook = (...types: string[]): Subscription => ({
  kind: 'webhook',
  types: types.length === 0 ? null : new Set(types),
});
const log = (organizationId: string | null): Subscription => ({ kind: 'log', organizationId });

/** The connection from which everything in this table was sent. */
const sending = 'sending-connection';

/** Every kind of listener, in the order of the table's columns. */
const listeners: readonly (readonly [string, Listener, Subscription])[] = [
  // 1: visitors
  ['the visitor in the room', visitor, room()],
  ['the visitor in the room, with echo', visitor, room(true)],
  ['the visitor in the room, by the sending connection', visitor, room(false, sending)],
  ['the visitor in the room, by the sending connection with echo', visitor, room(true, sending)],
  ['the visitor in the test world, in the room', testVisitor, room()],
  [
    'the visitor in a room of another conversation',
    visitor,
    room(true, 'another-connection', otherConversationId),
  ],
  ['the visitor outside any room', visitor, outside('live')],
  [
    'another visitor in a room of another conversation',
    otherVisitor,
    room(true, 'another-connection', otherConversationId),
  ],
  ["another tenant's visitor in the room", foreignVisitor, room(true)],
  ["another tenant's visitor outside any room", foreignVisitor, outside('live')],
  // 2: staff in a room
  ['the operator in the room', operator, room()],
  ['the operator in the room, with echo', operator, room(true)],
  ['the operator in the room, by the sending connection', operator, room(false, sending)],
  ['the operator in the room, by the sending connection with echo', operator, room(true, sending)],
  ['a colleague in the room', colleague, room()],
  ['an admin in the room', admin, room()],
  [
    'the operator in a room of another conversation',
    operator,
    room(true, 'another-connection', otherConversationId),
  ],
  ["another tenant's operator in the room", foreignOperator, room(true)],
  ["another tenant's admin in the room", foreignAdmin, room(true)],
  // 3: staff outside rooms
  ['the operator outside the room', operator, outside('live')],
  ['the operator outside the room, mode=test', operator, outside('test')],
  ['the operator outside the room, mode=all, changes=1', operator, changes],
  ['an admin outside the room', admin, outside('live')],
  ["another tenant's operator outside the room, mode=all, changes=1", foreignOperator, changes],
  // 4: webhooks and the command line
  ['a webhook', webhook, hook()],
  ['a webhook for message:new and conversation:new', webhook, hook('message:new', 'conversation:new')],
  ["another tenant's webhook", foreignWebhook, hook()],
  ['tail', commandLine, log(null)],
  ['tail --org', commandLine, log(acme)],
  ['tail --org of another tenant', commandLine, log(otherTenant)],
  // 5: a subscription that is not the listener's to have
  ['a visitor with the subscription of a webhook', visitor, hook()],
  ['a visitor with the subscription of tail', visitor, log(null)],
  ['a webhook with the subscription of a room', webhook, room(true)],
  ['a webhook with the subscription of staff', webhook, changes],
];

function logged(
  type: LoggedEvent['type'],
  audience: LoggedEvent['audience'],
  actor: VisitorActor | MemberActor,
  mode: Mode,
): LoggedEvent {
  return {
    type,
    audience,
    mode,
    organization_id: acme,
    conversation_id: conversationId,
    actor_id: actor.kind === 'visitor' ? actor.visitorId : actor.memberId,
    originConnectionId: sending,
  };
}

const inRoom = messageAudience({ internal: 0 });
const note = messageAudience({ internal: 1 });

/** Every kind of event in one mode, in the order of the table's rows. */
function eventsIn(mode: Mode): readonly (readonly [string, DeliverableEvent])[] {
  return [
    ['message:new of the visitor', logged('message:new', inRoom, visitor, mode)],
    ['message:new of the operator', logged('message:new', inRoom, operator, mode)],
    ['message:new, a note of the operator', logged('message:new', note, operator, mode)],
    ['message:edited of the visitor', logged('message:edited', inRoom, visitor, mode)],
    ['message:edited, a note', logged('message:edited', note, operator, mode)],
    ['message:deleted of the visitor', logged('message:deleted', inRoom, visitor, mode)],
    ['message:deleted, a note', logged('message:deleted', note, operator, mode)],
    ['conversation:new', logged('conversation:new', conversationAudience['conversation:new'], visitor, mode)],
    [
      'conversation:accepted',
      logged('conversation:accepted', conversationAudience['conversation:accepted'], operator, mode),
    ],
    [
      'conversation:released',
      logged('conversation:released', conversationAudience['conversation:released'], operator, mode),
    ],
    [
      'conversation:resolved',
      logged('conversation:resolved', conversationAudience['conversation:resolved'], operator, mode),
    ],
    ['conversation:read by the visitor', logged('conversation:read', inRoom, visitor, mode)],
    ['conversation:read by the operator, up to a note', logged('conversation:read', note, operator, mode)],
    ['conversation:activity', { type: 'conversation:activity', organization_id: acme, mode }],
    ['conversation:outdated', { type: 'conversation:outdated', organization_id: acme, mode }],
  ];
}

const signals: readonly (readonly [string, DeliverableEvent])[] = [
  [
    'typing:start of the visitor',
    {
      type: 'typing:start',
      organization_id: acme,
      conversation_id: conversationId,
      actor_id: visitor.visitorId,
    },
  ],
  [
    'typing:start of the operator',
    {
      type: 'typing:start',
      organization_id: acme,
      conversation_id: conversationId,
      actor_id: operator.memberId,
    },
  ],
  [
    'typing:stop of the visitor',
    {
      type: 'typing:stop',
      organization_id: acme,
      conversation_id: conversationId,
      actor_id: visitor.visitorId,
    },
  ],
  [
    'typing:stop of the operator',
    {
      type: 'typing:stop',
      organization_id: acme,
      conversation_id: conversationId,
      actor_id: operator.memberId,
    },
  ],
  ['presence', { type: 'presence', organization_id: acme }],
  ['tag:changed', { type: 'tag:changed', organization_id: acme }],
  [
    'notification:new of the operator',
    { type: 'notification:new', organization_id: acme, member_id: operator.memberId },
  ],
  [
    'notification:cleared of the operator',
    { type: 'notification:cleared', organization_id: acme, member_id: operator.memberId },
  ],
];

/**
 * The answers: a row per event, a group of columns per group of listeners above, `+` where the listener receives
 * the event. Signals (the last rows) belong to no mode: a room has one, which joining it has checked.
 */
const expected = `
live  message:new of the visitor                      | .+........ | ++++++... | ..... | ++.++. | ....
live  message:new of the operator                     | ++++...... | .+..++... | ..... | ++.++. | ....
live  message:new, a note of the operator             | .......... | .+..++... | ..... | ...++. | ....
live  message:edited of the visitor                   | ++++...... | ++++++... | ..... | +..++. | ....
live  message:edited, a note                          | .......... | ++++++... | ..... | ...++. | ....
live  message:deleted of the visitor                  | ++++...... | ++++++... | ..... | +..++. | ....
live  message:deleted, a note                         | .......... | ++++++... | ..... | ...++. | ....
live  conversation:new                                | .......... | ......... | +.++. | ++.++. | ....
live  conversation:accepted                           | ++++...... | ++++++... | +.++. | +..++. | ....
live  conversation:released                           | ++++...... | ++++++... | +.++. | +..++. | ....
live  conversation:resolved                           | ++++...... | ++++++... | +.++. | +..++. | ....
live  conversation:read by the visitor                | ++++...... | ++++++... | ..... | +..++. | ....
live  conversation:read by the operator, up to a note | .......... | ++++++... | ..... | ...++. | ....
live  conversation:activity                           | .......... | ......... | +.++. | ...... | ....
live  conversation:outdated                           | .......... | ......... | ..+.. | ...... | ....
test  message:new of the visitor                      | .......... | ++++++... | ..... | ...++. | ....
test  message:new of the operator                     | ....+..... | .+..++... | ..... | ...++. | ....
test  message:new, a note of the operator             | .......... | .+..++... | ..... | ...++. | ....
test  message:edited of the visitor                   | ....+..... | ++++++... | ..... | ...++. | ....
test  message:edited, a note                          | .......... | ++++++... | ..... | ...++. | ....
test  message:deleted of the visitor                  | ....+..... | ++++++... | ..... | ...++. | ....
test  message:deleted, a note                         | .......... | ++++++... | ..... | ...++. | ....
test  conversation:new                                | .......... | ......... | .++.. | ...++. | ....
test  conversation:accepted                           | ....+..... | ++++++... | .++.. | ...++. | ....
test  conversation:released                           | ....+..... | ++++++... | .++.. | ...++. | ....
test  conversation:resolved                           | ....+..... | ++++++... | .++.. | ...++. | ....
test  conversation:read by the visitor                | ....+..... | ++++++... | ..... | ...++. | ....
test  conversation:read by the operator, up to a note | .......... | ++++++... | ..... | ...++. | ....
test  conversation:activity                           | .......... | ......... | .++.. | ...... | ....
test  conversation:outdated                           | .......... | ......... | ..+.. | ...... | ....
      typing:start of the visitor                     | .......... | ++++++... | ..... | ...... | ....
      typing:start of the operator                    | +++++..... | ....++... | ..... | ...... | ....
      typing:stop of the visitor                      | .......... | ++++++... | ..... | ...... | ....
      typing:stop of the operator                     | +++++..... | ....++... | ..... | ...... | ....
      presence                                        | ......+... | ......... | ..... | ...... | ....
      tag:changed                                     | .......... | ......... | ..+.. | ...... | ....
      notification:new of the operator                | .......... | ......... | +++.. | ...... | ....
      notification:cleared of the operator            | .......... | ......... | +++.. | ...... | ....
`;

const events: readonly (readonly [string, string, DeliverableEvent])[] = [
  ...eventsIn('live').map(([name, event]) => ['live', name, event] as const),
  ...eventsIn('test').map(([name, event]) => ['test', name, event] as const),
  ...signals.map(([name, event]) => ['', name, event] as const),
];
const rows = expected.trim().split('\n');

describe('who may receive which event', () => {
  test('the table has a row for every event and a column for every listener', () => {
    expect(rows.map((row) => row.trimStart().split('|')[0]?.trim())).toEqual(
      events.map(([mode, name]) => `${mode.padEnd(5)} ${name}`.trim()),
    );
    for (const row of rows)
      expect(row.replace(/^[^|]*/, '').replaceAll(/[^+.]/g, '')).toHaveLength(listeners.length);
  });

  test.each(
    events.map(([mode, name, event], index) => [`${mode} ${name}`.trim(), event, rows[index] ?? ''] as const),
  )('%s', (_name, event, row) => {
    const answers = row
      .replace(/^[^|]*/, '')
      .replaceAll(/[^+.]/g, '')
      .split('');
    const expectedNames = listeners
      .filter((_listener, index) => answers[index] === '+')
      .map(([name]) => name);
    const actualNames = listeners
      .filter(([, listener, subscription]) => canReceive(event, listener, subscription))
      .map(([name]) => name);
    expect(actualNames).toEqual(expectedNames);
  });
});

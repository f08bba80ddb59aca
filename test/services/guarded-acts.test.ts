// Every act on a conversation is one update that matches only the state on which it was decided. Here the state
// changes between reading and acting, as it can with several writers: the act must change nothing and answer 409
// with the state as it is now. Must not depend on which engine stores the rows.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { releaseFirst } from '../../src/services/chat/auto-release.ts';
import {
  acceptConversation,
  releaseConversation,
  resolveConversation,
  transferConversation,
} from '../../src/services/chat/conversations.ts';
import { prepareMessage, sendMessage } from '../../src/services/chat/messages.ts';
import type { MemberActor, VisitorActor } from '../../src/services/core/actor.ts';
import type { Call, Tx } from '../../src/services/service.ts';
import { memberActor } from '../helpers/actors.ts';
import { replacing } from '../helpers/replacing.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let operator: MemberActor;
let colleague: MemberActor;
let admin: MemberActor;

async function member(role: 'operator' | 'admin'): Promise<MemberActor> {
  const { id } = await createMember(app, 'acme', role, 'Olivia');
  return memberActor(acme.id, id, { role });
}

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  operator = await member('operator');
  colleague = await member('operator');
  admin = await member('admin');
});

afterAll(() => app.stop());

const callOf = <A extends MemberActor | VisitorActor>(actor: A): Call<A> => ({
  service: app.service,
  actor,
  address: null,
  contentLimit: sizeLimits.contentRest,
});

type Conversations = Tx['repositories']['conversations'];
type Competitor = (conversations: Conversations, id: string) => Promise<unknown>;

/** A transaction in which someone else acts right after the conversation has been read for the first time. */
function withCompetitor(tx: Tx, competitor: Competitor): Tx {
  const { conversations } = tx.repositories;
  let acted = false;
  const byId: Conversations['byId'] = async (id) => {
    const row = await conversations.byId(id);
    if (!acted) {
      acted = true;
      await competitor(conversations, id);
    }
    return row;
  };
  return {
    repositories: replacing(tx.repositories, 'conversations', { ...conversations, byId }),
    emit: (event) => tx.emit(event),
    configurationChanged: (organizationId) => tx.configurationChanged(organizationId),
    configurationEpoch: () => tx.configurationEpoch(),
  };
}

/** A conversation in a state; its id. */
async function conversationIn(status: 'pending' | 'active'): Promise<string> {
  const conversationId = await createConversation(createVisitor(app, acme.application));
  if (status === 'active') await write((tx) => acceptConversation(tx, callOf(operator), { conversationId }));
  return conversationId;
}

const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => app.service.engine.store.write('server', work);
const now = (): number => app.clock.now();

const competitors = {
  'a colleague accepts it': (conversations, id) => conversations.accept(id, colleague.memberId, now()),
  'it is released': (conversations, id) => conversations.release(id, operator.memberId, now()),
  'it is transferred': (conversations, id) =>
    conversations.transfer(id, operator.memberId, colleague.memberId, now()),
  'it is resolved': async (conversations, id) => {
    const row = await conversations.byId(id);
    return row && conversations.resolve(row, admin.memberId, now());
  },
} satisfies Record<string, Competitor>;

type Act = (tx: Tx, conversationId: string) => Promise<unknown>;
const acts = {
  accept: (tx, conversationId) => acceptConversation(tx, callOf(operator), { conversationId }),
  release: (tx, conversationId) => releaseConversation(tx, callOf(operator), { conversationId }),
  resolve: (tx, conversationId) => resolveConversation(tx, callOf(operator), { conversationId }),
  'resolve by an admin': (tx, conversationId) => resolveConversation(tx, callOf(admin), { conversationId }),
  transfer: (tx, conversationId) =>
    transferConversation(tx, callOf(operator), { conversationId, memberId: admin.memberId }),
} satisfies Record<string, Act>;

interface Race {
  readonly act: keyof typeof acts;
  readonly from: 'pending' | 'active';
  readonly competitor: keyof typeof competitors;
  readonly end: { readonly status: string; readonly assignedTo: 'none' | 'the operator' | 'the colleague' };
}

const pending = { status: 'pending', assignedTo: 'none' } as const;
const moved = { status: 'active', assignedTo: 'the colleague' } as const;
const closed = { status: 'closed', assignedTo: 'the operator' } as const;
const neverAccepted = { status: 'closed', assignedTo: 'none' } as const;

const races: readonly Race[] = [
  { act: 'accept', from: 'pending', competitor: 'a colleague accepts it', end: moved },
  { act: 'accept', from: 'pending', competitor: 'it is resolved', end: neverAccepted },
  { act: 'release', from: 'active', competitor: 'it is released', end: pending },
  { act: 'release', from: 'active', competitor: 'it is transferred', end: moved },
  { act: 'release', from: 'active', competitor: 'it is resolved', end: closed },
  { act: 'resolve', from: 'active', competitor: 'it is released', end: pending },
  { act: 'resolve', from: 'active', competitor: 'it is transferred', end: moved },
  { act: 'resolve', from: 'active', competitor: 'it is resolved', end: closed },
  { act: 'resolve by an admin', from: 'pending', competitor: 'a colleague accepts it', end: moved },
  { act: 'resolve by an admin', from: 'pending', competitor: 'it is resolved', end: neverAccepted },
  { act: 'transfer', from: 'active', competitor: 'it is released', end: pending },
  { act: 'transfer', from: 'active', competitor: 'it is transferred', end: moved },
  { act: 'transfer', from: 'active', competitor: 'it is resolved', end: closed },
];

describe('an act on a conversation that has just changed', () => {
  test.each(races)('$act, while $competitor ($from)', async ({ act, from, competitor, end }) => {
    const conversationId = await conversationIn(from);
    const assignees = {
      none: null,
      'the operator': operator.memberId,
      'the colleague': colleague.memberId,
    };
    const state = { status: end.status, assignedTo: assignees[end.assignedTo] };
    const outcome = await write(async (tx) => {
      const eventsBefore = await tx.repositories.events.lastSeq();
      const error: unknown = await acts[act](
        withCompetitor(tx, competitors[competitor]),
        conversationId,
      ).catch((reason: unknown) => reason);
      return {
        error,
        row: await tx.repositories.conversations.byId(conversationId),
        events: (await tx.repositories.events.lastSeq()) - eventsBefore,
      };
    });
    expect(outcome.error).toMatchObject({ name: 'ServiceError', code: 'conflict', context: { state } });
    expect(outcome.row).toMatchObject({ status: state.status, assigned_to: state.assignedTo });
    expect(outcome.events).toBe(0);
  });

  test('names the status, where the act does not start from it', async () => {
    const active = await conversationIn('active');
    await expect(write((tx) => acts.accept(tx, active))).rejects.toThrow(
      "is active, so it can't be accepted",
    );
    const waiting = await conversationIn('pending');
    await expect(write((tx) => acts['transfer'](tx, waiting))).rejects.toThrow('is pending');
  });

  test.each([
    ['it is released', pending],
    ['it is transferred', moved],
    ['it is resolved', closed],
  ] as const)('an automatic release leaves it alone, while %s', async (competitor, end) => {
    const conversationId = await conversationIn('active');
    const assigned = await write((tx) =>
      tx.repositories.conversations.assignedTo(acme.id, operator.memberId, 1_000),
    );
    const outcome = await write(async (tx) => {
      const eventsBefore = await tx.repositories.events.lastSeq();
      for (const id of assigned.filter((one) => one !== conversationId))
        await tx.repositories.conversations.release(id, operator.memberId, now());
      await releaseFirst(withCompetitor(tx, competitors[competitor]), app.service, {
        organizationId: acme.id,
        memberId: operator.memberId,
      });
      return {
        row: await tx.repositories.conversations.byId(conversationId),
        events: (await tx.repositories.events.lastSeq()) - eventsBefore,
      };
    });
    expect(outcome.row?.status).toBe(end.status);
    expect(outcome.row?.assigned_to === colleague.memberId).toBe(end === moved);
    expect(outcome.events).toBe(0);
  });
});

describe('the place of a message', () => {
  test('is given by the database: one that was decided on an older state does not take it twice', async () => {
    const visitor = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor);
    const actor: VisitorActor = {
      kind: 'visitor',
      organizationId: acme.id,
      applicationId: acme.application.id,
      visitorId: visitor.id,
      mode: 'live',
      via: 'origin',
      origin: acme.application.origin,
    };
    const call = callOf(actor);
    const send = async (tx: Tx, content: string) =>
      sendMessage(tx, call, { conversationId }, prepareMessage(call, { content, contentFormat: 'plain' }));
    await write((tx) =>
      send(
        withCompetitor(tx, () => send(tx, 'between')),
        'late',
      ),
    );
    const { body } = await visitor.call('GET', `/conversations/${conversationId}/messages`);
    expect(body.messages.map(({ content }: { content: string }) => content)).toEqual(['between', 'late']);
    const row = await app.service.engine.store.read(async (tx) =>
      tx.repositories.conversations.byId(conversationId),
    );
    expect(row?.last_seq).toBe(2);
  });
});

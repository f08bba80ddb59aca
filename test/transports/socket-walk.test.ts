// A seeded random walk: two visitors and two operators do anything in any order, over a
// small model; after each step every listener has heard what the model says, and no more.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it, expect } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket } from '../helpers/client.ts';
import { runs } from '../helpers/rounds.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const people = ['v0', 'v1', 'o0', 'o1'] as const;
type Name = (typeof people)[number];

interface Step {
  readonly who: Name;
  readonly transport: 'REST' | 'socket';
  readonly act:
    | 'send'
    | 'note'
    | 'edit'
    | 'delete'
    | 'join'
    | 'leave'
    | 'accept'
    | 'release'
    | 'resolve'
    | 'transfer';
  readonly conversation: 0 | 1;
  readonly pick: number;
}

const steps = fc.array(
  fc.record({
    who: fc.constantFrom(...people),
    transport: fc.constantFrom('REST', 'socket'),
    act: fc.constantFrom(
      'send',
      'send',
      'send',
      'note',
      'edit',
      'delete',
      'join',
      'join',
      'leave',
      'accept',
      'accept',
      'release',
      'resolve',
      'transfer',
    ),
    conversation: fc.constantFrom(0, 1),
    pick: fc.nat(20),
  }) as fc.Arbitrary<Step>,
  { minLength: 30, maxLength: 60 },
);

interface Message {
  readonly id: string;
  readonly sender: Name;
  readonly note: boolean;
  content: string;
  deleted: boolean;
}

/** What the service should hold of one conversation; conversation n belongs to visitor n. */
interface Model {
  readonly id: string;
  status: 'pending' | 'active' | 'closed';
  assignedTo: Name | null;
  readonly messages: Message[];
  readonly room: Set<Name>;
}

let app: TestApp;
let acme: TestOrganization;
let operators: [TestClient, TestClient];

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: 1_000_000 } });
  operators = [
    await createMember(app, 'acme', 'operator', 'o0'),
    await createMember(app, 'acme', 'operator', 'o1'),
  ];
});

afterAll(async () => {
  await app.stop();
});

const staff = (name: Name): boolean => name.startsWith('o');

class Walk {
  readonly persons: Record<Name, TestClient>;
  readonly sockets = {} as Record<Name, TestSocket>;
  readonly models: Model[] = [];
  #count = 0;

  constructor() {
    this.persons = {
      v0: createVisitor(app, acme.application),
      v1: createVisitor(app, acme.application),
      o0: operators[0],
      o1: operators[1],
    };
  }

  async begin(): Promise<void> {
    for (const name of ['v0', 'v1'] as const) {
      this.models.push({
        id: await createConversation(this.persons[name]),
        status: 'pending',
        assignedTo: null,
        messages: [],
        room: new Set(),
      });
    }
    for (const name of people) this.sockets[name] = await this.persons[name].connect();
    await this.heard();
  }

  async end(): Promise<void> {
    for (const socket of Object.values(this.sockets)) await socket.close();
  }

  /** What each has heard since the last look: types with what they are about. */
  async heard(): Promise<Record<Name, string[]>> {
    const result = {} as Record<Name, string[]>;
    for (const name of people) {
      await this.sockets[name].drain();
      result[name] = this.sockets[name].frames.splice(0).flatMap(({ type, payload }) => {
        // Notifications come behind the log, when they are due: they have tests of their own.
        if (type === 'pong' || type === 'presence' || type.startsWith('notification:')) return [];
        if (type === 'error') return [`error ${payload.code as string}`];
        return [
          `${type} ${String(payload.id ?? payload.messageId ?? payload.serverMessageId ?? payload.lastMessageId ?? payload.conversationId)}`,
        ];
      });
    }
    return result;
  }

  /** Does one step, moves the model along, and answers what each must have heard of it. */
  async take({ who, transport, act, conversation, pick }: Step): Promise<Record<Name, string[]>> {
    const model = this.models[conversation] as Model;
    const socket = this.sockets[who];
    const expected: Record<Name, string[]> = { v0: [], v1: [], o0: [], o1: [] };
    const may = staff(who) || who === `v${conversation}`;
    const tell = (names: Iterable<Name>, text: string): void => {
      for (const name of names) expected[name].push(text);
    };
    const told = (text: string, note = false, except?: Name): void =>
      tell(
        [...model.room].filter((name) => name !== except && (staff(name) || !note)),
        text,
      );
    const base = `/conversations/${model.id}`;
    const visible = model.messages.filter((one) => !one.deleted && (staff(who) || !one.note));
    this.#count += 1;
    const content = `word ${this.#count}`;

    switch (act) {
      case 'join': {
        socket.send('room:join', { conversationId: model.id });
        if (may) model.room.add(who);
        tell([who], may ? `room:joined ${visible.at(-1)?.id ?? model.id}` : 'error FORBIDDEN');
        break;
      }
      case 'leave': {
        socket.send('room:leave', { conversationId: model.id });
        model.room.delete(who);
        break;
      }
      case 'send':
      case 'note': {
        // A visitor's note is an ordinary message: the field is unknown to their transport.
        const note = act === 'note' && staff(who);
        const open = model.status !== 'closed';
        const allowed = may && open && (!staff(who) || note || model.assignedTo === who);
        const fields = { content, clientMessageId: content, ...(act === 'note' ? { internal: true } : {}) };
        let id: string | undefined;
        if (transport === 'REST') {
          const reply = await this.persons[who].call('POST', `${base}/messages`, fields);
          assert.equal(reply.status, allowed ? 201 : !may ? 404 : open ? 403 : 422);
          id = reply.body.message?.id;
        } else {
          socket.send('message:send', { conversationId: model.id, ...fields });
          await socket.drain();
          id = socket.frames.find(({ type }) => type === 'message:ack')?.payload.serverMessageId;
        }
        if (allowed && id !== undefined) {
          model.messages.push({ id, sender: who, note, content, deleted: false });
          told(`message:new ${id}`, note, who);
          tell(['o0', 'o1'], `conversation:activity ${id}`);
        }
        if (transport === 'socket') tell([who], allowed ? `message:ack ${String(id)}` : 'error FORBIDDEN');
        break;
      }
      case 'edit':
      case 'delete': {
        const message = model.messages[pick % Math.max(1, model.messages.length)];
        if (message === undefined) break;
        const there = visible.includes(message);
        const allowed = may && there && message.sender === who;
        if (transport === 'REST') {
          const reply = await this.persons[who].call(
            act === 'edit' ? 'PATCH' : 'DELETE',
            `${base}/messages/${message.id}`,
            act === 'edit' ? { content } : undefined,
          );
          assert.equal(reply.status, allowed ? 200 : may && there ? 403 : 404);
        } else {
          socket.send(`message:${act}`, {
            conversationId: model.id,
            messageId: message.id,
            ...(act === 'edit' ? { content } : {}),
          });
          if (!allowed) tell([who], `error ${may && !there ? 'MESSAGE_NOT_FOUND' : 'FORBIDDEN'}`);
        }
        if (!allowed) break;
        if (act === 'edit') message.content = content;
        else message.deleted = true;
        told(`message:${act === 'edit' ? 'edited' : 'deleted'} ${message.id}`, message.note);
        break;
      }
      case 'accept':
      case 'release':
      case 'resolve':
      case 'transfer': {
        if (!staff(who)) break;
        const other: Name = who === 'o0' ? 'o1' : 'o0';
        const fits = {
          accept: model.status === 'pending',
          release: model.status === 'active',
          resolve: model.status !== 'closed',
          transfer: model.status === 'active',
        }[act];
        const mine = act === 'accept' || model.assignedTo === who;
        const reply = await this.persons[who].call(
          'POST',
          `${base}/${act}`,
          act === 'transfer' ? { memberId: this.persons[other].id } : undefined,
        );
        assert.deepEqual([act, reply.status], [act, fits ? (mine ? 200 : 403) : 409]);
        if (!fits)
          assert.deepEqual(
            [reply.body.status, reply.body.assignedTo],
            [model.status, model.assignedTo === null ? null : this.persons[model.assignedTo].id],
          );
        if (!fits || !mine) break;
        const both = new Set<Name>(['o0', 'o1', ...model.room]);
        if (act === 'accept' || act === 'transfer') model.assignedTo = act === 'accept' ? who : other;
        if (act === 'release') model.assignedTo = null;
        model.status = act === 'release' ? 'pending' : act === 'resolve' ? 'closed' : 'active';
        if (act === 'transfer' || act === 'release') tell(both, `conversation:released ${model.id}`);
        if (act === 'accept' || act === 'transfer') tell(both, `conversation:accepted ${model.id}`);
        if (act === 'resolve') tell(both, `conversation:resolved ${model.id}`);
        break;
      }
    }
    return expected;
  }

  /** A fresh look by REST says the same as the model. */
  async compare(): Promise<void> {
    for (const [index, model] of this.models.entries()) {
      for (const name of [`v${index}` as Name, 'o0' as Name]) {
        const person = this.persons[name];
        const { body } = await person.call('GET', `/conversations/${model.id}/messages?limit=100`);
        const wanted = model.messages
          .filter((one) => !one.deleted && (staff(name) || !one.note))
          .map(({ id, content }) => ({ id, content }));
        assert.deepEqual(
          (body.messages as { id: string; content: string }[]).map(({ id, content }) => ({ id, content })),
          wanted,
        );
        const seen = (await person.call('GET', `/conversations/${model.id}`)).body.conversation;
        assert.deepEqual(
          [seen.status, seen.assignedTo ?? null],
          [model.status, model.assignedTo === null ? null : this.persons[model.assignedTo].id],
        );
      }
    }
  }
}

describe('a random walk', () => {
  it('is heard by everybody as the model says, and by no one else', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (walked) => {
        const walk = new Walk();
        await walk.begin();
        try {
          for (const [index, step] of walked.entries()) {
            app.clock.advance(20);
            const expected = await walk.take(step);
            const heard = await walk.heard();
            // The sender's own answer and the events of others reach one connection in no promised order.
            for (const name of people)
              expect({ index, step, name, heard: heard[name].toSorted() }).toEqual({
                index,
                step,
                name,
                heard: expected[name].toSorted(),
              });
            await walk.compare();
          }
        } finally {
          await walk.end();
        }
      }),
      { ...runs(3, 30), endOnFailure: true },
    );
  });
});

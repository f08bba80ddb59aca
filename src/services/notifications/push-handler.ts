// Sends the pushes of the outbox: encrypts each for its browser, signs it, and keeps what came of it with the browser.
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { z } from 'zod';
import type {
  ConversationWithVisitor,
  EffectRow,
  MemberRow,
  MessageWithSender,
  OrganizationRow,
  PushDeviceRow,
} from '../../engine/rows.ts';
import { encryptPush } from '../../net/push-encryption.ts';
import type { PushResponse, PushUrgency, SendPush } from '../../net/push-client.ts';
import { notificationEvents } from '../../protocol/enums.ts';
import { hasDemandedFactor } from '../auth/second-factor-demand.ts';
import type { EffectHandler, EffectOutcome } from '../outbox/effects.ts';
import type { ReadTx, Service } from '../service.ts';
import { openPushTarget } from './devices.ts';
import { asPerson } from './happenings.ts';
import { mayReceive, noticeFor, type Notice } from './notice.ts';
import { countNoticePush } from './notice-limits.ts';
import { readNotifications } from './preferences.ts';
import { signPush } from './push-keys.ts';
import { whoIsTold } from './rules.ts';

/** Attempts at once of one organization. */
const maxConcurrent = 8;
/** So many are encrypted before others get their turn: each takes a quarter of a millisecond. */
const encryptionsPerTurn = 20;
/** That a push service takes pushes is noted so often. */
const sentIntervalMs = 60_000;

/** What a row of a push or a mail to a member says besides its columns. */
export const noticePayload = z.object({
  event: z.enum([...notificationEvents, 'waiting']),
  device: z.string().optional(),
  /** Who caused it. */
  actor: z.string().optional(),
  /** Of `waiting`: after so many minutes, and whether the step names this member. */
  minutes: z.int().optional(),
  named: z.boolean().optional(),
});
export type NoticePayload = z.infer<typeof noticePayload>;

/** What a push carries: the service worker shows it as it is. */
export interface PushMessage extends Notice {
  readonly conversationId: string | null;
  /** The short name of the organization: the page that is opened belongs to it. */
  readonly organization: string;
}

/** Sends the pushes that are due. */
export function createPushHandler(service: Service, send: SendPush): EffectHandler {
  return {
    kind: 'push',
    maxConcurrent,
    perform: async (row, signal) => {
      const payload = noticePayload.parse(JSON.parse(row.payload));
      const found = await service.engine.store.read((tx) => readPush(tx, service, row, payload));
      if ('state' in found) return found;
      const { device, message, urgency } = found;
      const beyond = await countNoticePush(service, row, device.member_id);
      if (beyond !== null) return beyond;
      return toOutcome(
        service,
        row,
        device,
        await sendToDevice(service, send, { device, message, urgency, signal }),
      );
    },
  };
}

export interface DevicePush {
  readonly device: PushDeviceRow;
  readonly message: PushMessage;
  readonly urgency: PushUrgency;
  readonly signal: AbortSignal;
}

/** Encrypts, signs and sends one push. Never throws for what a push service or a browser has done. */
export async function sendToDevice(
  service: Service,
  send: SendPush,
  { device, message, urgency, signal }: DevicePush,
): Promise<PushResponse> {
  const target = openPushTarget(service, device);
  const authorization = await signPush(service, device.key_id, target.endpoint);
  if (authorization === null)
    return {
      outcome: 'gone',
      status: null,
      error: 'the key that the browser was given is not there any more: subscribe again',
      retryAfterMs: null,
    };
  await encryptionTurn(service);
  return send(
    {
      endpoint: target.endpoint,
      body: encryptPush(JSON.stringify(message), target.keys),
      authorization,
      topic: (message.conversationId ?? 'test').replaceAll('-', ''),
      urgency,
    },
    signal,
  );
}

interface Turn {
  left: number;
  next: Promise<void> | null;
}

const turns = new WeakMap<Service['engine'], Turn>();

/** Waits for the next turn of the loop where this one has had its encryptions. */
async function encryptionTurn({ engine }: Service): Promise<void> {
  const turn = turns.get(engine) ?? { left: encryptionsPerTurn, next: null };
  turns.set(engine, turn);
  while (turn.left === 0)
    await (turn.next ??= yieldToLoop().then(() => {
      turn.left = encryptionsPerTurn;
      turn.next = null;
    }));
  turn.left -= 1;
}

interface FoundPush {
  readonly device: PushDeviceRow;
  readonly message: PushMessage;
  readonly urgency: PushUrgency;
}

const skip = (why: string): EffectOutcome => ({ state: 'skipped', why });

/** What there is to be sent, by the rows and rights as they are now. */
async function readPush(
  tx: ReadTx,
  service: Service,
  row: EffectRow,
  payload: NoticePayload,
): Promise<FoundPush | EffectOutcome> {
  const device = await tx.repositories.pushDevices.byId(payload.device ?? '');
  if (device === undefined || device.member_id !== row.member_id)
    return skip('the browser is sent no pushes any more');
  const told = await readNotice(tx, service, row, payload, 'push');
  if ('state' in told) return told;
  const session = await tx.repositories.members.sessionById(device.session_id);
  const holds =
    session !== undefined &&
    session.expires_at > service.engine.clock.now() &&
    hasDemandedFactor(session, told.organization, told.member);
  if (!holds) return skip('the member is not signed in there any more');
  const notice = noticeFor(told.subject, {
    shows: readNotifications(told.member).preview,
    locale: device.locale,
  });
  return {
    device,
    urgency: payload.event === 'new' ? 'normal' : 'high',
    message: {
      ...notice,
      conversationId: told.subject.conversation.id,
      organization: told.organization.slug,
    },
  };
}

export interface FoundNotice {
  readonly member: MemberRow;
  readonly organization: OrganizationRow;
  readonly subject: Parameters<typeof noticeFor>[0];
}

/** Whether a member is still to be told, and of what: the rules once more, at the moment of sending. */
export async function readNotice(
  tx: ReadTx,
  service: Service,
  row: EffectRow,
  payload: NoticePayload,
  way: 'push' | 'email',
): Promise<FoundNotice | EffectOutcome> {
  const { conversations, members, messages, organizations, participants } = tx.repositories;
  const member = row.member_id === null ? undefined : await members.byId(row.member_id);
  const organization = await organizations.byId(row.organization_id);
  const conversation =
    row.conversation_id === null ? undefined : await conversations.byId(row.conversation_id);
  if (member === undefined || organization === undefined || conversation === undefined)
    return skip('what it was about is not there any more');
  const message = row.message_id === null ? null : ((await messages.byId(row.message_id)) ?? null);
  if (row.message_id !== null && (message === null || message.deleted_at !== null))
    return skip('the message was deleted');
  if (message !== null) {
    const read = await participants.get(conversation.id, member.id);
    if ((read?.last_read_seq ?? 0) >= message.seq) return skip('the member has read it');
  }
  const problem = stillTold(service, { member, conversation, message, payload, way });
  if (problem !== null) return skip(problem);
  const by = payload.actor === undefined ? undefined : await members.byId(payload.actor);
  return {
    member,
    organization,
    subject: {
      event: payload.event,
      conversation,
      message,
      by: by?.name ?? null,
      minutes: payload.minutes ?? 0,
    },
  };
}

interface Telling {
  readonly member: MemberRow;
  readonly conversation: ConversationWithVisitor;
  readonly message: MessageWithSender | null;
  readonly payload: NoticePayload;
  readonly way: 'push' | 'email';
}

/** Why a member is not to be told any more; null: they are. */
function stillTold(
  service: Service,
  { member, conversation, message, payload: { event, actor, named }, way }: Telling,
): string | null {
  if (member.disabled_at !== null) return 'the member is disabled';
  if (!mayReceive(member, { conversation, message })) return 'the member may not see it';
  // Whether anything is connected keeps back e-mails alone, and is asked where they are sent.
  const person = asPerson(service, member, false);
  if (person.watching.has(conversation.id)) return 'the member has it before their eyes';
  if (event === 'waiting') {
    if (conversation.status !== 'pending') return 'the conversation does not wait any more';
    return person.quiet && named !== true ? 'it is in quiet hours' : null;
  }
  if (person.quiet) return 'it is in quiet hours';
  const told = whoIsTold(
    {
      event,
      conversationId: conversation.id,
      actorId: actor ?? '',
      assigneeId: conversation.assigned_to,
      // Who was named when it was written: names change.
      mentioned: new Set([member.id]),
    },
    [person],
  );
  return told[0]?.ways.includes(way) === true ? null : 'it concerns the member no more';
}

async function toOutcome(
  { engine: { clock } }: Service,
  row: EffectRow,
  device: PushDeviceRow,
  { outcome, error, retryAfterMs }: PushResponse,
): Promise<EffectOutcome> {
  const scope = { organization: device.organization_id, part: `member:${device.member_id}` } as const;
  const why = error ?? 'the push service refused it';
  const now = clock.now();
  switch (outcome) {
    case 'sent': {
      const isNoted = device.problem === null && (device.last_sent_at ?? 0) > now - sentIntervalMs;
      if (isNoted) return { state: 'delivered' };
      return {
        state: 'delivered',
        also: {
          scope,
          work: async ({ repositories }) => void (await repositories.pushDevices.setSent(device.id, now)),
        },
      };
    }
    case 'gone':
      return {
        state: 'failed',
        why,
        also: {
          scope,
          work: async ({ repositories }) => void (await repositories.pushDevices.remove(device.id)),
        },
      };
    case 'refused':
      return {
        state: 'failed',
        why,
        also: {
          scope,
          work: async ({ repositories }) => void (await repositories.pushDevices.setProblem(device.id, why)),
        },
      };
    case 'failed': {
      // As long as the push service asks, but not beyond the time for which a push is worth sending.
      const at = now + (retryAfterMs ?? 0);
      return retryAfterMs !== null && at < row.created_at + 3_600_000
        ? { state: 'later', at, why }
        : { state: 'retry', why };
    }
  }
}

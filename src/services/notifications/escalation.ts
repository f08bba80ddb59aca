// What is done when no member accepts a conversation: each step is a row that is due at its time, and becomes a push or a
// mail for each browser and member in the transaction that ends it, so that it happens once.
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { escalationStep, type EscalationStep } from '../../protocol/notifications.ts';
import type {
  ConversationWithVisitor,
  EffectRow,
  EventRow,
  MemberRow,
  OrganizationRow,
} from '../../engine/rows.ts';
import { mailRoute } from '../mail/mail-server.ts';
import { addEffect, type EffectHandler, type EffectOutcome, type NewEffect } from '../outbox/effects.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { openState } from '../tenants/business-hours.ts';
import { readSettings } from '../tenants/settings.ts';
import { sendBell } from './bell.ts';
import { readEscalation, stepFor } from './escalation-steps.ts';
import { asPerson, type FoundHappening } from './happenings.ts';
import { whoIsEscalatedTo, type Told } from './rules.ts';

const minuteMs = 60_000;
const retryForMs = 3_600_000;
/** Older events are not planned any more: the log is read again from a while back after a restart. */
const newsMs = 3_600_000;
const maxRows = 1_000;

const stepPayload = z.object({ series: z.int(), step: escalationStep, member: z.string().optional() });

/**
 * The steps for a conversation that waits from this event on. Minutes count from then, or from the opening where it came
 * outside business hours.
 */
export async function planEscalation(
  tx: ReadTx,
  organization: OrganizationRow,
  event: EventRow,
  { conversation }: FoundHappening,
  now: number,
): Promise<NewEffect[]> {
  const steps = readEscalation(organization);
  if (steps.length === 0 || event.created_at < now - newsMs) return [];
  const opening = await nextOpening(tx, conversation, event.created_at);
  const from = opening ?? event.created_at;
  return steps.map((step, index) => ({
    kind: 'escalation',
    key: `escalation:${event.seq}:${index}`,
    about: 'escalation',
    organizationId: organization.id,
    conversationId: conversation.id,
    recipient: step.to,
    payload: { series: event.seq, step },
    dueAt: from + step.afterMinutes * minuteMs,
    retryForMs,
  }));
}

/** When the application opens next; null: it is open, or never opens. */
async function nextOpening(
  tx: ReadTx,
  conversation: ConversationWithVisitor,
  now: number,
): Promise<number | null> {
  const application = await tx.repositories.applications.byId(conversation.application_id);
  if (application === undefined) return null;
  const { businessHours, timezone } = readSettings(application).behavior;
  const { nextOpenAt } = openState(businessHours, timezone, now);
  return nextOpenAt === null ? null : Date.parse(nextOpenAt);
}

/** Takes the steps that are due. */
export function createEscalationHandler(service: Service): EffectHandler {
  return { kind: 'escalation', maxConcurrent: 4, perform: (row) => performStep(service, row) };
}

async function performStep(service: Service, row: EffectRow): Promise<EffectOutcome> {
  const { series, step: planned, member: memberId } = stepPayload.parse(JSON.parse(row.payload));
  const { store, presence, clock } = service.engine;
  const found = await store.read((tx) => readStep(tx, row, series, planned, clock.now()));
  if ('state' in found) return found;
  const { step } = found;
  const meant = found.members.filter(({ id }) => memberId === undefined || id === memberId);
  const present = await presence.present(meant.map(({ id }) => id));
  const people = meant.map((member) => asPerson(service, member, present.has(member.id)));
  const told = whoIsEscalatedTo(step, { conversationId: found.conversation.id }, people);
  if (told.length === 0) return { state: 'skipped', why: 'there is no member to be told' };
  const byId = new Map(found.members.map((member) => [member.id, member]));
  for (const { memberId: id, ways } of told) {
    const member = byId.get(id);
    if (memberId === undefined && member !== undefined && ways.includes('bell'))
      sendBell(service, member, {
        event: 'waiting',
        conversationId: found.conversation.id,
        messageId: null,
        name: null,
        minutes: step.afterMinutes,
      });
  }
  const scope = { organization: row.organization_id };
  if (memberId !== undefined)
    return {
      state: 'delivered',
      also: { scope, work: (tx) => addNotices(tx, service, { row, step, told, byId }) },
    };
  // A row for each member first: what one transaction stores stays small.
  return {
    state: 'delivered',
    also: {
      scope,
      work: async (tx) => {
        for (const one of told)
          await addEffect(tx, service, {
            kind: 'escalation',
            key: `${row.key}:${one.memberId}`,
            about: 'escalation',
            organizationId: row.organization_id,
            conversationId: found.conversation.id,
            memberId: one.memberId,
            recipient: byId.get(one.memberId)?.email,
            payload: { series, step: planned, member: one.memberId },
            retryForMs,
          });
      },
    },
  };
}

interface FoundStep {
  /** As it is taken. */
  readonly step: EscalationStep;
  readonly conversation: ConversationWithVisitor;
  readonly members: readonly MemberRow[];
}

async function readStep(
  tx: ReadTx,
  row: EffectRow,
  series: number,
  planned: EscalationStep,
  now: number,
): Promise<FoundStep | EffectOutcome> {
  const { conversations, effects, members, organizations } = tx.repositories;
  const conversation =
    row.conversation_id === null ? undefined : await conversations.byId(row.conversation_id);
  const organization = await organizations.byId(row.organization_id);
  if (conversation === undefined || organization === undefined)
    return { state: 'skipped', why: 'the conversation is not there any more' };
  if (conversation.status !== 'pending')
    return { state: 'skipped', why: 'the conversation does not wait any more' };
  if (conversation.snoozed_until !== null) return { state: 'skipped', why: 'the conversation is snoozed' };
  // It was accepted and put back since: its minutes count from then, in a series of its own.
  const keys = await effects.keysOf('escalation', conversation.id, maxRows);
  if (keys.some((key) => Number(key.split(':', 2)[1]) > series))
    return { state: 'skipped', why: 'the conversation was accepted in between' };
  const all = await members.byOrganization(row.organization_id);
  const step = stepFor(planned, all);
  // A member whom it named when it was planned may be gone by now: then the list names all in their place.
  const isListed = readEscalation(organization).some(
    (one) => isDeepStrictEqual(one, planned) || isDeepStrictEqual(one, step),
  );
  if (!isListed) return { state: 'skipped', why: 'the organization has changed its steps' };
  const opening = await nextOpening(tx, conversation, now);
  if (opening !== null) return { state: 'later', at: opening, why: 'it is outside business hours' };
  return { step, conversation, members: all };
}

interface Notices {
  readonly row: EffectRow;
  readonly step: EscalationStep;
  readonly told: readonly Told[];
  readonly byId: ReadonlyMap<string, MemberRow>;
}

async function addNotices(tx: Tx, service: Service, { row, step, told, byId }: Notices): Promise<void> {
  for (const { memberId, ways } of told) {
    const member = byId.get(memberId);
    if (member === undefined) continue;
    const common = {
      about: 'member-waiting',
      organizationId: row.organization_id,
      conversationId: row.conversation_id ?? undefined,
      memberId,
      retryForMs,
    } as const;
    const payload = { event: 'waiting', minutes: step.afterMinutes, named: step.to === memberId };
    if (ways.includes('email') && (await mailRoute(service, tx, row.organization_id)) !== null)
      await addEffect(tx, service, {
        ...common,
        kind: 'mail',
        key: `${row.key}:${memberId}`,
        recipient: member.email,
        payload,
      });
    if (!ways.includes('push')) continue;
    for (const device of await tx.repositories.pushDevices.ofMember(memberId))
      await addEffect(tx, service, {
        ...common,
        kind: 'push',
        key: `${row.key}:${device.id}`,
        recipient: device.label,
        payload: { ...payload, device: device.id },
      });
  }
}

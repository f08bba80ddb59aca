// Effects: what is to be sent and was not asked for by a caller who waits. An effect is a row of the outbox, once for its
// key; the handler of its kind sends it. Plans and stores; sends nothing.
import { z } from 'zod';
import type { Scope } from '../../engine/engine.ts';
import type { EffectRow, EventRow } from '../../engine/rows.ts';
import type { EffectKind } from '../../protocol/operations/email.ts';
import type { ReadTx, Service, Tx } from '../service.ts';

/** How long an effect is tried for unless it says otherwise: a day. */
export const effectRetryForMs = 86_400_000;

/** Something that is to be sent. */
export interface NewEffect {
  readonly kind: EffectKind;
  /**
   * What it is the effect of, as `reply:<message id>`: one organization has each key of a kind once, so that an event has
   * its effect once, however often it is read.
   */
  readonly key: string;
  /** What it is, for people and for its handler: `reply`, `password-reset`. */
  readonly about: string;
  readonly organizationId: string;
  /** What it concerns: it goes with the conversation, or with the member. */
  readonly conversationId?: string | undefined;
  readonly messageId?: string | undefined;
  readonly memberId?: string | undefined;
  /** To whom it goes, for the list that admins see. */
  readonly recipient?: string | undefined;
  /** What its handler needs besides. No text of a message, and no secret. */
  readonly payload?: object | undefined;
  /** What has no row of its own and must not lie in the clear. It is removed once it was sent. */
  readonly sealed?: string | undefined;
  /** When it may be sent, ms; left out: now. */
  readonly dueAt?: number | undefined;
  /** For how long it is tried once it is due. */
  readonly retryForMs?: number | undefined;
}

/** Makes effects of events. Asked by the one node that leads. */
export interface EffectPlanner {
  /** Reads what `wants` depends on: before the first event, and whenever configuration has changed. */
  readonly refresh?: (tx: ReadTx) => Promise<void>;
  /** Whether an event may have an effect. Asked of every event: it must cost next to nothing. */
  readonly wants: (event: EventRow) => boolean;
  /** The effects of an event, from the rows as they are now. May be asked twice of one event. */
  readonly plan: (tx: ReadTx, event: EventRow) => Promise<readonly NewEffect[]>;
}

/** How an attempt ended. */
export type EffectOutcome = {
  /** Written in the same transaction as the outcome, if the effect is still there and this was its end. */
  readonly also?: { readonly scope: Scope; readonly work: (tx: Tx) => Promise<void> } | undefined;
} & (
  | { readonly state: 'delivered' }
  /** There was nothing to send: `why` says so to an admin. */
  | { readonly state: 'skipped'; readonly why: string }
  /** It is not tried again. */
  | { readonly state: 'failed'; readonly why: string }
  /** It is tried again, later each time, until its time is over. */
  | { readonly state: 'retry'; readonly why: string }
  /** It may not be sent yet: no attempt was made, and its time begins again at `at`. */
  | { readonly state: 'later'; readonly at: number; readonly why: string }
);

/** Sends the effects of one kind. */
export interface EffectHandler {
  readonly kind: EffectKind;
  /** Attempts at once of one organization; of all together eight times as many. */
  readonly maxConcurrent: number;
  /**
   * Makes one attempt. May be called again for the same row after a crash: what the receiver sees must be recognisable
   * as the same. Ends soon after the signal is aborted; what it answers then does not count.
   * @throws Error for what was not foreseen: it is tried again
   */
  readonly perform: (row: EffectRow, signal: AbortSignal) => Promise<EffectOutcome>;
}

const replayMark = z.looseObject({ again: z.literal(true).optional() });

/** Whether it is sent once more, and was not counted since: what leaves twice counts twice. */
export function isSentAgain({ payload }: Pick<EffectRow, 'payload'>): boolean {
  return replayMark.parse(JSON.parse(payload)).again === true;
}

/** The payload of what is sent once more. */
export function markedAgain({ payload }: Pick<EffectRow, 'payload'>): string {
  return JSON.stringify({ ...replayMark.parse(JSON.parse(payload)), again: true });
}

/** Notes that what is sent once more was counted: the attempts that follow are the same sending. */
export async function noteCounted({ engine: { store } }: Service, row: EffectRow): Promise<void> {
  const { again, ...payload } = replayMark.parse(JSON.parse(row.payload));
  if (again !== true) return;
  await store.write({ organization: row.organization_id, part: `row:${row.id}` }, ({ repositories }) =>
    repositories.effects.setClaim(row.id, JSON.stringify(payload), row.recipient ?? ''),
  );
}

const sealPlace = ({ id, organization_id }: Pick<EffectRow, 'id' | 'organization_id'>) => ({
  table: 'effects.sealed',
  row: id,
  organizationId: organization_id,
});

/** What an effect carries sealed. @throws Error where there is nothing */
export function openEffect({ secrets }: Pick<Service, 'secrets'>, row: EffectRow): string {
  if (row.sealed === null) throw new Error('The effect carries nothing any more.');
  return secrets.open(row.sealed, sealPlace(row));
}

/**
 * Stores an effect with the transaction that causes it. The outbox hears of it through the commit.
 * @returns false where there is one of this key already, or what it concerns is not there any more
 */
export async function addEffect(
  tx: Tx,
  service: Pick<Service, 'engine' | 'secrets'>,
  effect: NewEffect,
): Promise<boolean> {
  const added = await storeEffect(tx, service, effect);
  // The server looks again after a change of configuration, whichever process made it.
  if (added) tx.configurationChanged(effect.organizationId);
  return added;
}

/** Like `addEffect`, for the outbox itself, which need not be told. */
export async function storeEffect(
  { repositories: { conversations, effects, members } }: Tx,
  { engine: { clock }, secrets }: Pick<Service, 'engine' | 'secrets'>,
  effect: NewEffect,
): Promise<boolean> {
  const { conversationId = null, memberId = null, sealed } = effect;
  if (conversationId !== null && (await conversations.byId(conversationId)) === undefined) return false;
  if (memberId !== null && (await members.byId(memberId)) === undefined) return false;
  const now = clock.now();
  const base = { id: clock.newId(), organization_id: effect.organizationId };
  const dueAt = effect.dueAt ?? now;
  const row: EffectRow = {
    ...base,
    kind: effect.kind,
    key: effect.key,
    about: effect.about,
    conversation_id: conversationId,
    message_id: effect.messageId ?? null,
    member_id: memberId,
    recipient: effect.recipient ?? null,
    payload: JSON.stringify(effect.payload ?? {}),
    sealed: sealed === undefined ? null : secrets.seal(sealed, sealPlace(base)),
    state: 'waiting',
    attempts: 0,
    due_at: dueAt,
    give_up_at: dueAt + (effect.retryForMs ?? effectRetryForMs),
    last_attempt_at: null,
    duration_ms: null,
    error: null,
    created_at: now,
  };
  return (await effects.insert(row)) > 0;
}

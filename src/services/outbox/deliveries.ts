// The log of the outbox, and sending once more.
import type { EffectRow } from '../../engine/rows.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { OutboxEffect } from '../../protocol/operations/email.ts';
import { accessEffect, accessOrganization } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { readLogPage } from '../core/log-pages.ts';
import { isoTime } from '../core/serializers.ts';
import type { OwnerCall, Tx } from '../service.ts';
import { effectRetryForMs, markedAgain } from './effects.ts';

/** A row as admins see it. */
export function serializeEffect(row: EffectRow): OutboxEffect {
  return {
    id: row.id,
    kind: row.kind,
    about: row.about,
    recipient: row.recipient,
    conversationId: row.conversation_id,
    status: row.state,
    attempts: row.attempts,
    error: row.error,
    durationMs: row.duration_ms,
    lastAttemptAt: row.last_attempt_at === null ? null : isoTime(row.last_attempt_at),
    nextAttemptAt: row.due_at === null ? null : isoTime(row.due_at),
    createdAt: isoTime(row.created_at),
  };
}

interface ListInput {
  readonly organization?: string | undefined;
  readonly kind?: string | undefined;
  readonly status?: EffectRow['state'] | undefined;
  readonly limit: number;
  readonly offset: number;
}

async function list(
  call: OwnerCall,
  { organization, kind, status, limit, offset }: ListInput,
): Promise<{ rows: OutboxEffect[]; total: number; limit: number; offset: number }> {
  const { store } = call.service.engine;
  const { id } = await store.read((tx) => accessOrganization(tx, call.actor, organization));
  const { rows, total } = await readLogPage(
    call,
    id,
    {
      log: (tx) => tx.repositories.effects.log,
      filter: { organizationId: id, kind, state: status },
    },
    { limit, offset },
  );
  return { rows: rows.map(serializeEffect), total, limit, offset };
}

/** What was sent or waits, newest first; 30 days long. */
export async function listEffects(
  call: OwnerCall,
  input: Input<'outbox.list'>,
): Promise<Output<'outbox.list'>> {
  const { rows, ...page } = await list(call, input);
  return { effects: rows, ...page };
}

/** The same of mails. */
export async function listMails(
  call: OwnerCall,
  input: Input<'email.deliveries'>,
): Promise<Output<'email.deliveries'>> {
  const { rows, ...page } = await list(call, { ...input, kind: 'mail' });
  return { deliveries: rows, ...page };
}

/**
 * Sends something now, or once more. What waits for the sending itself, as one that was read since, still holds;
 * so do the limits of what goes out.
 * @throws ServiceError not_found
 */
export async function replayEffect(
  tx: Tx,
  call: OwnerCall,
  { effectId }: Input<'outbox.replay'>,
): Promise<Output<'outbox.replay'>> {
  const { effects } = tx.repositories;
  const row = await accessEffect(tx, call.actor, effectId);
  const now = call.service.engine.clock.now();
  const again: EffectRow = {
    ...row,
    state: 'waiting',
    due_at: now,
    give_up_at: now + effectRetryForMs,
    error: null,
  };
  await effects.setAttempt(again);
  if (row.attempts > 0) await effects.setClaim(row.id, markedAgain(row), row.recipient ?? '');
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'outbox.replay',
    subject: `effect:${row.id}`,
    detail: { kind: row.kind, about: row.about },
  });
  return serializeEffect(again);
}

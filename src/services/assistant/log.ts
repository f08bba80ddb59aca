// The log of what the assistant was asked and answered: written for every transport, read by admins, removed by retention
// and with its visitor. Nothing of it ever goes to the process's log.
import type { AiLogEntry, AnswerSource } from '../../protocol/assistant.ts';
import type { Mode } from '../../protocol/entities.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { AiLogRow } from '../../engine/rows.ts';
import { accessApplication, accessOrganization } from '../core/access.ts';
import { notFound } from '../core/errors.ts';
import { readLogPage } from '../core/log-pages.ts';
import { isoTime } from '../core/serializers.ts';
import type { OwnerCall, Service, Tx } from '../service.ts';

export interface AiRecord {
  /** Left out: a new one. An automatic answer has the id of the message that it answers. */
  readonly id?: string;
  readonly organizationId: string;
  readonly applicationId: string | null;
  readonly visitorKey?: string | null;
  readonly conversationId?: string | null;
  readonly mode?: Mode;
  readonly door: AiLogEntry['door'];
  readonly actor: string;
  readonly question: string;
  readonly answer: string | null;
  readonly outcome: AiLogEntry['outcome'];
  readonly sources?: readonly AnswerSource[];
  readonly model: string | null;
  readonly durationMs: number;
}

/** Adds a row; false when there is one under the same id. */
export async function recordAi(tx: Tx, { engine: { clock } }: Service, entry: AiRecord): Promise<boolean> {
  const inserted = await tx.repositories.aiLog.insert({
    id: entry.id ?? clock.newId(),
    organization_id: entry.organizationId,
    application_id: entry.applicationId,
    visitor_key: entry.visitorKey ?? null,
    conversation_id: entry.conversationId ?? null,
    mode: entry.mode ?? 'live',
    door: entry.door,
    actor: entry.actor,
    question: entry.question.toWellFormed(),
    answer: entry.answer,
    outcome: entry.outcome,
    sources: JSON.stringify(entry.sources ?? []),
    model: entry.model,
    duration_ms: Math.max(0, Math.round(entry.durationMs)),
    created_at: clock.now(),
    chosen: null,
    settled_at: null,
  });
  return inserted > 0;
}

/**
 * The log of an organization or one of its applications, newest first.
 * @throws ServiceError not_found
 */
export async function listAiLog(call: OwnerCall, input: Input<'ai.log'>): Promise<Output<'ai.log'>> {
  const { limit, offset, applicationId } = input;
  const { service, actor } = call;
  const filter = await service.engine.store.read(async (tx) => {
    // The command line may name the application alone.
    const application =
      applicationId === undefined ? null : await accessApplication(tx, actor, applicationId);
    const reference =
      input.organization ?? (actor.kind === 'local' ? application?.organization_id : undefined);
    const organization = await accessOrganization(tx, actor, reference);
    if (application !== null && application.organization_id !== organization.id)
      throw notFound('application');
    return { organizationId: organization.id, applicationId: application?.id ?? null };
  });
  const { rows, total } = await readLogPage(
    call,
    filter.organizationId,
    { log: (tx) => tx.repositories.aiLog.log, filter },
    input,
  );
  return { entries: rows.map(serializeAiLogEntry), total, limit, offset };
}

export function serializeAiLogEntry(row: AiLogRow): AiLogEntry {
  return {
    id: row.id,
    applicationId: row.application_id,
    conversationId: row.conversation_id,
    door: row.door,
    actor: row.actor,
    question: row.question,
    answer: row.answer,
    outcome: row.outcome,
    sources: JSON.parse(row.sources) as AnswerSource[],
    model: row.model,
    durationMs: row.duration_ms,
    createdAt: isoTime(row.created_at),
  };
}

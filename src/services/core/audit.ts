// The audit log: who changed what, when, from where. Written in the transaction
// of the change, so that neither exists without the other. No secret ever enters it.
import type { Actor } from './actor.ts';
import { actorLabel } from './actor.ts';
import { accessOrganization } from './access.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { serializeAuditEntry } from './serializers.ts';
import type { Call, OwnerCall, Tx } from '../service.ts';
import { readLogPage } from './log-pages.ts';

export interface AuditEntry {
  readonly organizationId: string | null;
  /** `noun.verb`, as in the operation's name. */
  readonly action: string;
  /** What it was done to, as `application:<id>`. */
  readonly subject: string;
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Adds a row to the audit log. */
export async function audit(tx: Tx, call: Call<Actor>, entry: AuditEntry): Promise<void> {
  const { clock } = call.service.engine;
  await tx.repositories.audit.insert({
    id: clock.newId(),
    organization_id: entry.organizationId,
    actor: actorLabel(call.actor),
    action: entry.action,
    subject: entry.subject,
    detail: JSON.stringify(entry.detail ?? {}),
    address: call.address,
    created_at: clock.now(),
  });
}

/**
 * The log of an organization, newest first; on the command line without one, of the whole server.
 * @throws ServiceError not_found, bad_request
 */
export async function listAudit(call: OwnerCall, input: Input<'audit.list'>): Promise<Output<'audit.list'>> {
  const { limit, offset, action, actor, subject, q: text, from, to } = input;
  const { store } = call.service.engine;
  const whole = call.actor.kind === 'local' && input.organization === undefined;
  const organizationId = whole
    ? null
    : (await store.read((tx) => accessOrganization(tx, call.actor, input.organization))).id;
  const { rows, total } = await readLogPage(
    call,
    organizationId ?? 'server',
    {
      log: (tx) => tx.repositories.audit.log,
      filter: { organizationId, action, actor, subject, text },
      from: from === undefined ? undefined : Date.parse(from),
      before: to === undefined ? undefined : Date.parse(to),
    },
    input,
  );
  return { entries: rows.map(serializeAuditEntry), total, limit, offset };
}

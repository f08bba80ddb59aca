// The audit log: who changed what, when, from where. Written in the transaction
// of the change, so that neither exists without the other. No secret ever enters it.
import type { Actor } from './actor.ts';
import { actorLabel } from './actor.ts';
import { accessOrganization } from './access.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { serializeAuditEntry } from './serializers.ts';
import type { AuditFilter, AuditPlace } from '../../engine/repositories/audit.ts';
import type { AuditRow } from '../../engine/rows.ts';
import type { Call, OwnerCall, ReadTx, Tx } from '../service.ts';
import { computeSlice } from './slices.ts';

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

/** Rows that a search looks at between two turns of the loop. */
const rowsPerTurn = 2_000;

/**
 * The log of an organization, newest first; on the command line without one, of the whole server. What is looked for is
 * looked for in stretches, so that a long log holds no one up.
 * @throws ServiceError not_found, bad_request
 */
export async function listAudit(call: OwnerCall, input: Input<'audit.list'>): Promise<Output<'audit.list'>> {
  const { limit, offset, action, actor, subject, q: text, from, to } = input;
  const { store } = call.service.engine;
  const whole = call.actor.kind === 'local' && input.organization === undefined;
  const organizationId = whole
    ? null
    : (await store.read((tx) => accessOrganization(tx, call.actor, input.organization))).id;
  const bounds = {
    ...(from === undefined ? {} : { from: Date.parse(from) }),
    ...(to === undefined ? {} : { to: Date.parse(to) }),
  };
  const filter: AuditFilter = { organizationId, action, actor, subject, text, ...bounds };
  const isPlain = [action, actor, subject, text, from, to].every((one) => one === undefined);
  const { rows, total } = isPlain
    ? await store.read((tx) => wholeLog(tx, organizationId, input))
    : await searchLog(call, filter, input);
  return { entries: rows.map(serializeAuditEntry), total, limit, offset };
}

type Found = { readonly rows: readonly AuditRow[]; readonly total: number };
type Page = Pick<Input<'audit.list'>, 'limit' | 'offset'>;

async function wholeLog(
  { repositories }: ReadTx,
  organizationId: string | null,
  { limit, offset }: Page,
): Promise<Found> {
  const rows =
    organizationId === null
      ? await repositories.audit.everything(limit, offset)
      : await repositories.audit.byOrganization(organizationId, limit, offset);
  return { rows, total: await repositories.audit.count(organizationId) };
}

async function searchLog(
  { service }: OwnerCall,
  filter: AuditFilter,
  { limit, offset }: Page,
): Promise<Found> {
  const rows: AuditRow[] = [];
  let total = 0;
  let before: AuditPlace | null = null;
  for (;;) {
    const from: AuditPlace | null = before;
    before = await computeSlice(service, filter.organizationId ?? 'server', () =>
      service.engine.store.read(async ({ repositories: { audit: log } }) => {
        const through = await log.stretch(filter, from, rowsPerTurn);
        if (through === undefined) return null;
        const stretch = { before: from, through };
        const wanted = limit - rows.length;
        if (wanted > 0)
          rows.push(...(await log.fitting(filter, stretch, wanted, Math.max(0, offset - total))));
        total += await log.countFitting(filter, stretch);
        return through;
      }),
    );
    if (before === null) return { rows, total };
  }
}

// Figures of an organization over a span of time: how much came, how fast it was
// answered and solved. Test conversations count towards none.
import type { RetentionCursor } from '../../engine/rows.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { badField } from '../core/errors.ts';
import { isoTime } from '../core/serializers.ts';
import { readSlice } from '../core/slices.ts';
import type { OwnerCall, ReadTx } from '../service.ts';
import { accessOrganization } from '../core/access.ts';

const defaultSpanMs = 30 * 86_400_000;
const pageSize = 400;

interface Figures {
  opened: number;
  resolved: number;
  readonly firstResponses: number[];
  readonly resolutions: number[];
}

const emptyFigures = (): Figures => ({ opened: 0, resolved: 0, firstResponses: [], resolutions: [] });

/**
 * What was opened, answered for the first time and resolved within [from, to); by default the last 30 days.
 * @throws ServiceError bad_request
 */
export async function organizationStats(
  call: OwnerCall,
  input: Input<'staff.stats'> & { organization?: string | undefined },
): Promise<Output<'staff.stats'>> {
  const { store } = call.service.engine;
  const organization = await store.read((tx) => accessOrganization(tx, call.actor, input.organization));
  // The end is not part of the span, and what happens now is.
  const to = input.to === undefined ? call.service.engine.clock.now() + 1 : Date.parse(input.to);
  const from = input.from === undefined ? to - defaultSpanMs : Date.parse(input.from);
  if (from >= to) throw badField('from', 'must be before to');
  const within = (time: number | null): time is number => time !== null && time >= from && time < to;

  const whole = emptyFigures();
  const byApplication = new Map<string, Figures>();
  const byMember = new Map<string, Figures>();
  await forEachConversation(call, organization.id, from, to, (row) => {
    const application = figuresOf(byApplication, row.application_id);
    const member = row.resolved_by === null ? [] : [figuresOf(byMember, row.resolved_by)];
    if (within(row.created_at)) for (const one of [whole, application]) one.opened += 1;
    if (within(row.first_response_at)) {
      const responder = row.first_responder === null ? [] : [figuresOf(byMember, row.first_responder)];
      for (const one of [whole, application, ...responder])
        one.firstResponses.push(row.first_response_at - row.created_at);
    }
    if (within(row.resolved_at)) {
      for (const one of [whole, application, ...member]) {
        one.resolved += 1;
        one.resolutions.push(row.resolved_at - row.created_at);
      }
    }
  });
  const names = await store.read(({ repositories }) => repositories.stats.names(organization.id));
  return {
    stats: {
      from: isoTime(from),
      to: isoTime(to),
      ...serializeFigures(whole),
      applications: [...byApplication].map(([id, figures]) => ({
        id,
        name: names.get(id) ?? '',
        ...serializeFigures(figures),
      })),
      members: [...byMember].map(([id, figures]) => ({
        id,
        name: names.get(id) ?? '',
        ...serializeFigures(figures),
      })),
    },
  };
}

type Row = Awaited<ReturnType<ReadTx['repositories']['stats']['conversations']>>[number];

/** Page by page: an organization has any number of conversations. */
async function forEachConversation(
  call: OwnerCall,
  organizationId: string,
  from: number,
  to: number,
  look: (row: Row) => void,
): Promise<void> {
  let cursor: RetentionCursor | null = { created_at: -1, id: '' };
  while (cursor !== null) {
    const after: RetentionCursor = cursor;
    cursor = await readSlice(call, organizationId, async ({ repositories }) => {
      const rows = await repositories.stats.conversations(organizationId, from, to, after, pageSize);
      for (const row of rows) look(row);
      return rows.length < pageSize ? null : (rows.at(-1) ?? null);
    });
  }
}

function figuresOf(all: Map<string, Figures>, id: string): Figures {
  const found = all.get(id) ?? emptyFigures();
  all.set(id, found);
  return found;
}

function serializeFigures({ opened, resolved, firstResponses, resolutions }: Figures) {
  return {
    opened,
    resolved,
    firstResponse: percentiles(firstResponses),
    resolution: percentiles(resolutions),
  };
}

/** Median and 90th percentile by the nearest-rank method, in seconds; null where nothing was measured. */
function percentiles(values: number[]): { medianSeconds: number | null; p90Seconds: number | null } {
  const sorted = Float64Array.from(values).sort();
  const rank = (share: number): number | null => {
    const value = sorted[Math.ceil(share * sorted.length) - 1];
    return value === undefined ? null : Math.round(value / 1000);
  };
  return { medianSeconds: rank(0.5), p90Seconds: rank(0.9) };
}

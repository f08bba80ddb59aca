// Queries on blocks: of visitors, and of addresses by their keyed digest.
import type { BlocksRepository } from '../../repositories/blocks.ts';
import type { Mode } from '../../../protocol/entities.ts';
import type { AddressBlockRow, VisitorBlockRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const visitorBlocks = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('visitor_blocks')
    .innerJoin('visitors', 'visitors.id', 'visitor_blocks.visitor_key')
    .selectAll('visitor_blocks')
    .select(['visitors.visitor_id', 'visitors.application_id', 'visitors.mode', 'visitors.name'])
    .where('visitor_blocks.organization_id', '=', p.organization_id),
);
const addressBlocks = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('address_blocks').selectAll().where('organization_id', '=', p.organization_id),
);
const ofVisitor = prepare<{ application_id: string; mode: Mode; visitor_id: string }>()((db, p) =>
  db
    .selectFrom('visitors')
    .innerJoin('visitor_blocks', 'visitor_blocks.visitor_key', 'visitors.id')
    .selectAll('visitor_blocks')
    .where('visitors.application_id', '=', p.application_id)
    .where('visitors.mode', '=', p.mode)
    .where('visitors.visitor_id', '=', p.visitor_id),
);
const ofAddress = prepare<{ organization_id: string; digest: Uint8Array }>()((db, p) =>
  db
    .selectFrom('address_blocks')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where('digest', '=', p.digest),
);
const insertVisitor = prepare<VisitorBlockRow>()((db, p) =>
  db.insertInto('visitor_blocks').values({
    id: p.id,
    organization_id: p.organization_id,
    visitor_key: p.visitor_key,
    expires_at: p.expires_at,
    created_by: p.created_by,
    created_at: p.created_at,
  }),
);
const insertAddress = prepare<AddressBlockRow>()((db, p) =>
  db.insertInto('address_blocks').values({
    id: p.id,
    organization_id: p.organization_id,
    digest: p.digest,
    visitor_key: p.visitor_key,
    expires_at: p.expires_at,
    created_by: p.created_by,
    created_at: p.created_at,
  }),
);
const removeAddress = prepare<{ organization_id: string; digest: Uint8Array }>()((db, p) =>
  db
    .deleteFrom('address_blocks')
    .where('organization_id', '=', p.organization_id)
    .where('digest', '=', p.digest),
);
const removeVisitorsBlock = prepare<{ visitor_key: string }>()((db, p) =>
  db.deleteFrom('visitor_blocks').where('visitor_key', '=', p.visitor_key),
);
const removeVisitorsAddresses = prepare<{ visitor_key: string }>()((db, p) =>
  db.deleteFrom('address_blocks').where('visitor_key', '=', p.visitor_key),
);
const removeVisitorBlock = prepare<{ organization_id: string; id: string }>()((db, p) =>
  db.deleteFrom('visitor_blocks').where('organization_id', '=', p.organization_id).where('id', '=', p.id),
);
const removeAddressBlock = prepare<{ organization_id: string; id: string }>()((db, p) =>
  db.deleteFrom('address_blocks').where('organization_id', '=', p.organization_id).where('id', '=', p.id),
);
const removeExpiredVisitors = prepare<{ now: number }>()((db, p) =>
  db.deleteFrom('visitor_blocks').where('expires_at', '<=', p.now),
);
const removeExpiredAddresses = prepare<{ now: number }>()((db, p) =>
  db.deleteFrom('address_blocks').where('expires_at', '<=', p.now),
);

export function createBlocksRepository(runner: Runner): BlocksRepository {
  return {
    visitors: (organizationId: string) => all(runner, visitorBlocks, { organization_id: organizationId }),
    addresses: (organizationId: string) => all(runner, addressBlocks, { organization_id: organizationId }),
    ofVisitor: (applicationId: string, mode: Mode, visitorId: string) =>
      first(runner, ofVisitor, { application_id: applicationId, mode, visitor_id: visitorId }),
    ofAddress: (organizationId: string, digest: Uint8Array) =>
      first(runner, ofAddress, { organization_id: organizationId, digest }),
    putVisitor: async (row: VisitorBlockRow) => {
      await run(runner, removeVisitorsBlock, { visitor_key: row.visitor_key });
      return run(runner, insertVisitor, row);
    },
    putAddress: async (row: AddressBlockRow) => {
      await run(runner, removeAddress, { organization_id: row.organization_id, digest: row.digest });
      return run(runner, insertAddress, row);
    },
    removeOfVisitor: async (visitorKey: string) => {
      const addresses = await run(runner, removeVisitorsAddresses, { visitor_key: visitorKey });
      return addresses + (await run(runner, removeVisitorsBlock, { visitor_key: visitorKey }));
    },
    remove: async (organizationId: string, id: string) => {
      const key = { organization_id: organizationId, id };
      return (await run(runner, removeVisitorBlock, key)) + (await run(runner, removeAddressBlock, key));
    },
    removeExpired: async (now: number) =>
      (await run(runner, removeExpiredVisitors, { now })) +
      (await run(runner, removeExpiredAddresses, { now })),
  };
}

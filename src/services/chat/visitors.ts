// The rules of visitors: who they say they are, their WebSocket token, and what a
// page may know of the application before anybody has written.
import type { Input, Output } from '../../protocol/operations.ts';
import type { VisitorRow } from '../../engine/rows.ts';
import { countNewVisitor, findVisitor, getOrCreateVisitor } from '../core/access.ts';
import type { MemberActor, VisitorActor } from '../core/actor.ts';
import { notFound, throwServiceError } from '../core/errors.ts';
import { anonymousName, namingFields, readVerifiedFields, serializeVisitor } from '../core/serializers.ts';
import { assertIdentified } from '../auth/identity-demand.ts';
import { readIdentityProof, type IdentityProof, type Naming } from '../auth/identity-proof.ts';
import { recordSighting } from '../tenants/sightings.ts';
import { widgetLook } from '../tenants/widget-look.ts';
import type { HostSiteCall, Service, Tx, VisitorCall } from '../service.ts';
import { createVisitorToken, originOfPage } from '../auth/socket-tokens.ts';

/** The visitor, made on first use. */
export async function getVisitor(tx: Tx, call: VisitorCall): Promise<Output<'visitor.get'>> {
  return { visitor: serializeVisitor(await getOrCreateVisitor(tx, call)) };
}

/**
 * Counts a visitor who is about to be made, and checks what the call proves: that waits, which a transaction must not.
 * @throws ServiceError identity_required where the application wants a signature, and there is none; bad_request for a
 * wrong one
 */
export async function prepareNaming(
  call: VisitorCall,
  input: Input<'visitor.update'>,
): Promise<IdentityProof> {
  const proof = await readIdentityProof(call, input);
  if (proof === null) await assertIdentified(call);
  await countNewVisitor(call);
  return proof;
}

/**
 * Names a visitor. What a backend said or signed is verified, field by field; a claim never replaces what was
 * verified.
 */
export async function updateVisitor(
  tx: Tx,
  call: VisitorCall,
  input: Input<'visitor.update'>,
  proof: IdentityProof,
): Promise<Output<'visitor.update'>> {
  const row = await getOrCreateVisitor(tx, call);
  if (row.verified === 1 && proof === null) return { visitor: serializeVisitor(row) };
  const changed = nameVisitor(row, input, proof);
  await tx.repositories.visitors.identify(changed);
  return { visitor: serializeVisitor(changed) };
}

function nameVisitor(row: VisitorRow, claimed: Naming, proof: IdentityProof): VisitorRow {
  // What was only claimed before the first proof must not look as if it were a part of it.
  const base = proof !== null && row.verified === 0 ? { name: null, email: null, attributes: '{}' } : row;
  const kept = new Set(readVerifiedFields(row));
  const say = (naming: Naming): Partial<VisitorRow> => ({
    ...(naming.name === undefined ? {} : { name: naming.name }),
    ...(naming.email === undefined ? {} : { email: naming.email }),
    ...(naming.attributes === undefined ? {} : { attributes: JSON.stringify(naming.attributes) }),
  });
  const open = Object.fromEntries(
    namingFields.filter((field) => !kept.has(field)).map((field) => [field, claimed[field]]),
  );
  const proven = proof ?? {};
  return {
    ...row,
    ...base,
    ...say(open),
    ...say(proven),
    verified: proof === null ? row.verified : 1,
    verified_fields: namingFields.filter((field) => kept.has(field) || proven[field] !== undefined).join(','),
  };
}

/** @throws ServiceError origin_not_allowed without an Origin */
export async function issueVisitorToken(
  tx: Tx,
  call: VisitorCall,
): Promise<() => Promise<Output<'widget.token'>>> {
  // Before a visitor is made of one who gets none.
  originOfPage(call.actor);
  await getOrCreateVisitor(tx, call);
  // Signing waits on the crypto pool, which a transaction must not.
  return async () => ({ token: await createVisitorToken(call.service, call.actor) });
}

/** What a page shows before anybody has written. */
export async function widgetConfig({ service, actor }: HostSiteCall): Promise<Output<'widget.config'>> {
  const found = await service.configCache.application(actor.applicationId);
  if (found === null) throw notFound('application');
  await recordSighting(service, found, actor.origin);
  return { application: await widgetLook(service, found) };
}

/** The name under which others see a participant type: a visitor's may have changed since the connection began. */
export async function readTypistName(service: Service, actor: VisitorActor | MemberActor): Promise<string> {
  if (actor.kind === 'member') return actor.name;
  const row = await service.engine.store.read((tx) => findVisitor(tx, actor)).catch(throwServiceError);
  return row?.name ?? anonymousName;
}

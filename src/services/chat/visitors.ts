// The rules of visitors: who they say they are, their WebSocket token, and what a
// page may know of the application before anybody has written.
import type { Input, Output } from '../../protocol/operations.ts';
import type { VisitorRow } from '../../engine/rows.ts';
import { findVisitor, getOrCreateVisitor } from '../core/access.ts';
import type { MemberActor, VisitorActor } from '../core/actor.ts';
import { openState } from '../tenants/business-hours.ts';
import { badField, ServiceError, notFound, throwServiceError } from '../core/errors.ts';
import { organizationQuotas } from '../tenants/quotas.ts';
import { anonymousName, serializeVisitor } from '../core/serializers.ts';
import { signatureMatches } from '../auth/secrets.ts';
import type { HostSiteCall, Service, Tx, VisitorCall } from '../service.ts';
import { createVisitorToken } from '../auth/socket-tokens.ts';

/** The visitor, made on first use. */
export async function getVisitor(tx: Tx, call: VisitorCall): Promise<Output<'visitor.get'>> {
  return { visitor: serializeVisitor(await getOrCreateVisitor(tx, call)) };
}

/**
 * Names a visitor. What a backend says, or a page with a right signature, is verified; an unverified
 * claim never replaces a verified identity.
 * @throws ServiceError bad_request for a wrong signature
 */
export async function updateVisitor(
  tx: Tx,
  call: VisitorCall,
  input: Input<'visitor.update'>,
): Promise<Output<'visitor.update'>> {
  const row = await getOrCreateVisitor(tx, call);
  const verified = await isVerified(tx, call, input.signature);
  if (row.verified === 1 && !verified) return { visitor: serializeVisitor(row) };
  const changed: VisitorRow = {
    ...row,
    name: input.name ?? row.name,
    email: input.email ?? row.email,
    attributes: input.attributes === undefined ? row.attributes : JSON.stringify(input.attributes),
    verified: verified ? 1 : 0,
  };
  // What was only claimed before must not become verified by the way: a verified naming replaces it.
  if (verified && row.verified === 0) {
    changed.name = input.name ?? null;
    changed.email = input.email ?? null;
    if (input.attributes === undefined) changed.attributes = '{}';
  }
  await tx.repositories.visitors.identify(changed);
  return { visitor: serializeVisitor(changed) };
}

async function isVerified(
  tx: Tx,
  { actor, service }: VisitorCall,
  signature: string | undefined,
): Promise<boolean> {
  if (actor.via === 'key') return true;
  if (signature === undefined) return false;
  const application = await tx.repositories.applications.byId(actor.applicationId);
  if (application === undefined) throw notFound('application');
  const place = {
    table: 'applications.identity_secret',
    row: application.id,
    organizationId: application.organization_id,
  };
  if (signatureMatches(service.secrets.open(application.identity_secret, place), actor.visitorId, signature))
    return true;
  throw badField(
    'signature',
    "is not the HMAC-SHA256 of the visitor id under the application's identity secret, in hex",
  );
}

/** @throws ServiceError origin_not_allowed without an Origin */
export async function issueVisitorToken(
  tx: Tx,
  call: VisitorCall,
): Promise<() => Promise<Output<'widget.token'>>> {
  if (call.actor.origin === null)
    throw new ServiceError(
      'origin_not_allowed',
      'A WebSocket token is bound to a web page: send the Origin header of the page that will connect.',
    );
  await getOrCreateVisitor(tx, call);
  // Signing waits on the crypto pool, which a transaction must not.
  return async () => ({ token: await createVisitorToken(call.service, call.actor) });
}

/** What a page shows before anybody has written. */
export async function widgetConfig({ service, actor }: HostSiteCall): Promise<Output<'widget.config'>> {
  const found = await service.configCache.application(actor.applicationId);
  if (found === null) throw notFound('application');
  const { appearance, behavior, ai, locale } = found.settings;
  const state = openState(behavior.businessHours, behavior.timezone, service.engine.clock.now());
  return {
    application: {
      appId: found.row.id,
      name: found.row.name,
      appearance,
      behavior: { ...state, ...behavior },
      online: await service.engine.presence.online(found.organization.id),
      ai: { enabled: ai.mode === 'auto' && organizationQuotas(found.organization).ai },
      locale,
    },
  };
}

/** The name under which others see a participant type: a visitor's may have changed since the connection began. */
export async function readTypistName(service: Service, actor: VisitorActor | MemberActor): Promise<string> {
  if (actor.kind === 'member') return actor.name;
  const row = await service.engine.store.read((tx) => findVisitor(tx, actor)).catch(throwServiceError);
  return row?.name ?? anonymousName;
}

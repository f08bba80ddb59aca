// The rules of visitors: who they say they are, their WebSocket token, and what a
// page may know of the application before anybody has written.
import type { Input, Output } from '../protocol/operations.ts';
import type { VisitorRow } from '../engine/rows.ts';
import { ensureVisitor } from './access.ts';
import { openState, type BusinessHours } from './business-hours.ts';
import { badField, Failure, notFound } from './failure.ts';
import { organizationLimits } from './plans.ts';
import { presentVisitor } from './present.ts';
import { signatureMatches } from './secrets.ts';
import type { EmbedderCall, Tx, VisitorCall } from './service.ts';
import { visitorToken } from './socket-tokens.ts';

/** The visitor, made on first use. */
export async function getVisitor(tx: Tx, call: VisitorCall): Promise<Output<'visitor.get'>> {
  const { row } = await ensureVisitor(tx, call);
  return { visitor: presentVisitor(row) };
}

/**
 * Names a visitor. What a backend says, or a page with a right signature, is verified; an unverified
 * claim never replaces a verified identity.
 * @throws Failure bad_request for a wrong signature
 */
export async function updateVisitor(tx: Tx, call: VisitorCall, input: Input<'visitor.update'>): Promise<Output<'visitor.update'>> {
  const { row } = await ensureVisitor(tx, call);
  const verified = await isVerified(tx, call, input.signature);
  if (row.verified === 1 && !verified) return { visitor: presentVisitor(row) };
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
  await tx.tables.visitors.identify(changed);
  return { visitor: presentVisitor(changed) };
}

async function isVerified(tx: Tx, { actor, service }: VisitorCall, signature: string | undefined): Promise<boolean> {
  if (actor.via === 'key') return true;
  if (signature === undefined) return false;
  const application = await tx.tables.applications.byId(actor.applicationId);
  if (application === undefined) throw notFound('application');
  const place = { table: 'applications.identity_secret', row: application.id, organizationId: application.organization_id };
  if (signatureMatches(service.secrets.open(application.identity_secret, place), actor.visitorId, signature)) return true;
  throw badField('signature', "is not the HMAC-SHA256 of the visitor id under the application's identity secret, in hex");
}

/** @throws Failure origin_not_allowed without an Origin */
export async function issueVisitorToken(tx: Tx, call: VisitorCall): Promise<() => Promise<Output<'widget.token'>>> {
  if (call.actor.origin === null)
    throw new Failure(
      'origin_not_allowed',
      'A WebSocket token is bound to a web page: send the Origin header of the page that will connect.',
    );
  await ensureVisitor(tx, call);
  // Signing waits on the crypto pool, which a transaction must not.
  return async () => ({ token: await visitorToken(call.service, call.actor) });
}

/** What a page shows before anybody has written. */
export async function widgetConfig({ service, actor }: EmbedderCall): Promise<Output<'widget.config'>> {
  const found = await service.lookups.application(actor.applicationId);
  if (found === null) throw notFound('application');
  const { appearance, behavior, ai, locale } = found.settings;
  const state = openState(behavior.businessHours as BusinessHours, behavior.timezone, service.engine.clock.now());
  return {
    application: {
      appId: found.row.id,
      name: found.row.name,
      appearance,
      behavior: { ...state, ...behavior },
      online: service.engine.presence.online(found.organization.id),
      ai: { enabled: ai.mode === 'auto' && organizationLimits(found.organization).ai },
      locale,
    },
  };
}

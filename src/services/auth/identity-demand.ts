// Whether an application lets only those visitors in through its pages whose identity its backend has signed.
import type { ApplicationRow } from '../../engine/rows.ts';
import { findVisitor } from '../core/access.ts';
import type { VisitorActor } from '../core/actor.ts';
import type { CachedApplication } from '../core/config-cache.ts';
import { ServiceError } from '../core/errors.ts';
import type { Call, ReadTx, Service } from '../service.ts';
import { readSettings } from '../tenants/settings.ts';

/** What an actor says of the demand of its application. An API key is proof itself. */
export function identityDemand(
  { settings }: Pick<CachedApplication, 'settings'>,
  via: VisitorActor['via'],
): Pick<VisitorActor, 'identityDemanded'> {
  return via === 'origin' && settings.behavior.identity === 'required' ? { identityDemanded: true } : {};
}

/** False for a page's visitor who was never proven, where the application demands it now. */
export async function isIdentified(service: Service, actor: VisitorActor): Promise<boolean> {
  const application = await service.configCache.application(actor.applicationId);
  if (application === null || identityDemand(application, actor.via).identityDemanded !== true) return true;
  return service.engine.store.read((tx) => isProven(tx, actor));
}

async function isProven(tx: ReadTx, actor: VisitorActor): Promise<boolean> {
  return (await findVisitor(tx, actor))?.verified === 1;
}

/** @throws ServiceError identity_required */
export async function assertIdentified({ service, actor }: Call): Promise<void> {
  if (actor.kind === 'visitor' && !(await isIdentified(service, actor))) throw identityRequired();
}

/**
 * The same from the rows, inside the transaction that acts for the visitor.
 * @throws ServiceError identity_required
 */
export async function assertIdentifiedNow(
  tx: ReadTx,
  application: ApplicationRow,
  actor: VisitorActor,
): Promise<void> {
  const demanded = identityDemand({ settings: readSettings(application) }, actor.via).identityDemanded;
  if (demanded === true && !(await isProven(tx, actor))) throw identityRequired();
}

function identityRequired(): ServiceError {
  return new ServiceError(
    'identity_required',
    'This application serves signed-in visitors only: name the visitor with an identityToken first (PUT /api/v1/visitor).',
  );
}

// Whether an application lets only those visitors in through its pages whose identity its backend has signed.
import { findVisitor } from '../core/access.ts';
import type { Actor, VisitorActor } from '../core/actor.ts';
import { ServiceError } from '../core/errors.ts';
import type { Service } from '../service.ts';

/** False for a page's visitor who was never proven, where the application demands it. An API key is proof itself. */
export async function isIdentified(service: Service, actor: VisitorActor): Promise<boolean> {
  if (actor.via === 'key') return true;
  const application = await service.configCache.application(actor.applicationId);
  if (application?.settings.behavior.identity !== 'required') return true;
  const row = await service.engine.store.read((tx) => findVisitor(tx, actor));
  return row?.verified === 1;
}

/** @throws ServiceError identity_required */
export async function assertIdentified({
  service,
  actor,
}: {
  readonly service: Service;
  readonly actor: Actor;
}): Promise<void> {
  if (actor.kind !== 'visitor' || (await isIdentified(service, actor))) return;
  throw new ServiceError(
    'identity_required',
    'This application serves signed-in visitors only: name the visitor with an identityToken first (PUT /api/v1/visitor).',
  );
}

// Rights are read again inside the transaction that uses them: between the check of a credential and its use a body
// arrives, a password is hashed, a socket lives for days. Costs one comparison unless the organization's
// configuration has changed, or the time has come at which a session, a token or a key was to end.
import type { ReadTx, Scope, Soon, Tx } from '../../engine/engine.ts';
import { endsAt, type Actor, type MemberActor, type VisitorActor } from '../core/actor.ts';
import { ServiceError } from '../core/errors.ts';
import { assertAllowed } from '../core/permission.ts';
import type { SliceOwner } from '../core/slices.ts';
import type { Call, Service } from '../service.ts';
import { isKeyActive } from './active-key.ts';
import { assertNotBlockedNow } from './blocked.ts';
import { assertIdentifiedNow } from './identity-demand.ts';
import { matchOrigin } from './origin-match.ts';
import { hasDemandedFactor } from './second-factor-demand.ts';

/** The configuration's number at which an actor's rights were last found to hold. */
const verifiedAt = new WeakMap<Actor, number>();

/** @param epoch the configuration's number before the credential was looked up */
export function rememberStanding(actor: Actor, epoch: number): void {
  verifiedAt.set(actor, epoch);
}

/**
 * Writes on behalf of a caller, whose rights are read again in the same transaction.
 * @param scope as for `store.write`
 * @param work gets the call as it stands now: a member's role may be another
 * @param proves true when the call itself proves who the visitor is, so that no earlier proof is needed
 * @throws ServiceError unauthorized, forbidden, origin_not_allowed, visitor_blocked, identity_required when the right
 * was withdrawn
 */
export function writeAs<A extends Actor, T>(
  call: Call<A>,
  scope: Scope,
  work: (tx: Tx, call: Call<A>) => Soon<T>,
  proves = false,
): Promise<T> {
  return call.service.engine.store.write(scope, (tx) => {
    const epoch = tx.configurationEpoch();
    // Nothing of the organization has changed since, and nothing has run out, in nearly every call.
    if (!(epoch instanceof Promise) && isVerified(call, epoch)) return work(tx, call);
    return currentCall(tx, call, epoch, proves).then((current) => work(tx, current));
  });
}

/**
 * For a removal that a caller began and that goes in slices: their rights are read again in each, so that whose right is
 * withdrawn removes no more. What is left stays, because what was removed can't be brought back, while the same call of
 * one who may goes on where it ended.
 * @throws ServiceError from each slice, as `writeAs` does
 */
export function whileAllowed(call: Call): SliceOwner {
  return {
    ...call.service,
    assertStill: async (tx) => {
      await currentCall(tx, call, tx.configurationEpoch(), false);
    },
  };
}

/**
 * For what is answered without a write: the caller's rights are read again, where something of their organization has
 * changed or a credential has come to its end.
 * @throws ServiceError as `writeAs` does
 */
export async function assertStanding(call: Call): Promise<void> {
  const { store } = call.service.engine;
  if (!isVerified(call, await store.freshConfiguration()))
    await store.read((tx) => assertStillAllowed(tx, call));
}

/**
 * For what is handed out part by part: the caller's rights are read again with each.
 * @throws ServiceError unauthorized, forbidden, origin_not_allowed, visitor_blocked, identity_required when the right
 * was withdrawn
 */
export async function assertStillAllowed(tx: ReadTx, call: Call): Promise<void> {
  const actor = await readActor(tx, call, false);
  if (call.who !== undefined) assertAllowed(call.who, { ...call, actor });
}

async function currentCall<A extends Actor>(
  tx: Tx,
  call: Call<A>,
  asked: Soon<number | null>,
  proves: boolean,
): Promise<Call<A>> {
  const { actor } = call;
  const epoch = await asked;
  if (isVerified(call, epoch)) return call;
  const current = { ...call, actor: (await readActor(tx, call, proves)) as A };
  if (call.who !== undefined) assertAllowed(call.who, current);
  if (epoch !== null && current.actor === actor) rememberStanding(actor, epoch);
  return current;
}

/**
 * False also once a credential has come to its end: no number tells of that.
 * @param epoch of the transaction; null: something has changed that this process does not know
 */
function isVerified({ service, actor }: Call, epoch: number | null): boolean {
  const verified = verifiedAt.get(actor);
  return (
    epoch !== null &&
    verified !== undefined &&
    'organizationId' in actor &&
    endsAt(actor) > service.engine.clock.now() &&
    verified >= service.engine.store.configurationChangedAt(actor.organizationId, epoch)
  );
}

/** The actor as the rows say it now. */
async function readActor(tx: ReadTx, { service, actor, address }: Call, proves: boolean): Promise<Actor> {
  switch (actor.kind) {
    case 'member':
      return readMember(tx, service, actor);
    case 'visitor':
      await assertVisitorAdmitted(tx, service, actor, proves);
      await assertNotBlockedNow(tx, service, actor, address);
      return actor;
    case 'hostSite':
    case 'anonymous':
    case 'local':
      return actor;
  }
}

async function readMember(tx: ReadTx, service: Service, actor: MemberActor): Promise<MemberActor> {
  const session = await tx.repositories.members.sessionById(actor.sessionId);
  const member = await tx.repositories.members.byId(actor.memberId);
  const organization = await tx.repositories.organizations.byId(actor.organizationId);
  const active =
    session?.member_id === actor.memberId &&
    session.expires_at > service.engine.clock.now() &&
    member?.disabled_at === null &&
    organization !== undefined &&
    hasDemandedFactor(session, organization, member);
  if (!active) throw new ServiceError('unauthorized', 'The session is over. Sign in again.');
  const { name, role } = member;
  return name === actor.name && role === actor.role ? actor : { ...actor, name, role };
}

async function assertVisitorAdmitted(
  tx: ReadTx,
  service: Service,
  actor: VisitorActor,
  proves: boolean,
): Promise<void> {
  const { applications, apiKeys } = tx.repositories;
  const application = await applications.byId(actor.applicationId);
  const key = actor.keyId === undefined ? undefined : await apiKeys.byId(actor.keyId);
  const now = service.engine.clock.now();
  const keyHolds = actor.keyId === undefined || (key !== undefined && isKeyActive(key, now));
  if (application === undefined || !keyHolds)
    throw new ServiceError('unauthorized', 'The API key or the app id is not valid.');
  if (!proves) await assertIdentifiedNow(tx, application, actor);
  if (actor.origin === null) return;
  const domains = (await applications.domains(application.id)).map(({ domain }) => domain);
  matchOrigin({ row: application, domains }, actor.origin);
}

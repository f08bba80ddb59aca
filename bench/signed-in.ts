// Owns how a benchmark gets a member who may ask the service itself: signed in, because what takes long asks for the session again.
import { sizeLimits } from '../src/protocol/codes.ts';
import { authenticateMember } from '../src/services/auth/authenticate.ts';
import type { MemberActor } from '../src/services/core/actor.ts';
import { execute } from '../src/services/execute.ts';
import type { Service } from '../src/services/service.ts';
import { noCredentials } from '../test/helpers/no-credentials.ts';

/** Signs a member in on the machine itself. @param memberId of one who is enabled */
export async function signedIn(service: Service, memberId: string): Promise<MemberActor> {
  const call = {
    service,
    actor: { kind: 'local' } as const,
    address: null,
    contentLimit: sizeLimits.contentRest,
  };
  const { token } = await execute(call, 'session.createLocal', { memberId });
  return authenticateMember(service, { ...noCredentials, authorization: [`Bearer ${token}`] });
}

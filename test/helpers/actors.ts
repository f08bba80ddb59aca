// Owns callers as a test hands them to the services itself. Must not make what they stand for: that is for fixtures.ts.
import { randomUUID } from 'node:crypto';
import type { MemberActor } from '../../src/services/core/actor.ts';

/** A member who is signed in for good. @param more what is another than an operator's */
export function memberActor(
  organizationId: string,
  memberId: string,
  more: Partial<MemberActor> = {},
): MemberActor {
  return {
    kind: 'member',
    organizationId,
    memberId,
    name: 'Olivia',
    role: 'operator',
    sessionId: randomUUID(),
    sessionEndsAt: Number.MAX_SAFE_INTEGER,
    scopes: null,
    origin: null,
    ...more,
  };
}

// Who a page's visitor is, as the customer's backend signed it under the application's identity secret: an identity
// token (a JWT that holds what it proves), or the older signature of the visitor id alone.
import { errors, jwtVerify } from 'jose';
import { z } from 'zod';
import { visitorUuid } from '../../protocol/entities.ts';
import { naming } from '../../protocol/operations/shared.ts';
import type { Input } from '../../protocol/operations.ts';
import { badField, notFound } from '../core/errors.ts';
import { validationError } from '../core/validation.ts';
import type { VisitorCall } from '../service.ts';
import { signatureMatches } from './secrets.ts';

/** What a visitor's page or backend says of them. */
export type Naming = Pick<Input<'visitor.update'>, 'name' | 'email' | 'attributes'>;

/** What was proven; null: nothing. Fields that are missing here were not. */
export type IdentityProof = Naming | null;

const claims = z.object({ ...naming.partial().shape, sub: visitorUuid });

/**
 * What a call that names a visitor proves: by API key everything, by page what its backend signed.
 * @throws ServiceError bad_request for a wrong or expired token, or a wrong signature
 */
export async function readIdentityProof(
  call: VisitorCall,
  { name, email, attributes, identityToken, signature }: Input<'visitor.update'>,
): Promise<IdentityProof> {
  const { visitorId, via } = call.actor;
  if (via === 'key') return { name, email, attributes };
  if (identityToken !== undefined) return readToken(call, identityToken);
  if (signature === undefined) return null;
  if (signatureMatches(await readSecret(call), visitorId, signature)) return {};
  throw badField(
    'signature',
    "is not the HMAC-SHA256 of the visitor id under the application's identity secret, in hex",
  );
}

async function readSecret({ actor, service }: VisitorCall): Promise<string> {
  const application = await service.configCache.application(actor.applicationId);
  if (application === null) throw notFound('application');
  return service.secrets.open(application.row.identity_secret, {
    table: 'applications.identity_secret',
    row: application.row.id,
    organizationId: application.row.organization_id,
  });
}

async function readToken(call: VisitorCall, token: string): Promise<Naming> {
  const checked = claims.safeParse(await verifyToken(call, token));
  if (!checked.success) throw tokenContentError(checked.error);
  const { sub, ...proven } = checked.data;
  if (sub !== call.actor.visitorId)
    throw badField('identityToken', 'is for another visitor: its claim sub is not X-Visitor-Id');
  return proven;
}

async function verifyToken(call: VisitorCall, token: string): Promise<unknown> {
  const key = new TextEncoder().encode(await readSecret(call));
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(call.service.engine.clock.now()),
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw badField('identityToken', 'has expired: make a fresh one');
    if (error instanceof errors.JWTClaimValidationFailed)
      throw badField('identityToken', `has a wrong claim ${error.claim}, or lacks it`);
    if (error instanceof errors.JOSEError || error instanceof TypeError)
      throw badField(
        'identityToken',
        "is not a JWT signed with HS256 under the application's identity secret",
      );
    throw error;
  }
}

/** Names the claim that is wrong. */
function tokenContentError(error: z.ZodError): Error {
  return validationError(
    new z.ZodError(error.issues.map((issue) => ({ ...issue, path: ['identityToken', ...issue.path] }))),
  );
}

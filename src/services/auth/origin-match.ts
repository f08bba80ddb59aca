// An Origin header held against the domains of an application.
import { ServiceError } from '../core/errors.ts';
import { originMatches, parseOrigin } from './origins.ts';

export interface OriginRule {
  readonly row: { readonly id: string };
  /** Normalised domains (origins.ts). */
  readonly domains: readonly string[];
}

/**
 * Holds an Origin header against an application's domains.
 * @param several whether the header was sent more than once
 * @returns the normalised origin
 * @throws ServiceError origin_not_allowed
 */
export function matchOrigin(
  { row, domains }: OriginRule,
  header: string | undefined,
  several = false,
): string {
  if (domains.length === 0)
    throw new ServiceError(
      'origin_not_allowed',
      `No domain is registered for this application, so no web page may use it. Register one: deskbell domain add --app ${row.id} example.com`,
    );
  if (header === undefined)
    throw new ServiceError(
      'origin_not_allowed',
      'The Origin header is missing. Call from a registered web page, or with an API key.',
    );
  const parsed = several ? ({ ok: false } as const) : parseOrigin(header);
  if (!parsed.ok || !domains.some((domain) => originMatches(domain, parsed)))
    throw new ServiceError(
      'origin_not_allowed',
      `This origin is not registered for the application. If it is yours: deskbell domain add --app ${row.id} DOMAIN`,
    );
  return parsed.origin;
}

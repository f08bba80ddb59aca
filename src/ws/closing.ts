// What a client is told when its socket is closed because of an error inside the service.
import type { closeCodes } from '../protocol/codes.ts';
import { ServiceError, toServiceError } from '../services/core/errors.ts';

/**
 * The close code and its sentence for an error that no frame answers.
 * @param error what was thrown
 * @returns `goingAway` while the store can't be used, because another server may be able to; else `internal`
 */
export function closingAfter(error: unknown): {
  readonly reason: keyof typeof closeCodes;
  readonly message: string;
} {
  const told = toServiceError(error);
  return told instanceof ServiceError && told.code === 'unavailable'
    ? { reason: 'goingAway', message: 'The service can’t use its database now: connect again.' }
    : { reason: 'internal', message: 'Something went wrong inside the service: connect again.' };
}

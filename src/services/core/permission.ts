// Whether an actor may call an operation: the table's `who`, applied.
import type { Who } from '../../protocol/operations.ts';
import type { Call } from '../service.ts';
import type { ActorsByWho } from './actor.ts';
import { ServiceError } from './errors.ts';

/**
 * The command line may do what an admin may.
 * @throws ServiceError forbidden
 */
export function assertAllowed<W extends Who>(who: W, call: Call): asserts call is Call<ActorsByWho[W]> {
  if (isAllowed(who, call)) return;
  throw new ServiceError(
    'forbidden',
    who === 'admin'
      ? 'Only an admin of the organization may do this.'
      : 'This credential does not allow this operation.',
  );
}

function isAllowed(who: Who, { actor }: Call): boolean {
  switch (who) {
    case 'anyone':
      return actor.kind === 'anonymous';
    case 'hostSite':
      return actor.kind === 'hostSite';
    case 'visitor':
      return actor.kind === 'visitor';
    case 'operator':
      return actor.kind === 'member';
    case 'admin':
      return actor.kind === 'local' || (actor.kind === 'member' && actor.role === 'admin');
    case 'local':
      return actor.kind === 'local';
  }
}

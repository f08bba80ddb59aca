// The one way into the services: every transport, the command line and the tests call `execute`
// with an actor, an operation's name and its input. It limits, checks, and runs the handler.
import type { z } from 'zod';
import {
  operations,
  type Input,
  type OperationName,
  type Output,
  type WhoOf,
} from '../protocol/operations.ts';
import type { TokenScope } from '../protocol/sign-in.ts';
import { requiredScopes } from '../protocol/token-scopes.ts';
import { assertIdentified } from './auth/identity-demand.ts';
import { limitRequest } from './auth/rate-limits.ts';
import type { Actor } from './core/actor.ts';
import { ServiceError, throwServiceError } from './core/errors.ts';
import { assertAllowed } from './core/permission.ts';
import { validationError } from './core/validation.ts';
import { handlers } from './handlers.ts';
import type { Call } from './service.ts';

/** What `execute` reads of a row, typed by the operation's name. */
interface Row<N extends OperationName> {
  readonly who: WhoOf<N>;
  readonly input: z.ZodType<Input<N>>;
}

const rows: { readonly [N in OperationName]: Row<N> } = operations;

export interface ExecuteOptions {
  /** Reads the input, in place of the argument, once the rate limits have let the call pass. */
  readonly readInput?: () => Promise<unknown>;
}

/**
 * Runs one operation.
 * @param call who asks, from where
 * @param input the raw input; undefined where `readInput` reads it
 * @throws ServiceError for everything that the caller can be told
 */
export async function execute<N extends OperationName>(
  call: Call,
  name: N,
  input: unknown,
  { readInput }: ExecuteOptions = {},
): Promise<Output<N>> {
  const { who, input: schema } = rows[name];
  assertAllowed(who, call);
  assertScope(call.actor, name);
  const limited = limitRequest(call);
  if (limited !== undefined) await limited;
  // Naming is how a visitor is proven.
  if (call.actor.kind === 'visitor' && call.actor.identityDemanded === true && name !== 'visitor.update')
    await assertIdentified(call);
  const checked = schema.safeParse(readInput === undefined ? input : await readInput());
  if (!checked.success) throw validationError(checked.error);
  try {
    return await handlers[name]({ ...call, who }, checked.data);
  } catch (error) {
    return throwServiceError(error);
  }
}

const scopes: Readonly<Partial<Record<OperationName, TokenScope | 'any' | 'session'>>> = requiredScopes;

/** @throws ServiceError forbidden: the caller is a staff token, and this is not among what it may do */
function assertScope(actor: Actor, name: OperationName): void {
  if (actor.kind !== 'member' || actor.scopes === null) return;
  const needed = scopes[name] ?? 'session';
  if (needed === 'any' || (needed !== 'session' && actor.scopes.includes(needed))) return;
  throw new ServiceError(
    'forbidden',
    needed === 'session'
      ? 'No token may do this. Sign in as the member.'
      : `This token lacks the scope ${needed}. Make one that has it: deskbell token create`,
  );
}

// The one way into the services: every transport, the command line and the tests call `execute`
// with an actor, an operation's name and its input. It limits, checks, and runs the handler.
// Hardly anything is `async`: every message comes this way, and a promise for each step costs more than most steps.
import type { z } from 'zod';
import { whenReady, type Soon } from '../engine/engine.ts';
import {
  operationNames,
  operationRow,
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
import { assertStanding } from './auth/standing.ts';
import type { Actor } from './core/actor.ts';
import { ServiceError, throwServiceError } from './core/errors.ts';
import { assertAllowed } from './core/permission.ts';
import { validationError } from './core/validation.ts';
import { handlers, longHandlers, type LongOperation } from './handlers.ts';
import type { Call, CallOf } from './service.ts';

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
export function execute<N extends OperationName>(
  call: Call,
  name: N,
  input: unknown,
  { readInput }: ExecuteOptions = {},
): Promise<Output<N>> {
  return whenAdmitted(call, name, (allowed) =>
    readInput === undefined
      ? checkAndRun(allowed, name, input)
      : readInput().then((read) => checkAndRun(allowed, name, read)),
  );
}

/**
 * Runs one operation whose answer may be of any size.
 * @param readInput reads the raw input, once the rate limits have let the call pass
 * @returns the answer, whose lists are read as they are taken
 * @throws ServiceError for everything that the caller can be told before anything is handed out
 */
export function executeInParts<N extends LongOperation>(
  call: Call,
  name: N,
  readInput: () => Promise<unknown>,
): Promise<object> {
  return whenAdmitted(call, name, async (allowed) => {
    const checked = rows[name].input.safeParse(await readInput());
    if (!checked.success) throw validationError(checked.error);
    return longHandlers[name]({ ...allowed, who: rows[name].who }, checked.data).catch(throwServiceError);
  });
}

/** The operations whose input a frame's schema has checked: those that `frames.ts` has a reader for. */
export type CheckedByFrame = 'messages.send' | 'staff.messages.send';

/**
 * Runs one operation on an input that has been checked already, by a frame's schema that admits nothing which the
 * operation's own would refuse or change. Limits and rights are asked all the same.
 *
 * Only operations for which a test compares the two schemas can be named: the type of an input says nothing of lengths,
 * so for any other it would be a way past the check.
 * @param call who asks, from where
 * @param input as the operation's schema would have made it
 * @throws ServiceError for everything that the caller can be told
 */
export function executeChecked<N extends CheckedByFrame>(
  call: Call,
  name: N,
  input: Input<N>,
): Promise<Output<N>> {
  return whenAdmitted(call, name, (allowed) => run(allowed, name, input));
}

/** Goes on once the caller may call the operation, is within the limits, and has proven who they are. */
function whenAdmitted<N extends OperationName, R>(
  call: Call,
  name: N,
  goOn: (allowed: CallOf<N>) => Promise<R>,
): Promise<R> {
  try {
    const { who } = rows[name];
    assertAllowed(who, call);
    assertScope(call.actor, name);
    const admitted = whenReady(limitRequest(call), () => {
      // Not one that is refused: a flood of those must not slow the webhooks of others.
      call.service.engine.pace.userCame();
      return assertProven(call, name);
    });
    return admitted instanceof Promise ? admitted.then(() => goOn(call)) : goOn(call);
  } catch (error) {
    return refuse(error);
  }
}

/** @throws ServiceError identity_required */
function assertProven(call: Call, name: OperationName): Soon<void> {
  const demanded = call.actor.kind === 'visitor' && call.actor.identityDemanded === true;
  // Naming is how a visitor is proven.
  return demanded && name !== 'visitor.update' ? assertIdentified(call) : undefined;
}

function checkAndRun<N extends OperationName>(call: CallOf<N>, name: N, input: unknown): Promise<Output<N>> {
  const checked = rows[name].input.safeParse(input);
  return checked.success ? run(call, name, checked.data) : Promise.reject(validationError(checked.error));
}

function run<N extends OperationName>(call: CallOf<N>, name: N, input: Input<N>): Promise<Output<N>> {
  const asked = { ...call, who: rows[name].who };
  const { clock } = call.service.engine;
  const began = reads.has(name) ? clock.monotonic() : null;
  try {
    const answer = handlers[name](asked, input);
    const checked =
      began === null
        ? answer
        : answer.then((read) => (clock.monotonic() - began < longReadMs ? read : toStanding(asked, read)));
    return checked.catch(throwServiceError);
  } catch (error) {
    return refuse(error);
  }
}

/** What only reads. A write reads its caller's rights in its own transaction. */
const reads: ReadonlySet<OperationName> = new Set(
  operationNames.filter((name) => operationRow(name).rest?.[0] === 'GET'),
);
/** What took longer, ms, is handed out to those alone who may still have it: a search waits for its turn. */
const longReadMs = 100;

/** @throws ServiceError unauthorized, forbidden and others, where the right was withdrawn */
async function toStanding<T>(call: Call, read: T): Promise<T> {
  await assertStanding(call);
  return read;
}

/** The rejection for what was thrown at once. */
async function refuse(error: unknown): Promise<never> {
  return throwServiceError(error);
}

const scopes: Readonly<Partial<Record<OperationName, TokenScope | 'any' | 'session'>>> = requiredScopes;

/** @throws ServiceError forbidden: the caller is a staff token, and this is not among what it may do */
export function assertScope(actor: Actor, name: OperationName): void {
  if (actor.kind !== 'member' || actor.scopes === null) return;
  const needed = scopes[name] ?? 'session';
  if (needed === 'any' || (needed !== 'session' && actor.scopes.includes(needed))) return;
  throw new ServiceError(
    'forbidden',
    needed === 'session'
      ? 'No token may do this. Sign in as the member.'
      : `This token lacks the scope ${needed}. Make one that has it: deskbell token create --name N --scope ${needed}`,
  );
}

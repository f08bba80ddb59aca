// The entrance: every door, the command line and the tests call `execute` with an
// actor, an operation's name and its input. It limits, checks, and runs the rule.
import type { z } from 'zod';
import { operations, type Input, type OperationName, type Output, type Who } from '../protocol/operations.ts';
import type { Actor } from './actor.ts';
import { Failure, rethrowTellable, type FailureDetail } from './failure.ts';
import { countCall } from './limiting.ts';
import { rules } from './rules.ts';
import type { Call } from './service.ts';

/** Which actors each `who` admits. The command line may do whatever an admin may. */
const admitted: Readonly<Record<Who, (actor: Actor) => boolean>> = {
  anyone: (actor) => actor.kind === 'anonymous',
  embedder: (actor) => actor.kind === 'embedder',
  visitor: (actor) => actor.kind === 'visitor',
  operator: (actor) => actor.kind === 'member',
  admin: (actor) => actor.kind === 'local' || (actor.kind === 'member' && actor.role === 'admin'),
  local: (actor) => actor.kind === 'local',
};

/**
 * Runs one operation.
 * @param call who asks, from where
 * @param input the raw input, or how to read it: it is read only after the limits have let the call pass
 * @throws Failure for everything that the caller can be told
 */
export async function execute<N extends OperationName>(call: Call, name: N, input: unknown): Promise<Output<N>> {
  const operation = operations[name];
  if (!admitted[operation.who](call.actor)) throw new Failure('forbidden', refusal(operation.who));
  await countCall(call);
  const raw: unknown = typeof input === 'function' ? await (input as () => unknown)() : input;
  const checked = operation.input.safeParse(raw);
  if (!checked.success) throw invalid(checked.error);
  try {
    // One rule per name: the table's type makes sure of it, the compiler can't see it through the union.
    const rule = rules[name] as unknown as (call: Call, input: Input<N>) => Promise<Output<N>>;
    return await rule(call, checked.data as Input<N>);
  } catch (error) {
    return rethrowTellable(error);
  }
}

function refusal(who: Who): string {
  return who === 'admin' ? 'Only an admin of the organization may do this.' : 'This credential does not allow this operation.';
}

/** Turns a failed check into one sentence and a list of what is wrong where. */
export function invalid(error: z.ZodError): Failure {
  const details: FailureDetail[] = error.issues.map((issue) => ({
    path: issue.path.map(String).join('.'),
    message: issue.message,
  }));
  const first = details[0];
  const sentence =
    first === undefined || first.path === ''
      ? `The request is not valid: ${first?.message ?? 'see details'}.`
      : `The field ${first.path} is not valid: ${first.message}.`;
  return new Failure('bad_request', sentence, { details });
}

// The table of handlers is typed by the table of operations: what an operation's `who` does not admit, its
// handler can't ask for. Checked by the compiler; `npm run typecheck` fails where one of these does not hold.
import { expectTypeOf, test } from 'vitest';
import type { Input, Output } from '../../src/protocol/operations.ts';
import type { MemberActor, VisitorActor } from '../../src/services/core/actor.ts';
import type { Handler } from '../../src/services/handlers.ts';
import type { Call, MemberCall, ParticipantCall, VisitorCall } from '../../src/services/service.ts';

// These two operations take and answer the same, so only the caller can make the difference.
type ReadInput = Input<'conversations.read'>;
type ReadOutput = Promise<Output<'conversations.read'>>;

test('a handler gets the actor of its operation, and no other compiles', () => {
  expectTypeOf<ReadInput>().toEqualTypeOf<Input<'staff.conversations.read'>>();

  type ForMembers = (call: MemberCall, input: ReadInput) => ReadOutput;
  expectTypeOf<ForMembers>().toExtend<Handler<'staff.conversations.read'>>();
  expectTypeOf<ForMembers>().not.toExtend<Handler<'conversations.read'>>();

  type ForVisitors = (call: VisitorCall, input: ReadInput) => ReadOutput;
  expectTypeOf<ForVisitors>().toExtend<Handler<'conversations.read'>>();
  expectTypeOf<ForVisitors>().not.toExtend<Handler<'staff.conversations.read'>>();

  type ForBoth = (call: ParticipantCall, input: ReadInput) => ReadOutput;
  expectTypeOf<ForBoth>().toExtend<Handler<'conversations.read'>>();
  expectTypeOf<ForBoth>().toExtend<Handler<'staff.conversations.read'>>();
});

test('an operation of admins may be called by the command line, one of operators may not', () => {
  type Actor<C> = C extends Call<infer A> ? A : never;
  type ActorOf<H> = H extends (call: infer C, ...rest: never[]) => unknown ? Actor<C>['kind'] : never;
  expectTypeOf<ActorOf<Handler<'members.update'>>>().toEqualTypeOf<'member' | 'local'>();
  expectTypeOf<ActorOf<Handler<'staff.stats'>>>().toEqualTypeOf<MemberActor['kind']>();
  expectTypeOf<ActorOf<Handler<'messages.send'>>>().toEqualTypeOf<VisitorActor['kind']>();
  expectTypeOf<ActorOf<Handler<'organizations.create'>>>().toEqualTypeOf<'local'>();
});

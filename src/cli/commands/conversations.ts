// deskbell accept, release, resolve and transfer: the acts on one conversation.
// Holds no rule: the server decides, and says who was faster.
import type { Command } from 'commander';
import type { Colleague, Member } from '../../protocol/entities.ts';
import type { StaffConversation } from '../../sdk/staff-types.ts';
import type { WrapHandler, Context } from '../context.ts';
import {
  findConversationId,
  getConversation,
  explainRefusal,
  isWholeId,
  shortId,
} from '../conversation-lookup.ts';
import { CommandError } from '../errors.ts';
import { addServerOptions, isSdkError, withRemote, type Remote, type ServerOptions } from '../remote.ts';

export function addConversationCommands(program: Command, act: WrapHandler): void {
  const idAbout = 'its id, or at least six characters of its beginning or end';
  const add = (name: string, about: string): Command =>
    addServerOptions(program.command(name).description(about).argument('<ID>', idAbout));
  add('accept', 'accept a pending conversation').action(
    act<ServerOptions>((context, options, [id = '']) => performAct(context, options, id, 'accepted', accept)),
  );
  add('release', 'release a conversation to the queue').action(
    act<ServerOptions>((context, options, [id = '']) =>
      performAct(context, options, id, 'released', (remote, whole) => postAct(remote, whole, 'release')),
    ),
  );
  add('resolve', 'close a conversation').action(
    act<ServerOptions>((context, options, [id = '']) =>
      performAct(context, options, id, 'resolved', (remote, whole) => postAct(remote, whole, 'resolve')),
    ),
  );
  add('transfer', 'transfer a conversation to another member')
    .argument('<MEMBER>', "the member's id or name, or for admins the address")
    .action(
      act<ServerOptions>((context, options, [id = '', member = '']) =>
        performAct(context, options, id, 'transferred', async (remote, whole) =>
          postAct(remote, whole, 'transfer', { memberId: await findMemberId(remote, member) }),
        ),
      ),
    );
}

type Work = (remote: Remote, id: string) => Promise<StaffConversation>;

/** Does one act on a conversation and says how it stands. @param done as in "the conversation is done" */
export async function performAct(
  context: Context,
  options: ServerOptions,
  typed: string,
  done: string,
  work: Work,
): Promise<void> {
  const conversation = await withRemote(context, options, async (remote) => {
    const id = await findConversationId(context, remote, typed);
    try {
      return await work(remote, id);
    } catch (error) {
      throw await explainRefusal(context, remote, id, error);
    }
  });
  const { print } = context;
  if (print.json) return print.document(conversation);
  const whose =
    conversation.status === 'active' && conversation.assignedToName !== null
      ? ` It is ${conversation.assignedToName}'s.`
      : '';
  print.line(`The conversation ${shortId(conversation.id)} is ${done}.${whose}`);
  if (done === 'accepted')
    print.next(
      context.remoteCommand(`show ${shortId(conversation.id)}`),
      context.remoteCommand(`reply ${shortId(conversation.id)} TEXT`),
    );
  return undefined;
}

/** One act by its path below the conversation. @throws SdkError */
export async function postAct(
  { call }: Remote,
  id: string,
  act: string,
  body: object = {},
): Promise<StaffConversation> {
  return (await call<{ conversation: StaffConversation }>('POST', `/staff/conversations/${id}/${act}`, body))
    .conversation;
}

/** Accepting what one has already is no failure: a script may run twice. */
async function accept(remote: Remote, id: string): Promise<StaffConversation> {
  try {
    return await postAct(remote, id, 'accept');
  } catch (error) {
    if (!isSdkError(error, 'conflict')) throw error;
    const now = await getConversation(remote, id);
    if (now.status === 'active' && now.assignedTo === remote.signIn.member.id) return now;
    if (now.status === 'active')
      throw new CommandError(`${now.assignedToName ?? 'A colleague'} was faster and has the conversation.`, {
        cause: error,
      });
    throw error;
  }
}

/** @throws CommandError when no member, or more than one, is called so */
export async function findMemberId(remote: Remote, typed: string): Promise<string> {
  if (isWholeId(typed)) return typed;
  const name = typed.trim().toLowerCase();
  const known = await members(remote);
  const found = known.filter((one) => one.name.toLowerCase() === name || one.email === name);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only.id;
  if (found.length > 1)
    throw new CommandError(
      `${found.length} members are called ${typed}. Give the id: ${found.map(({ id }) => id).join(', ')}`,
    );
  const others = known.map(({ name: one, id }) => `${one} (${id})`).join(', ');
  throw new CommandError(`No member is called ${typed}${others === '' ? '' : `, but: ${others}`}.`);
}

/** With their addresses for an admin, with their names for an operator. */
async function members({
  call,
}: Remote): Promise<readonly { readonly id: string; readonly name: string; readonly email?: string }[]> {
  try {
    return (await call<{ members: readonly Member[] }>('GET', '/admin/members')).members;
  } catch (error) {
    if (!isSdkError(error, 'forbidden')) throw error;
    return (await call<{ members: readonly Colleague[] }>('GET', '/staff/members')).members;
  }
}

// The console on the server's own machine: the owner of the data folder signs in as one of
// its members without typing a password. The audit log of the organization says so.
import type { Member, Organization } from '../protocol/entities.ts';
import { openPrompt } from './prompt.ts';
import type { Context } from './context.ts';
import type { SignIn } from './credentials.ts';
import { CommandError } from './errors.ts';
import { withLocal, type Local } from './local.ts';
import type { ServerAddress } from './running-server.ts';
import { saveSession } from './sign-in.ts';

interface Candidate {
  readonly member: Member;
  readonly organization: Organization;
}

/**
 * Starts a session on the data folder, for the server that runs on it.
 * @param organization a slug, or all
 * @throws CommandError when there is no such organization or no member to sign in as, or the person cancels
 */
export async function signInLocally(
  context: Context,
  server: ServerAddress,
  organization: string | undefined,
): Promise<SignIn> {
  const session = await withLocal(context, async (local) => {
    const { member } = await choose(context, await candidates(context, local, organization));
    return local.run('session.createLocal', { memberId: member.id });
  });
  return saveSession(context, server.url, session);
}

async function candidates(
  context: Context,
  local: Local,
  slug: string | undefined,
): Promise<readonly Candidate[]> {
  const { organizations } = await local.run('organizations.list', {});
  const meant = organizations.filter((one) => slug === undefined || one.slug === slug);
  if (slug !== undefined && meant.length === 0)
    throw new CommandError(`There is no organization ${slug}. See: ${context.command('org list')}`);
  const found = await Promise.all(
    meant.map(async (organization) => {
      const { members } = await local.run('members.list', { organization: organization.id });
      return members.filter(({ disabled }) => !disabled).map((member) => ({ member, organization }));
    }),
  );
  return found.flat();
}

async function choose(context: Context, all: readonly Candidate[]): Promise<Candidate> {
  const [first, ...others] = all;
  if (first === undefined)
    throw new CommandError(
      `There is no member to sign in as. Add one: ${context.command('member add --org S --email E --name N --role admin')}`,
    );
  if (others.length === 0) return first;
  const { io, print } = context;
  print.line('Who are you?');
  for (const [index, { member, organization }] of all.entries())
    print.line(
      `${String(index + 1).padStart(4)}  `,
      ['bold', member.name],
      `  ${member.email}, ${member.role} of ${organization.slug}`,
    );
  const dialogue = openPrompt(io.input, io.errors);
  try {
    const answer = await dialogue.ask('Number: ', (text) =>
      all[Number(text) - 1] === undefined ? `A number from 1 to ${all.length}.` : null,
    );
    return all[Number(answer) - 1] ?? first;
  } finally {
    dialogue.close();
  }
}

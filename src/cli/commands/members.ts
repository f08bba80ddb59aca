// deskbell member …: who works in an organization. A password comes from a prompt,
// standard input or a variable, never from the command line. Holds no rule.
import { Argument, Option, type Command } from 'commander';
import { readConfig } from '../../config.ts';
import { secretFromEnvironment } from '../../config/secrets.ts';
import type { Member, Role } from '../../protocol/entities.ts';
import { openPrompt, readSecret } from '../prompt.ts';
import type { WrapHandler, Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { addCommandGroup, requireConfirmation, oneOf } from '../command-builder.ts';
import { assertDatabase, runLocal } from '../local.ts';

interface PasswordOption {
  readonly passwordStdin?: boolean;
}

interface AddOptions extends PasswordOption {
  readonly org: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
}

interface InviteOptions extends Omit<AddOptions, keyof PasswordOption> {
  readonly baseUrl?: string;
}

const roles: readonly Role[] = ['admin', 'operator'];

export function addMemberCommands(program: Command, act: WrapHandler): void {
  const member = addCommandGroup(program, 'member', 'admins and operators of an organization');
  const id = (command: Command): Command => command.argument('<ID>', "the member's id");
  const password = (command: Command): Command =>
    command.option(
      '--password-stdin',
      'read the password from standard input (else DESKBELL_PASSWORD, else a question)',
    );

  password(
    member
      .command('add')
      .description('add a member; asks for the password')
      .requiredOption('--org <S>', 'the organization (slug or id)')
      .requiredOption('--email <E>', 'the address to sign in with')
      .requiredOption('--name <N>', 'the name that visitors see')
      .addOption(
        new Option('--role <R>', 'admin configures, operator answers').choices(roles).makeOptionMandatory(),
      ),
  ).action(act<AddOptions>(addMember));
  member
    .command('invite')
    .description('add a member by a link that works once, for three days; the member chooses the password')
    .requiredOption('--org <S>', 'the organization (slug or id)')
    .requiredOption('--email <E>', 'the address to sign in with')
    .requiredOption('--name <N>', 'the name that visitors see')
    .addOption(
      new Option('--role <R>', 'admin configures, operator answers').choices(roles).makeOptionMandatory(),
    )
    .option('--base-url <URL>', 'the address of the server, for the link (default DESKBELL_BASE_URL)')
    .action(act<InviteOptions>(inviteMember));
  member
    .command('list')
    .description('list the members of an organization')
    .requiredOption('--org <S>', 'the organization (slug or id)')
    .action(act<{ org: string }>(listMembers));
  id(member.command('role').description("change a member's role"))
    .addArgument(new Argument('<ROLE>').choices(roles))
    .action(
      act(async (context, _options, [memberId = '', role]) =>
        showMember(
          context,
          await runLocal(context, 'members.update', { memberId, role: oneOf(roles, role) }),
        ),
      ),
    );
  password(
    id(member.command('password').description('set a new password; ends all sessions of the member')),
  ).action(act<PasswordOption>(setPassword));
  id(member.command('disable').description('disable a member; ends all their sessions')).action(
    act(async (context, _options, [memberId = '']) =>
      showMember(context, await runLocal(context, 'members.update', { memberId, disabled: true })),
    ),
  );
  id(member.command('enable').description('enable a disabled member')).action(
    act(async (context, _options, [memberId = '']) =>
      showMember(context, await runLocal(context, 'members.update', { memberId, disabled: false })),
    ),
  );
  id(member.command('sign-out').description('end all sessions and tokens of a member, at once')).action(
    act(async (context, _options, [memberId = '']) =>
      showDone(context, await runLocal(context, 'members.signOut', { memberId }), 'Signed out everywhere.'),
    ),
  );
  id(
    member
      .command('reset-second-factor')
      .description('for a member who lost it: removes the second factor, ends all sessions'),
  ).action(
    act(async (context, _options, [memberId = '']) =>
      showDone(
        context,
        await runLocal(context, 'members.resetSecondFactor', { memberId }),
        'The second factor is removed. The password alone lets the member in, unless the organization demands more.',
      ),
    ),
  );
  id(member.command('remove').description('remove a member; what they wrote stays'))
    .option('--yes', 'confirm')
    .action(act<{ yes?: boolean }>(removeMember));
}

/** @throws UsageError when there is no way to get one */
async function newPassword(context: Context, { passwordStdin }: PasswordOption): Promise<string> {
  const { input, errors } = context.io;
  if (passwordStdin === true) return readSecret(input);
  const given = secretFromEnvironment('DESKBELL_PASSWORD');
  if (given !== null) return given.reveal();
  if (input.isTTY !== true)
    throw new UsageError(
      'No password: pipe it in with --password-stdin, set DESKBELL_PASSWORD, or run this on a terminal to be asked.',
    );
  const dialogue = openPrompt(input, errors);
  try {
    return await dialogue.newPassword('Password (8 characters or more, not shown): ', checkPassword);
  } finally {
    dialogue.close();
  }
}

/** What a prompt can say at once; the rule itself is the operation's. */
function checkPassword(password: string): string | null {
  return password.length < 8 ? 'That is too short: 8 characters or more.' : null;
}

function showDone({ print }: Context, done: object, sentence: string): void {
  if (print.json) print.document(done);
  else print.line(sentence);
}

async function addMember(context: Context, options: AddOptions): Promise<void> {
  await assertDatabase(context);
  const { org, email, name, role } = options;
  const password = await newPassword(context, options);
  const made = await runLocal(context, 'members.add', { organization: org, email, name, role, password });
  showMember(context, made);
  context.print.next(context.command('serve'), context.command(`tail --org ${org}`));
}

async function inviteMember(
  context: Context,
  { org, email, name, role, baseUrl }: InviteOptions,
): Promise<void> {
  const base = readConfig({ baseUrl }).baseUrl ?? 'http://127.0.0.1:4600';
  const { member, token, expiresAt } = await runLocal(context, 'members.invite', {
    organization: org,
    email,
    name,
    role,
  });
  const url = `${base}/invitation#${token}`;
  const { print } = context;
  if (print.json)
    return print.document({
      id: member.id,
      email,
      name,
      role,
      organizationId: member.organizationId,
      url,
      expiresAt,
    });
  print.line(`Send this link to ${member.email}; it works once, until ${expiresAt}:`);
  print.line(url);
  return undefined;
}

function showMember({ print }: Context, { id, email, name, role, organizationId, disabled }: Member): void {
  if (print.json)
    return print.document({ id, email, name, role, organizationId, ...(disabled ? { disabled } : {}) });
  print.fields([
    ['name', name],
    ['email', email],
    ['role', role],
    ['state', disabled ? 'disabled' : 'enabled'],
    ['id', id],
  ]);
}

async function listMembers(context: Context, { org }: { org: string }): Promise<void> {
  const { members } = await runLocal(context, 'members.list', { organization: org });
  const { print } = context;
  if (print.json) return print.document({ items: members });
  print.table(
    ['ID', 'NAME', 'EMAIL', 'ROLE', 'SECOND FACTOR', 'STATE'],
    members.map((one) => [
      one.id,
      one.name,
      one.email,
      one.role,
      one.secondFactors.join(', ') || 'none',
      one.disabled ? 'disabled' : 'enabled',
    ]),
    `No members yet. Add one: ${context.command(`member add --org ${org} --email E --name N --role admin`)}`,
  );
}

async function setPassword(
  context: Context,
  options: PasswordOption,
  [memberId = '']: readonly string[],
): Promise<void> {
  await assertDatabase(context);
  const password = await newPassword(context, options);
  showMember(context, await runLocal(context, 'members.update', { memberId, password }));
  if (context.print.interactive)
    context.print.line('The new password is set; every session of this member has ended.');
}

async function removeMember(
  context: Context,
  { yes }: { yes?: boolean },
  [memberId = '']: readonly string[],
): Promise<void> {
  requireConfirmation(yes, `the member ${memberId}`);
  const done = await runLocal(context, 'members.remove', { memberId });
  if (context.print.json) context.print.document(done);
  else context.print.line('The member is removed.');
}

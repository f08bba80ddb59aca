// The first run: asks everything first, then makes the organization, the
// application and the admin. Leaving half-way leaves nothing behind.
import type { Application, Member, Organization } from '../protocol/entities.ts';
import { normaliseDomain } from '../services/auth/origins.ts';
import { openPrompt, type Prompt } from './prompt.ts';
import type { Io } from './context.ts';
import type { Local } from './local.ts';
import { onStopSignal } from './signals.ts';

export interface FirstAnswers {
  readonly organization: string;
  readonly name: string;
  readonly email: string;
  readonly password: string;
  /** null: not said. */
  readonly domain: string | null;
}

export interface FirstResources {
  readonly organization: Organization;
  readonly application: Application;
  readonly member: Member;
  /** A stop was requested during the questions. */
  readonly stopped: boolean;
}

/** @throws CommandError when the person leaves */
export async function askFirstQuestions({
  input,
  errors,
}: Pick<Io, 'input' | 'errors'>): Promise<FirstAnswers> {
  const { operations } = await import('../protocol/operations.ts');
  const { name, email, password } = operations['members.add'].input.shape;
  const dialogue = openPrompt(input, errors, 'Stopped; nothing was created.');
  try {
    return await askAll(dialogue, {
      name: (answer) => problemOf(name.safeParse(answer), 'A name has 1 to 100 characters.'),
      email: (answer) => problemOf(email.safeParse(answer), 'That is not an e-mail address.'),
      password: (answer) => {
        const { error } = password.safeParse(answer);
        return error === undefined
          ? null
          : `This password ${error.issues.map(({ message }) => message).join(', ')}.`;
      },
      domain: (answer) => {
        const checked = normaliseDomain(answer);
        return answer === '' || checked.ok ? null : `That can't be: ${checked.problem}.`;
      },
    });
  } finally {
    dialogue.close();
  }
}

type Check = (answer: string) => string | null;

async function askAll(
  dialogue: Prompt,
  check: Readonly<Record<'name' | 'email' | 'password' | 'domain', Check>>,
): Promise<FirstAnswers> {
  const organization = await dialogue.ask('Organization: ', check.name);
  const name = await dialogue.ask('Your name (visitors see it): ', check.name);
  const email = await dialogue.ask('Your e-mail address: ', check.email);
  const password = await dialogue.newPassword(
    'A password (8 characters or more, not shown): ',
    check.password,
  );
  const domain = await dialogue.ask('Your website, for example example.com (Enter: later): ', check.domain);
  return { organization, name, email, password, domain: domain === '' ? null : domain };
}

function problemOf({ success }: { success: boolean }, sentence: string): string | null {
  return success ? null : sentence;
}

/** Makes what was asked for. A Ctrl-C waits until it is whole. */
export async function createFirstResources(local: Local, answers: FirstAnswers): Promise<FirstResources> {
  using stop = onStopSignal();
  const organization = await local.run('organizations.create', { name: answers.organization });
  const application = await local.run('applications.create', {
    organization: organization.id,
    name: answers.organization,
    domains: answers.domain === null ? [] : [answers.domain],
  });
  const { name, email, password } = answers;
  const member = await local.run('members.add', {
    organization: organization.id,
    name,
    email,
    password,
    role: 'admin',
  });
  return { organization, application, member, stopped: stop.signal.aborted };
}

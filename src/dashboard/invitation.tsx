// Owns the pages behind the links of an invitation and of a forgotten password: the member chooses a password, and then
// signs in with it. The token came in the part of the address that browsers do not send.
import './ui/form-look.ts';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { serverAddress } from './router.ts';
import { SignIn } from './sign-in.tsx';
import { parse, post, refusedSentence, shortestPassword } from './sign-in-calls.ts';
import { Button } from './ui/button.tsx';
import { Field } from './ui/field.tsx';
import { t } from './words.ts';

/** Which link led here. */
export type PasswordLink = 'invitation' | 'reset';

interface Accepted {
  readonly organization: string;
  readonly email: string;
}

interface Answers {
  readonly invitation: {
    readonly member: { readonly email: string };
    readonly organization: { readonly slug: string };
  };
  readonly reset: Accepted;
}

const paths = { invitation: 'invitation', reset: 'password/reset' } as const;

/** @returns whose password was set, or a sentence that says why it was not */
async function accept(link: PasswordLink, token: string, password: string): Promise<Accepted | string> {
  const answer = await post(paths[link], { token, password });
  if (answer.refused !== null) return refusedSentence(paths[link], answer.refused, password);
  if (link === 'reset') return parse<Answers['reset']>(answer.body);
  const { member, organization } = parse<Answers['invitation']>(answer.body);
  return { organization: organization.slug, email: member.email };
}

export interface InvitationProps {
  readonly link: PasswordLink;
  readonly token: string;
}

/** A page of its own: another member may be signed in here, whose desk must not go on under the new session. */
function openDesk(): void {
  location.replace(`${serverAddress()}/`);
}

/** Asks for a password, then to sign in with it. */
export function Invitation({ link, token }: InvitationProps): JSX.Element {
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const [accepted, setAccepted] = useState<Accepted | null>(null);
  const title = link === 'reset' ? t('newPassword') : t('invitation');
  useEffect(() => {
    document.title = `${title} · Deskbell`;
  }, [title]);
  if (accepted !== null) return <SignIn note={t('passwordIsSet')} known={accepted} onDone={openDesk} />;
  const submit = async (): Promise<void> => {
    setBusy(true);
    const answer = await accept(link, token, password);
    setBusy(false);
    if (typeof answer === 'string') setProblem(answer);
    else setAccepted(answer);
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h1>{title}</h1>
        <p>{t('choosePassword')}</p>
        <Field
          label={t('password')}
          hint={t('passwordLength', { n: shortestPassword })}
          type="password"
          name="password"
          autocomplete="new-password"
          maxLength={1024}
          required
          autofocus
          value={password}
          onInput={setPassword}
        />
        <p class="problem" role="alert">
          {problem}
        </p>
        <Button kind="main" type="submit" busy={busy} class="wide">
          {t('setPassword')}
        </Button>
      </form>
    </main>
  );
}

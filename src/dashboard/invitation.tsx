// Owns the page behind an invitation's link: the invited member chooses a password, and then signs in with it. The token
// came in the part of the address that browsers do not send.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { visitorApiPrefix } from '../protocol/codes.ts';
import { serverAddress } from './router.ts';
import { SignIn } from './sign-in.tsx';
import { Button } from './ui/button.tsx';
import { Field } from './ui/field.tsx';
import { say, t } from './words.ts';

interface Accepted {
  readonly member: { readonly email: string };
  readonly organization: { readonly slug: string };
}

const parse: <T>(text: string) => T = JSON.parse;

/** @returns whose password was set, or a sentence that says why it was not */
async function accept(token: string, password: string): Promise<Accepted | string> {
  try {
    const response = await fetch(`${serverAddress()}${visitorApiPrefix}/staff/invitation`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, password }),
    });
    const text = await response.text();
    return response.ok ? parse<Accepted>(text) : parse<{ message: string }>(text).message;
  } catch {
    return say('unreachable');
  }
}

export interface InvitationProps {
  readonly token: string;
  /** The organization whose page this is; null: the answer names it. */
  readonly organization: string | null;
  /** The invited member has signed in. */
  readonly onDone: () => void;
}

/** Asks for a password, then to sign in with it. */
export function Invitation({ token, organization, onDone }: InvitationProps): JSX.Element {
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const [accepted, setAccepted] = useState<Accepted | null>(null);
  useEffect(() => {
    document.title = `${t('invitation')} · Deskbell`;
  }, []);
  if (accepted !== null)
    return (
      <SignIn
        note={t('passwordIsSet')}
        organization={organization}
        known={{ organization: accepted.organization.slug, email: accepted.member.email }}
        onDone={onDone}
      />
    );
  const submit = async (): Promise<void> => {
    setBusy(true);
    const answer = await accept(token, password);
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
        <h1>{t('invitation')}</h1>
        <p>{t('choosePassword')}</p>
        <Field
          label={t('password')}
          hint={t('passwordLength', { n: 8 })}
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

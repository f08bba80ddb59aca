// Owns signing in: organization, e-mail address and password, then the second factor.
import './ui/form-look.ts';
import { useEffect, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { visitorApiPrefix } from '../protocol/codes.ts';
import type { OwnAccount, PasskeyRequest } from '../protocol/sign-in.ts';
import { titlePage } from './page-title.ts';
import { serverAddress } from './router.ts';
import { parse, post, refusedSentence, type Pending, type Refused } from './sign-in-calls.ts';
import { Button } from './ui/button.tsx';
import { Field } from './ui/field.tsx';
import { readSetting, t, takeAccountLanguage, writeSetting } from './words.ts';

const organizationKey = 'deskbell.organization';

/** One step of a sign-in. The session's token is in a cookie afterwards, and never here. @returns why it was refused */
async function ask(path: string, body: object): Promise<Refused | null> {
  return (await post(path, { ...body, cookie: true })).refused;
}

/** Learns which language the account has. @returns whether the page speaks another one */
async function hasAnotherLanguage(): Promise<boolean> {
  try {
    const response = await fetch(`${serverAddress()}${visitorApiPrefix}/staff/me`);
    if (!response.ok) return false;
    return takeAccountLanguage(parse<{ member: OwnAccount }>(await response.text()).member.locale);
  } catch {
    return false;
  }
}

/** Signs in with the ticket of a link, once. @returns why that was refused; null: it was not */
export async function signInByLink(ticket: string): Promise<Refused | null> {
  const refused = await ask('session/link', { ticket });
  if (refused !== null) return refused;
  await hasAnotherLanguage();
  if (document.querySelector('link[as=fetch]') === null) return null;
  // What this page was sent along with is of the member who was signed in here before: it would be taken for the answers.
  location.reload();
  return new Promise(() => undefined);
}

/** The organization whose page this is, where the server knows it by the host's name; null: it has to be written. */
function namedOrganization(): string | null {
  return document.querySelector<HTMLMetaElement>('meta[name=deskbell-organization]')?.content ?? null;
}

/** The short name of the organization, where the address names it: the first label of the host, else the last one used. */
function guessedOrganization(): string {
  return new URLSearchParams(location.search).get('organization') ?? readSetting(organizationKey) ?? '';
}

export interface SignInProps {
  /** Why the member has to sign in again. */
  readonly note: string | null;
  /** What the form begins with. */
  readonly known?: { readonly organization: string; readonly email: string };
  readonly onDone: () => void;
}

/** The whole page before a member is signed in. */
export function SignIn({ note, known, onDone }: SignInProps): JSX.Element {
  const fixed = namedOrganization();
  const [organization, setOrganization] = useState(fixed ?? known?.organization ?? guessedOrganization());
  const [email, setEmail] = useState(known?.email ?? '');
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const [pending, setPending] = useState<Pending | null>(null);
  const [forgot, setForgot] = useState(false);
  useEffect(() => titlePage(t('signIn')), []);

  const step = async (path: string, body: object): Promise<void> => {
    setBusy(true);
    setProblem('');
    const refused = await ask(path, body);
    setBusy(false);
    if (refused === null) {
      if (fixed === null) writeSetting(organizationKey, organization);
      // What is kept behind a sign-in again would be gone with a reload.
      if ((await hasAnotherLanguage()) && note === null) return location.reload();
      return onDone();
    }
    if (refused.pending !== null) setPending(refused.pending);
    if (refused.pending === null || pending !== null) setProblem(refusedSentence(path, refused));
    return undefined;
  };

  if (forgot)
    return (
      <Forgot
        organization={organization}
        fixed={fixed !== null}
        email={email}
        onBack={() => setForgot(false)}
      />
    );
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (pending === null) void step('session', { organization, email, password });
        }}
      >
        <h1>{pending === null ? t('signIn') : t('secondFactor')}</h1>
        {note === null || pending !== null ? null : (
          <p class="callout" role="alert">
            {note}
          </p>
        )}
        {pending === null ? (
          <>
            {fixed === null ? (
              <Field
                label={t('organization')}
                hint={t('organizationHint')}
                name="organization"
                autocomplete="organization"
                machine
                required
                value={organization}
                onInput={setOrganization}
              />
            ) : null}
            <Field
              label={t('email')}
              type="email"
              name="email"
              autocomplete="username"
              machine
              required
              value={email}
              onInput={setEmail}
            />
            <Field
              label={t('password')}
              type="password"
              name="password"
              autocomplete="current-password"
              required
              value={password}
              onInput={setPassword}
            />
            <p class="problem" role="alert">
              {problem}
            </p>
            <Button kind="main" type="submit" busy={busy} class="wide">
              {t('signIn')}
            </Button>
            <Button kind="quiet" onClick={() => setForgot(true)}>
              {t('forgotPassword')}
            </Button>
            <p class="hint">{t('firstMember')}</p>
            <p>
              <code dir="ltr">deskbell member add</code>
            </p>
          </>
        ) : null}
      </form>
      {pending === null ? null : (
        <SecondFactor
          pending={pending}
          problem={problem}
          busy={busy}
          organization={organization}
          onProof={(proof) => void step('session/second-factor', { ticket: pending.ticket, ...proof })}
          onProblem={setProblem}
          onBack={() => {
            setPending(null);
            setProblem('');
          }}
        />
      )}
    </main>
  );
}

interface ForgotProps {
  readonly organization: string;
  /** Whether the organization is that of the page. */
  readonly fixed: boolean;
  readonly email: string;
  readonly onBack: () => void;
}

/** Asks for a link to a new password. What is answered does not tell whether there is such an account. */
function Forgot({ organization: first, fixed, email: known, onBack }: ForgotProps): JSX.Element {
  const [organization, setOrganization] = useState(first);
  const [email, setEmail] = useState(known);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const [sent, setSent] = useState(false);
  const send = async (): Promise<void> => {
    setBusy(true);
    setProblem('');
    const { refused } = await post('password/forgot', { organization, email });
    setBusy(false);
    if (refused === null) setSent(true);
    else setProblem(refusedSentence('password/forgot', refused));
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!sent) void send();
        }}
      >
        <h1>{t('forgotPassword')}</h1>
        {sent ? (
          <p class="callout" role="status">
            {t('linkOnItsWay')}
          </p>
        ) : (
          <>
            <p>{t('forgotAbout')}</p>
            {fixed ? null : (
              <Field
                label={t('organization')}
                hint={t('organizationHint')}
                name="organization"
                autocomplete="organization"
                machine
                required
                value={organization}
                onInput={setOrganization}
              />
            )}
            <Field
              label={t('email')}
              type="email"
              name="email"
              autocomplete="username"
              machine
              required
              value={email}
              onInput={setEmail}
            />
            <p class="problem" role="alert">
              {problem}
            </p>
            <Button kind="main" type="submit" busy={busy} class="wide">
              {t('mailLink')}
            </Button>
          </>
        )}
        <Button kind="quiet" onClick={onBack}>
          {t('back')}
        </Button>
      </form>
    </main>
  );
}

interface SecondFactorProps {
  readonly pending: Pending;
  readonly problem: string;
  readonly busy: boolean;
  readonly organization: string;
  readonly onProof: (proof: object) => void;
  readonly onProblem: (problem: string) => void;
  readonly onBack: () => void;
}

function SecondFactor({
  pending,
  problem,
  busy,
  organization,
  onProof,
  onProblem,
  onBack,
}: SecondFactorProps): JSX.Element {
  const [code, setCode] = useState('');
  const { methods, passkey } = pending;
  const hasCode = methods.includes('totp') || methods.includes('recovery');
  const usePasskey = async (options: PasskeyRequest): Promise<void> => {
    try {
      const { showPasskey } = await import('../../widget/security/browser-passkeys.ts');
      onProof({ assertion: await showPasskey(options) });
    } catch {
      onProblem(t('passkeyFailed'));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onProof({ code: code.trim() });
      }}
    >
      {methods.includes('setup') ? (
        <>
          <p>{t('secondFactorSetUp')}</p>
          <a class="button main" href={`security?organization=${encodeURIComponent(organization)}`}>
            {t('secondFactorPage')}
          </a>
        </>
      ) : null}
      {passkey === undefined ? null : (
        <Button kind="main" busy={busy} class="wide" onClick={() => void usePasskey(passkey)}>
          {t('passkey')}
        </Button>
      )}
      {hasCode ? (
        <>
          <Field
            label={methods.includes('totp') ? t('code') : t('recoveryCode')}
            name="code"
            autocomplete="one-time-code"
            machine
            required
            autofocus
            value={code}
            onInput={setCode}
          />
          <Button type="submit" kind={passkey === undefined ? 'main' : 'plain'} busy={busy} class="wide">
            {t('proceed')}
          </Button>
        </>
      ) : null}
      <p class="problem" role="alert">
        {problem}
      </p>
      <Button kind="quiet" onClick={onBack}>
        {t('beginAgain')}
      </Button>
    </form>
  );
}

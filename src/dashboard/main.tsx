// Begins: colours, language, session; then draws the page of a member, or the sign-in.
import { render, type ComponentType, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { session } from './api.ts';
import { desk, signedIn, signedOutNote } from './desk.ts';
import { Inbox } from './inbox/inbox.tsx';
import { go, hrefOf, route, serverAddress } from './router.ts';
import type { InvitationProps, PasswordLink } from './invitation.tsx';
import type { SignInProps } from './sign-in.tsx';
import type { Refused } from './sign-in-calls.ts';
import { Sidebar } from './sidebar.tsx';
import { applyTheme } from './theme.ts';
import { Toasts, toast } from './ui/toast.tsx';
import { loadLanguage, t, withWords } from './words.ts';

function App(): JSX.Element | null {
  if (session.value === undefined) return <p class="starting">{t('loading')}</p>;
  const isOut = session.value === null;
  const inSettings = route.value.page === 'settings';
  // What is written in the settings waits behind the sign-in; what is written in the inbox is in the model.
  const isKept = inSettings && signedOutNote.value !== null;
  return (
    <>
      {isOut ? <LazySignIn /> : null}
      {isOut && !isKept ? null : (
        <div class="app" style={{ display: isOut ? 'none' : '' }}>
          <Sidebar />
          {inSettings ? <LazySettings /> : <Inbox />}
        </div>
      )}
      <Toasts />
    </>
  );
}

/** A page that is fetched when it is first drawn, or what stands in its place where it can't be had; null: on its way. */
function usePage<P>(load: () => Promise<ComponentType<P>>): ComponentType<P> | null {
  const [page, setPage] = useState<ComponentType<P> | null>(null);
  useEffect(() => {
    withWords(load()).then(
      (loaded) => setPage(() => loaded),
      () => setPage(() => NotLoaded),
    );
  }, []);
  return page;
}

function NotLoaded(): JSX.Element {
  return (
    <p class="starting" role="alert">
      {t('pageNotLoaded')}
    </p>
  );
}

function LazySignIn(): JSX.Element | null {
  const SignIn = usePage<SignInProps>(async () => (await import('./sign-in.tsx')).SignIn);
  return SignIn === null ? null : <SignIn note={signedOutNote.value} onDone={signedIn} />;
}

function LazyInvitation(props: InvitationProps): JSX.Element | null {
  const Invitation = usePage<InvitationProps>(async () => (await import('./invitation.tsx')).Invitation);
  return Invitation === null ? null : <Invitation {...props} />;
}

function LazySettings(): JSX.Element {
  const Settings = usePage(async () => (await import('./settings/settings.tsx')).Settings);
  return Settings === null ? (
    <main class="settings-page">
      <p class="loading">{t('loading')}</p>
    </main>
  ) : (
    <Settings />
  );
}

interface TrustedPolicy {
  /** Answers an object of the browser's, which stands for the address wherever one is asked for. */
  createScriptURL(url: string): string;
}

declare global {
  var trustedTypes:
    | { createPolicy(name: string, rules: { createScriptURL(url: string): string }): TrustedPolicy }
    | undefined;
}

/** Keeps the page's shell for a start without a connection, where the browser and the connection allow it. */
async function keepShell(): Promise<void> {
  if (!('serviceWorker' in navigator) || !isSecureContext) return;
  const worker = `${serverAddress()}/sw.js`;
  // The one address that may become a script's; everything else is refused by the page's policy.
  const policy = globalThis.trustedTypes?.createPolicy('deskbell', {
    createScriptURL: (url) => {
      if (url !== worker) throw new TypeError('This is no script of the dashboard.');
      return url;
    },
  });
  await navigator.serviceWorker.register(policy?.createScriptURL(worker) ?? worker);
  navigator.serviceWorker.addEventListener('message', ({ data }: MessageEvent<{ open?: unknown } | null>) => {
    if (typeof data?.open === 'string') go(hrefOf('c', data.open));
  });
}

/** Says why a link did not sign in. */
async function sayWhyNot(refused: Refused): Promise<void> {
  const { refusedSentence } = await withWords(import('./sign-in-calls.ts'));
  toast(refusedSentence('session/link', refused), 'bad');
}

/** A browser that is sent pushes goes on with it, under whatever key the service has now. */
function renewPush(): void {
  if (!('Notification' in globalThis) || Notification.permission !== 'granted') return;
  // What fails here is seen, and mended, on the page of notifications.
  import('./push.ts').then(({ renew }) => renew()).catch(() => undefined);
}

/** Draws the page behind the link of an invitation or of a forgotten password, and nothing of the desk behind it. */
async function beginInvitation(link: PasswordLink, token: string): Promise<void> {
  // As below: the token must not stay in the address.
  history.replaceState(null, '', location.pathname + location.search);
  await loadLanguage();
  render(
    <>
      <LazyInvitation link={link} token={token} />
      <Toasts />
    </>,
    document.body,
  );
}

async function begin(): Promise<void> {
  applyTheme();
  // A link of a mail, opened on a page that is here already: the browser changes nothing but the hash.
  addEventListener('hashchange', () => {
    if (/^#(?:reset|sign-in)=/.test(location.hash)) location.reload();
  });
  if (location.pathname.endsWith('/invitation')) return beginInvitation('invitation', location.hash.slice(1));
  const reset = /^#reset=([\w.-]+)$/.exec(location.hash)?.[1];
  if (reset !== undefined) return beginInvitation('reset', reset);
  const ticket = /^#sign-in=([\w.-]+)$/.exec(location.hash)?.[1];
  // The ticket must not stay in the address, where it can be read over a shoulder or in the history.
  if (ticket !== undefined) history.replaceState(null, '', location.pathname + location.search);
  // A sign-in learns the account's language.
  const byLink =
    ticket === undefined
      ? null
      : await import('./sign-in.tsx').then(({ signInByLink }) => signInByLink(ticket));
  const spoken = loadLanguage();
  const { model } = desk();
  // The session is asked for while the language is on its way.
  const started = model.start('');
  await spoken;
  render(<App />, document.body);
  if (byLink !== null) sayWhyNot(byLink).catch(() => undefined);
  keepShell().catch(() => undefined);
  started.then(renewPush).catch((error: unknown) => model.context.report(error));
}

void begin();

// Begins: colours, language, session; then draws the page of somebody who is signed in or not.
import { render, type ComponentType, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { session } from './api.ts';
import { desk, signedIn, signedOutNote } from './desk.ts';
import { Inbox } from './inbox/inbox.tsx';
import { route } from './router.ts';
import type { SignInProps } from './sign-in.tsx';
import { Sidebar } from './sidebar.tsx';
import { applyTheme } from './theme.ts';
import { Toasts, toast } from './ui/toast.tsx';
import { loadLanguage, t } from './words.ts';

function App(): JSX.Element | null {
  if (session.value === undefined) return <p class="starting">{t('loading')}</p>;
  return (
    <>
      {session.value === null ? (
        <LazySignIn />
      ) : (
        <div class="app">
          <Sidebar />
          {route.value.page === 'settings' ? <LazySettings /> : <Inbox />}
        </div>
      )}
      <Toasts />
    </>
  );
}

function LazySignIn(): JSX.Element | null {
  const [SignIn, setSignIn] = useState<ComponentType<SignInProps> | null>(null);
  useEffect(() => {
    import('./sign-in.tsx').then(
      (loaded) => setSignIn(() => loaded.SignIn),
      () => toast(t('pageNotLoaded'), 'bad'),
    );
  }, []);
  return SignIn === null ? null : <SignIn note={signedOutNote.value} organization={null} onDone={signedIn} />;
}

function LazySettings(): JSX.Element {
  const [Settings, setSettings] = useState<ComponentType | null>(null);
  useEffect(() => {
    import('./settings/settings.tsx').then(
      (loaded) => setSettings(() => loaded.Settings),
      () => toast(t('pageNotLoaded'), 'bad'),
    );
  }, []);
  return Settings === null ? (
    <main class="settings-page">
      <p class="loading">{t('loading')}</p>
    </main>
  ) : (
    <Settings />
  );
}

async function begin(): Promise<void> {
  applyTheme();
  const ticket = /^#sign-in=([\w.-]+)$/.exec(location.hash)?.[1];
  // The ticket must not stay in the address, where it can be read over a shoulder or in the history.
  if (ticket !== undefined) history.replaceState(null, '', location.pathname + location.search);
  const [, byLink] = await Promise.all([
    loadLanguage(),
    ticket === undefined ? null : import('./sign-in.tsx').then(({ signInByLink }) => signInByLink(ticket)),
  ]);
  const { model } = desk();
  render(<App />, document.body);
  if (byLink === false) toast(t('linkSpent'), 'bad');
  model.start('').catch((error: unknown) => model.context.report(error));
}

void begin();

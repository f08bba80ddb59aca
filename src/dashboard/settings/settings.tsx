// Owns the frame of the settings: the menu of pages and the page that is open. Loaded when the settings are opened.
import type { ComponentType, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { session } from '../api.ts';
import { titlePage } from '../page-title.ts';
import { go, hrefOf, route } from '../router.ts';
import css from '../styles/settings.css';
import { adopt } from '../ui/adopt.ts';
import '../ui/form-look.ts';
import { useKeptFocus } from './kept-focus.ts';
import { LeaveQuestion } from './unsaved.tsx';
import { loadSettingsWords, s } from './words.ts';
import { checkRightsAgain } from '../rights.ts';
import { Icon } from '../ui/icon.tsx';
import { t } from '../words.ts';
import { settingsPages, type SettingsPage, type SettingsPageProps } from './pages.ts';

adopt(css);

function pagesFor(isAdmin: boolean): readonly SettingsPage[] {
  return settingsPages.filter(({ adminOnly }) => isAdmin || !adminOnly);
}

export function Settings(): JSX.Element | null {
  const [state, setState] = useState<'loading' | 'ready' | 'failed'>('loading');
  useEffect(() => {
    loadSettingsWords().then(
      () => setState('ready'),
      () => setState('failed'),
    );
  }, []);
  if (state === 'ready') return <Frame />;
  return state === 'loading' ? <p class="loading">{t('loading')}</p> : <NotLoaded />;
}

function NotLoaded(): JSX.Element {
  return (
    <p class="callout bad" role="alert">
      {t('pageNotLoaded')}
    </p>
  );
}

function Frame(): JSX.Element {
  const at = route.value;
  const section = at.page === 'settings' ? at.section : '';
  const rest = at.page === 'settings' ? at.rest : [];
  const pages = pagesFor(session.value?.member.role === 'admin');
  useEffect(checkRightsAgain, [section]);
  const allowed = pages.find(({ id }) => id === section);
  // What is written on a page outlasts the right to save it, and a session that is over.
  const kept = useRef<SettingsPage | undefined>(undefined);
  kept.current = allowed ?? (kept.current?.id === section ? kept.current : undefined);
  const open = kept.current ?? null;
  return (
    <div class={`settings ${open === null ? 'at-menu' : 'at-page'}`}>
      <nav aria-label={t('settings')}>
        {/* Beside a page that is open, the page's own title is the one of the window. */}
        {open === null ? <h1>{t('settings')}</h1> : <p class="menu-title">{t('settings')}</p>}
        <ul>
          {pages.map(({ id, title, icon }) => (
            <li key={id}>
              <a href={hrefOf('settings', id)} aria-current={id === section ? 'page' : undefined}>
                <Icon name={icon} />
                <span>{title()}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {open === null ? (
        <main class="settings-page empty-page" tabIndex={-1}>
          <p>{t('settingsChoose')}</p>
        </main>
      ) : (
        <OpenPage key={open.id} page={open} rest={rest} readOnly={allowed === undefined} />
      )}
      <LeaveQuestion />
    </div>
  );
}

interface OpenPageProps extends SettingsPageProps {
  readonly page: SettingsPage;
  /** The member may not open it any more. */
  readonly readOnly: boolean;
}

function OpenPage({ page, rest, readOnly }: OpenPageProps): JSX.Element {
  const [Page, setPage] = useState<ComponentType<SettingsPageProps> | null>(null);
  const [failed, setFailed] = useState(false);
  const ref = useRef<HTMLElement>(null);
  useKeptFocus(ref);
  useEffect(() => {
    let gone = false;
    const untitle = titlePage(page.title());
    page.load().then(
      (loaded) => {
        if (!gone) setPage(() => loaded.Page);
      },
      () => setFailed(true),
    );
    return () => {
      gone = true;
      untitle();
    };
  }, [page]);
  return (
    <main class="settings-page" ref={ref}>
      <header>
        <button
          type="button"
          class="icon-button only-narrow"
          aria-label={t('back')}
          onClick={() => go('#/settings')}
        >
          <Icon name="back" />
        </button>
        <h1>{page.title()}</h1>
      </header>
      {readOnly ? (
        <p class="callout bad" role="status">
          {s('rightsGone')}
        </p>
      ) : null}
      {failed ? (
        <NotLoaded />
      ) : Page === null ? (
        <p class="loading" role="status">
          {t('loading')}
        </p>
      ) : (
        <Page rest={rest} />
      )}
    </main>
  );
}

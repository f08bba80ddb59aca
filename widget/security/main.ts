// The page /security: signs a member in, shows what protects the account, and ends the session when the page goes. A
// client of REST like any other.
import type { Output } from '../../src/protocol/operations.ts';
import { h } from '../shared/dom.ts';
import { accountSections, readAccount } from './account.ts';
import { ApiError, call, isSignedIn, leave, setToken } from './api.ts';
import { askPassword, type SignInView } from './sign-in.ts';
import { loadWords, say } from './words.ts';

type Session = Output<'session.secondFactor'>;

const main = document.querySelector('main') ?? document.body;
let notice: HTMLElement | null = null;

function show(...content: HTMLElement[]): void {
  main.replaceChildren(...content);
  const first = main.querySelector<HTMLElement>('input, button');
  first?.focus();
}

const signInView: SignInView = {
  show,
  done: (session) => {
    notice = codesNotice(session.recoveryCodes);
    void showAccount(session);
  },
};

/** @param note why the account is not shown any more */
function startOver(note = ''): void {
  setToken(null);
  notice = null;
  askPassword(signInView, note);
}

async function signOut(): Promise<void> {
  await call('DELETE', '/session').catch(() => undefined);
  startOver(say('signedOut'));
}

async function showAccount(session: Session): Promise<void> {
  const { member, organization } = session;
  const refresh = async (): Promise<void> => {
    const account = await readAccount();
    main.replaceChildren(
      h(
        'header',
        {},
        h(
          'div',
          {},
          h('h1', {}, say('title')),
          h('p', { class: 'soft' }, `${member.name}, ${organization.name}`),
        ),
        h('button', { type: 'button', click: () => void signOut() }, say('signOut')),
      ),
      ...(notice === null ? [] : [notice]),
      ...accountSections({ refresh: () => guarded(refresh), showCodes }, account),
    );
  };
  const showCodes = (codes: readonly string[] | undefined): void => {
    if (codes === undefined) return;
    notice?.remove();
    notice = codesNotice(codes);
    if (notice !== null) main.querySelector('header')?.after(notice);
    notice?.focus();
  };
  await guarded(refresh);
}

/** What goes wrong while reading the account: a session that is over leads back to the sign-in. */
async function guarded(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof ApiError && error.code === 'unauthorized') startOver(message);
    else main.prepend(h('p', { class: 'problem', role: 'alert' }, message));
  }
}

function codesNotice(codes: readonly string[] | undefined): HTMLElement | null {
  if (codes === undefined || codes.length === 0) return null;
  const made: HTMLElement = h(
    'section',
    { class: 'codes', tabindex: '-1', 'aria-labelledby': 'codes-title' },
    h('h2', { id: 'codes-title' }, say('codesTitle')),
    h('p', {}, say('codesKeep')),
    h('ul', {}, ...codes.map((code) => h('li', {}, h('code', {}, code)))),
    h(
      'button',
      {
        type: 'button',
        click: () => {
          made.remove();
          notice = null;
        },
      },
      say('codesKept'),
    ),
  );
  return made;
}

async function start(): Promise<void> {
  // Passkeys are made for names, so this page is never of use at the bare address of this machine.
  if (location.hostname === '127.0.0.1' || location.hostname === '[::1]') {
    location.hostname = 'localhost';
    return;
  }
  addEventListener('pagehide', leave);
  // Brought back by the browser, the page would show an account whose session is over.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && !isSignedIn()) startOver();
  });
  await loadWords();
  askPassword(signInView);
}

void start();

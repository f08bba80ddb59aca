// Owns signing in: the password, then the second factor or its setting up.
import type { Output } from '../../src/protocol/operations.ts';
import { h } from '../shared/dom.ts';
import { ApiError, call, secondFactorPath, setToken, type Pending } from './api.ts';
import { showPasskey } from './browser-passkeys.ts';
import { makeForm, type Field } from './forms.ts';
import { drawQr } from './qr.ts';
import { say } from './words.ts';

type Session = Output<'session.secondFactor'>;

export interface SignInView {
  /** Puts another part of the sign-in on the page. */
  readonly show: (...content: HTMLElement[]) => void;
  readonly done: (session: Session) => void;
}

const codeField = (label: string): Field => ({
  name: 'code',
  label,
  autocomplete: 'one-time-code',
  maxlength: 100,
});

/** @param note why the member has to sign in again; empty where there is no reason */
export function askPassword(view: SignInView, note = ''): void {
  const organization = new URLSearchParams(location.search).get('organization') ?? '';
  view.show(
    h('h1', {}, say('title')),
    h('p', { class: 'soft' }, say('signInAbout')),
    ...(note === '' ? [] : [h('p', { class: 'note', role: 'status' }, note)]),
    makeForm({
      fields: [
        {
          name: 'organization',
          label: say('organization'),
          autocomplete: 'organization',
          value: organization,
        },
        { name: 'email', label: say('email'), type: 'email', autocomplete: 'username' },
        { name: 'password', label: say('password'), type: 'password', autocomplete: 'current-password' },
      ],
      button: say('signIn'),
      work: async (values) => {
        await step(view, () => call<Session>('POST', '/session', values));
      },
    }),
  );
}

/** One step of a sign-in: it is done, or it goes on. */
async function step(view: SignInView, run: () => Promise<Session>): Promise<void> {
  try {
    const session = await run();
    setToken(session.token ?? null);
    view.done(session);
  } catch (error) {
    if (!(error instanceof ApiError) || error.pending === null) throw error;
    if (error.pending.methods.includes('setup')) await setUp(view, error.pending);
    else askFactor(view, error.pending, error.message);
  }
}

function askFactor(view: SignInView, pending: Pending, message: string): void {
  const { ticket, methods, passkey } = pending;
  const finish = (proof: object): Promise<void> =>
    step(view, () => call<Session>('POST', secondFactorPath, { ticket, ...proof }));
  const byPasskey = makeForm({
    button: say('usePasskey'),
    work: async () => {
      if (passkey !== undefined) await finish({ assertion: await showPasskey(passkey) });
    },
  });
  const hasCode = methods.includes('totp') || methods.includes('recovery');
  const byCode = makeForm({
    fields: [codeField(say(methods.includes('totp') ? 'codeOrRecovery' : 'recoveryCode'))],
    button: say('goOn'),
    work: (values) => finish(values),
  });
  view.show(
    h('h1', {}, say('secondFactor')),
    h('p', { role: 'status' }, message),
    ...(passkey === undefined ? [] : [byPasskey]),
    ...(passkey !== undefined && hasCode ? [h('p', { class: 'or' }, say('or'))] : []),
    ...(hasCode ? [byCode] : []),
    again(view),
  );
}

function again(view: SignInView): HTMLElement {
  return h(
    'p',
    {},
    h('button', { type: 'button', class: 'link', click: () => askPassword(view) }, say('again')),
  );
}

/** Where the organization demands a second factor and the member has none. */
async function setUp(view: SignInView, { ticket }: Pending): Promise<void> {
  const { totp } = await call<{ totp: Output<'totp.begin'> }>('POST', '/session/second-factor/setup', {
    ticket,
  });
  view.show(
    h('h1', {}, say('setUpFactor')),
    h('p', {}, say('setUpDemanded')),
    ...showSecret(totp),
    makeForm({
      fields: [codeField(say('shownCode'))],
      button: say('goOn'),
      work: async ({ code = '' }) => {
        const session = await call<Session>('POST', secondFactorPath, { ticket, code });
        setToken(session.token ?? null);
        view.done(session);
      },
    }),
    again(view),
  );
}

/** What an authenticator needs, for a camera and for hands. */
export function showSecret({ secret, uri }: Output<'totp.begin'>): HTMLElement[] {
  return [
    h('p', { class: 'qr-frame' }, drawQr(uri, say('qr'))),
    h('p', {}, say('typeIt'), h('code', {}, (secret.match(/.{1,4}/g) ?? []).join(' '))),
  ];
}

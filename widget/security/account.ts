// Owns what a member sees of their own sign-in: passkeys, authenticator, recovery codes and sessions, each with what can
// be done about it. Holds no rule: the server decides, and its words are shown.
import type { Output } from '../../src/protocol/operations.ts';
import type { Passkey, StaffSession } from '../../src/protocol/sign-in.ts';
import { h } from '../shared/dom.ts';
import { call } from './api.ts';
import { makePasskey } from './browser-passkeys.ts';
import { openDialog, type Field } from './forms.ts';
import { showSecret } from './sign-in.ts';

/** What the page shows, as it is now. */
export interface Account {
  readonly passkeys: readonly Passkey[];
  readonly totp: Output<'totp.get'>;
  readonly sessions: readonly StaffSession[];
}

export async function readAccount(): Promise<Account> {
  const [{ passkeys }, { totp }, { sessions }] = await Promise.all([
    call<Output<'passkeys.list'>>('GET', '/me/passkeys'),
    call<{ totp: Output<'totp.get'> }>('GET', '/me/totp'),
    call<Output<'sessions.list'>>('GET', '/sessions'),
  ]);
  return { passkeys, totp, sessions };
}

export interface AccountView {
  /** Reads everything again and shows it. */
  readonly refresh: () => Promise<void>;
  /** Shows fresh recovery codes, once. */
  readonly showCodes: (codes: readonly string[] | undefined) => void;
}

const passwordField: Field = {
  name: 'password',
  label: 'Your password',
  type: 'password',
  autocomplete: 'current-password',
};
const nameField: Field = { name: 'name', label: 'Name, such as Work laptop', maxlength: 100 };
const codeField: Field = { name: 'code', label: 'The code that it shows', autocomplete: 'one-time-code' };

/** The sections of a member's account. */
export function accountSections(view: AccountView, account: Account): HTMLElement[] {
  return [
    passkeySection(view, account),
    totpSection(view, account),
    codeSection(view, account),
    sessionSection(view, account),
  ];
}

function section(title: string, ...content: readonly (HTMLElement | string)[]): HTMLElement {
  return h('section', {}, h('h2', {}, title), ...content);
}

function act(label: string, run: () => void, about?: string): HTMLElement {
  const attributes = about === undefined ? {} : { 'aria-label': `${label} ${about}` };
  return h('button', { type: 'button', click: run, ...attributes }, label);
}

const time = (iso: string): HTMLElement =>
  h(
    'time',
    { datetime: iso },
    new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' }),
  );

function passkeySection(view: AccountView, { passkeys }: Account): HTMLElement {
  return section(
    'Passkeys',
    h(
      'p',
      { class: 'soft' },
      'A passkey is kept by a device, a security key or a password manager, and works on this server’s own page only.',
    ),
    passkeys.length === 0
      ? h('p', {}, 'There is none yet.')
      : h('ul', { class: 'list' }, ...passkeys.map((passkey) => passkeyLine(view, passkey))),
    h(
      'p',
      {},
      act('Add a passkey', () => addPasskey(view)),
    ),
  );
}

function passkeyLine(view: AccountView, { id, name, createdAt, lastUsedAt }: Passkey): HTMLElement {
  const used = lastUsedAt === null ? ['never used'] : ['last used ', time(lastUsedAt)];
  return h(
    'li',
    {},
    h(
      'div',
      {},
      h('strong', {}, name),
      h('div', { class: 'soft' }, 'added ', time(createdAt), ', ', ...used),
    ),
    h(
      'div',
      { class: 'buttons' },
      act('Rename', () => renamePasskey(view, id, name), name),
      act('Remove', () => removePasskey(view, id, name), name),
    ),
  );
}

function addPasskey(view: AccountView): void {
  openDialog(
    'Add a passkey',
    'The browser asks where to keep it, and for your fingerprint, face or PIN. With a first second factor all your other sessions end.',
    {
      fields: [nameField, passwordField],
      button: 'Add',
      work: async ({ name = '', password = '' }) => {
        const { options } = await call<{ options: Output<'passkeys.begin'> }>(
          'POST',
          '/me/passkeys/options',
          { password },
        );
        const response = await makePasskey(options);
        const { recoveryCodes } = await call<Output<'passkeys.add'>>('POST', '/me/passkeys', {
          name,
          response,
        });
        await view.refresh();
        view.showCodes(recoveryCodes);
      },
    },
  );
}

function renamePasskey(view: AccountView, id: string, name: string): void {
  openDialog('Rename a passkey', 'The name is for you: it shows which device this is.', {
    fields: [{ ...nameField, value: name }],
    button: 'Rename',
    work: async (values) => {
      await call('PATCH', `/me/passkeys/${id}`, values);
      await view.refresh();
    },
  });
}

function removePasskey(view: AccountView, id: string, name: string): void {
  openDialog(
    `Remove ${name}`,
    'It can’t sign you in any more. Sessions that it began go on until you end them.',
    {
      fields: [passwordField],
      button: 'Remove',
      work: async (values) => {
        await call('POST', `/me/passkeys/${id}/remove`, values);
        await view.refresh();
      },
    },
  );
}

function totpSection(view: AccountView, { totp }: Account): HTMLElement {
  return section(
    'Authenticator',
    h(
      'p',
      { class: 'soft' },
      'An app that shows a six-digit code. It works on a terminal too, where passkeys don’t.',
    ),
    totp.enabledAt === null
      ? h(
          'p',
          {},
          act('Set up an authenticator', () => beginTotp(view)),
        )
      : h(
          'p',
          {},
          'On since ',
          time(totp.enabledAt),
          '. ',
          act('Switch off', () => disableTotp(view)),
        ),
  );
}

function beginTotp(view: AccountView): void {
  openDialog('Set up an authenticator', 'Your password first: a stolen session must not do this.', {
    fields: [passwordField],
    button: 'Go on',
    work: async (values) => {
      const { totp } = await call<{ totp: Output<'totp.begin'> }>('POST', '/me/totp', values);
      confirmTotp(view, totp);
    },
  });
}

function confirmTotp(view: AccountView, totp: Output<'totp.begin'>): void {
  openDialog(
    'Add the account',
    'Read this with your authenticator. All your other sessions end when it is on.',
    {
      more: showSecret(totp),
      fields: [codeField],
      button: 'Switch on',
      work: async (values) => {
        const { recoveryCodes } = await call<Output<'totp.confirm'>>('POST', '/me/totp/confirm', values);
        await view.refresh();
        view.showCodes(recoveryCodes);
      },
    },
  );
}

function disableTotp(view: AccountView): void {
  openDialog('Switch the authenticator off', 'It takes a code of it, or a recovery code.', {
    fields: [{ ...codeField, label: 'Code' }],
    button: 'Switch off',
    work: async (values) => {
      await call('POST', '/me/totp/disable', values);
      await view.refresh();
    },
  });
}

function codeSection(view: AccountView, { passkeys, totp }: Account): HTMLElement {
  const left = totp.recoveryCodesLeft;
  const isOn = totp.enabled || passkeys.length > 0;
  return section(
    'Recovery codes',
    h('p', { class: 'soft' }, 'Each works once, when neither passkey nor authenticator is at hand.'),
    ...(isOn
      ? [
          h(
            'p',
            {},
            `${left} ${left === 1 ? 'is' : 'are'} left. `,
            act('Make ten new ones', () => makeCodes(view)),
          ),
        ]
      : [h('p', {}, 'You get them with your first passkey or authenticator.')]),
  );
}

function makeCodes(view: AccountView): void {
  openDialog('Make ten new recovery codes', 'The old ones end.', {
    fields: [passwordField],
    button: 'Make them',
    work: async (values) => {
      const { recoveryCodes } = await call<Output<'recoveryCodes.create'>>(
        'POST',
        '/me/recovery-codes',
        values,
      );
      await view.refresh();
      view.showCodes(recoveryCodes);
    },
  });
}

function sessionSection(view: AccountView, { sessions }: Account): HTMLElement {
  const others = sessions.filter(({ current }) => !current);
  return section(
    'Sessions',
    h('p', { class: 'soft' }, 'Where you are signed in. This page’s own session ends when you leave it.'),
    h('ul', { class: 'list' }, ...sessions.map((session) => sessionLine(view, session))),
    ...(others.length > 1
      ? [
          h(
            'p',
            {},
            act('End all others', () => endAll(view, others)),
          ),
        ]
      : []),
  );
}

function sessionLine(view: AccountView, session: StaffSession): HTMLElement {
  const where = session.address ?? 'the server’s command line';
  return h(
    'li',
    {},
    h(
      'div',
      {},
      h('strong', {}, session.current ? `${where} (this page)` : where),
      h(
        'div',
        { class: 'soft' },
        'since ',
        time(session.createdAt),
        ', last seen ',
        time(session.lastSeenAt),
      ),
    ),
    session.current
      ? null
      : h(
          'div',
          { class: 'buttons' },
          act('End', () => endAll(view, [session]), `the session at ${where}`),
        ),
  );
}

function endAll(view: AccountView, sessions: readonly StaffSession[]): void {
  const many = sessions.length > 1;
  openDialog(
    many ? `End ${sessions.length} sessions` : 'End this session',
    'The device there has to sign in again.',
    {
      button: 'End',
      work: async () => {
        for (const { id } of sessions) await call('DELETE', `/sessions/${id}`);
        await view.refresh();
      },
    },
  );
}

// Owns what a member sees of their own sign-in: passkeys, authenticator, recovery codes and sessions, each with what can
// be done about it. Holds no rule: the server decides, and its words are shown.
import type { Output } from '../../src/protocol/operations.ts';
import type { Passkey, StaffSession } from '../../src/protocol/sign-in.ts';
import { h } from '../shared/dom.ts';
import { call } from './api.ts';
import { makePasskey } from './browser-passkeys.ts';
import { openDialog, type Field } from './forms.ts';
import { showSecret } from './sign-in.ts';
import { say, timeText } from './words.ts';

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

const passwordField = (): Field => ({
  name: 'password',
  label: say('yourPassword'),
  type: 'password',
  autocomplete: 'current-password',
});
const nameField = (value = ''): Field => ({ name: 'name', label: say('passkeyName'), maxlength: 100, value });
const codeField = (label: string): Field => ({ name: 'code', label, autocomplete: 'one-time-code' });

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

/** @param about what a screen reader hears, where the label alone says too little */
function act(label: string, run: () => void, about?: string): HTMLElement {
  const attributes = about === undefined ? {} : { 'aria-label': about };
  return h('button', { type: 'button', click: run, ...attributes }, label);
}

function passkeySection(view: AccountView, { passkeys }: Account): HTMLElement {
  return section(
    say('passkeys'),
    h('p', { class: 'soft' }, say('passkeysAbout')),
    passkeys.length === 0
      ? h('p', {}, say('noPasskey'))
      : h('ul', { class: 'list' }, ...passkeys.map((passkey) => passkeyLine(view, passkey))),
    h(
      'p',
      {},
      act(say('addPasskey'), () => addPasskey(view)),
    ),
  );
}

function passkeyLine(view: AccountView, { id, name, createdAt, lastUsedAt }: Passkey): HTMLElement {
  const added = timeText(createdAt);
  const used =
    lastUsedAt === null
      ? say('addedUnused', { added })
      : say('addedUsed', { added, used: timeText(lastUsedAt) });
  return h(
    'li',
    {},
    h('div', {}, h('strong', {}, name), h('div', { class: 'soft' }, used)),
    h(
      'div',
      { class: 'buttons' },
      act(say('rename'), () => renamePasskey(view, id, name), `${say('rename')} ${name}`),
      act(say('remove'), () => removePasskey(view, id, name), say('removeNamed', { name })),
    ),
  );
}

function addPasskey(view: AccountView): void {
  openDialog(say('addPasskey'), say('addPasskeyAbout'), {
    fields: [nameField(), passwordField()],
    button: say('add'),
    work: async ({ name = '', password = '' }) => {
      const { options } = await call<{ options: Output<'passkeys.begin'> }>('POST', '/me/passkeys/options', {
        password,
      });
      const response = await makePasskey(options);
      const { recoveryCodes } = await call<Output<'passkeys.add'>>('POST', '/me/passkeys', {
        name,
        response,
      });
      await view.refresh();
      view.showCodes(recoveryCodes);
    },
  });
}

function renamePasskey(view: AccountView, id: string, name: string): void {
  openDialog(say('renamePasskey'), say('renameAbout'), {
    fields: [nameField(name)],
    button: say('rename'),
    work: async (values) => {
      await call('PATCH', `/me/passkeys/${id}`, values);
      await view.refresh();
    },
  });
}

function removePasskey(view: AccountView, id: string, name: string): void {
  openDialog(say('removeNamed', { name }), say('removeAbout'), {
    fields: [passwordField()],
    button: say('remove'),
    work: async (values) => {
      await call('POST', `/me/passkeys/${id}/remove`, values);
      await view.refresh();
    },
  });
}

function totpSection(view: AccountView, { totp }: Account): HTMLElement {
  return section(
    say('authenticator'),
    h('p', { class: 'soft' }, say('authenticatorAbout')),
    totp.enabledAt === null
      ? h(
          'p',
          {},
          act(say('setUpAuthenticator'), () => beginTotp(view)),
        )
      : h(
          'p',
          {},
          say('onSince', { time: timeText(totp.enabledAt) }),
          act(say('switchOff'), () => disableTotp(view)),
        ),
  );
}

function beginTotp(view: AccountView): void {
  openDialog(say('setUpAuthenticator'), say('passwordFirst'), {
    fields: [passwordField()],
    button: say('goOn'),
    work: async (values) => {
      const { totp } = await call<{ totp: Output<'totp.begin'> }>('POST', '/me/totp', values);
      confirmTotp(view, totp);
    },
  });
}

function confirmTotp(view: AccountView, totp: Output<'totp.begin'>): void {
  openDialog(say('addAccount'), say('addAccountAbout'), {
    more: showSecret(totp),
    fields: [codeField(say('shownCode'))],
    button: say('switchOn'),
    work: async (values) => {
      const { recoveryCodes } = await call<Output<'totp.confirm'>>('POST', '/me/totp/confirm', values);
      await view.refresh();
      view.showCodes(recoveryCodes);
    },
  });
}

function disableTotp(view: AccountView): void {
  openDialog(say('switchOffTitle'), say('switchOffAbout'), {
    fields: [codeField(say('code'))],
    button: say('switchOff'),
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
    say('recoveryCodes'),
    h('p', { class: 'soft' }, say('recoveryAbout')),
    ...(isOn
      ? [
          h(
            'p',
            {},
            say('codesLeft', { n: left }),
            act(say('newCodes'), () => makeCodes(view)),
          ),
        ]
      : [h('p', {}, say('codesLater'))]),
  );
}

function makeCodes(view: AccountView): void {
  openDialog(say('newCodesTitle'), say('newCodesAbout'), {
    fields: [passwordField()],
    button: say('makeThem'),
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
    say('sessions'),
    h('p', { class: 'soft' }, say('sessionsAbout')),
    h('ul', { class: 'list' }, ...sessions.map((session) => sessionLine(view, session))),
    ...(others.length > 1
      ? [
          h(
            'p',
            {},
            act(say('endOthers'), () => endAll(view, others)),
          ),
        ]
      : []),
  );
}

function sessionLine(view: AccountView, session: StaffSession): HTMLElement {
  const where = session.address ?? say('commandLine');
  return h(
    'li',
    {},
    h(
      'div',
      {},
      h('strong', {}, session.current ? say('thisPage', { where }) : where),
      h(
        'div',
        { class: 'soft' },
        say('sinceSeen', { since: timeText(session.createdAt), seen: timeText(session.lastSeenAt) }),
      ),
    ),
    session.current
      ? null
      : h(
          'div',
          { class: 'buttons' },
          act(say('end'), () => endAll(view, [session]), say('endNamed', { where })),
        ),
  );
}

function endAll(view: AccountView, sessions: readonly StaffSession[]): void {
  const many = sessions.length > 1;
  openDialog(many ? say('endMany', { n: sessions.length }) : say('endOne'), say('endAbout'), {
    button: say('end'),
    work: async () => {
      for (const { id } of sessions) await call('DELETE', `/sessions/${id}`);
      await view.refresh();
    },
  });
}

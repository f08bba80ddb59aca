// Owns the column at the side, on a phone the row at the bottom: inbox, settings, and who is signed in.
import type { JSX } from 'preact';
import { useComputed } from '@preact/signals';
import { waitingCount } from '../desk/notifications.ts';
import { session } from './api.ts';
import { deskState, signOut } from './desk.ts';
import { paneCount } from './inbox/layout.ts';
import { go, hrefOf, route } from './router.ts';
import { Icon } from './ui/icon.tsx';
import { initials } from './ui/initials.ts';
import { Menu } from './ui/menu.tsx';
import { t } from './words.ts';

export function Sidebar(): JSX.Element {
  const waiting = useComputed(() => waitingCount(deskState.value)).value;
  const at = route.value.page;
  const member = session.value?.member;
  const openId = useComputed(() => deskState.value.open?.id ?? null).value;
  // From the settings one comes back to what is open, unless there is no room for it beside the list.
  const back = at === 'settings' && openId !== null && paneCount.value > 1 ? hrefOf('c', openId) : '#/';
  return (
    <nav class="sidebar" aria-label="Deskbell">
      <a class="side-link" href={back} aria-current={at === 'inbox' ? 'page' : undefined}>
        <Icon name="inbox" />
        <span>{t('inbox')}</span>
        {waiting > 0 ? (
          <b class="count" aria-label={t('needAttention', { n: waiting })}>
            {waiting > 99 ? '99+' : waiting}
          </b>
        ) : null}
      </a>
      <a class="side-link" href="#/settings" aria-current={at === 'settings' ? 'page' : undefined}>
        <Icon name="settings" />
        <span>{t('settings')}</span>
      </a>
      <span class="side-space" />
      <Menu
        label={`${t('account')}: ${member?.name ?? ''}`}
        class="account-menu"
        items={[
          { label: t('thisDevice'), icon: 'globe', onClick: () => go(hrefOf('settings', 'device')) },
          { label: t('signOut'), icon: 'sign', onClick: signOut },
        ]}
      >
        <span class="avatar" aria-hidden="true" data-initials={initials(member?.name ?? '')} />
      </Menu>
    </nav>
  );
}

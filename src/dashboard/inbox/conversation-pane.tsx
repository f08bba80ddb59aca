// Owns the pane of the open conversation: who and how it stands, what can be done with it, the messages, and writing.
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { isAvailable } from '../../desk/available-commands.ts';
import { canManage, visitorName } from '../../desk/conversation-commands.ts';
import type { OpenConversation } from '../../desk/desk-state.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import type { StaffConversationListItem } from '../../protocol/entities.ts';
import { desk, deskState } from '../desk.ts';
import { go } from '../router.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Button, IconButton, withKey } from '../ui/button.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { say, t } from '../words.ts';
import { Composer } from './composer.tsx';
import { paneCount } from './layout.ts';
import { Log } from './log.tsx';
import { MarksLine } from './order-marks.tsx';

export function ConversationPane(): JSX.Element | null {
  const open = useComputed(() => deskState.value.open).value;
  if (open === null) return null;
  return (
    <section class="pane conversation-pane" data-pane="conversation" aria-label={t('conversation')}>
      <Head open={open} />
      <Marks open={open} />
      {open.problem === null ? (
        <>
          <Log key={open.id} open={open} />
          <ToEnd open={open} />
        </>
      ) : (
        <p class="callout bad" role="alert">
          {open.problem}
        </p>
      )}
      <Composer />
    </section>
  );
}

function stateOf(item: StaffConversationListItem, memberId: string): string {
  if (item.status === 'closed') return t('closedHere');
  if (item.status === 'pending') return t('unheld');
  if (item.assignedTo === memberId) return t('heldByMe');
  return t('heldBy', { name: sanitizeLine(item.assignedToName ?? '') || say('aColleague') });
}

function Head({ open }: { readonly open: OpenConversation }): JSX.Element {
  const item = useComputed(() => deskState.value.queue.items.find(({ id }) => id === open.id)).value;
  const pending = useComputed(() => deskState.value.pending).value;
  const member = useComputed(() => deskState.value.session?.member).value;
  const { model, keymap } = desk();
  const conversation = item ?? open.detail ?? undefined;
  const hint = (command: Parameters<typeof keymap.label>[0]): string | undefined =>
    keymap.label(command, 'conversation');
  const name = visitorName(conversation, say);
  const manages =
    conversation !== undefined && canManage(conversation, member?.id ?? '', member?.role === 'admin');
  const status = conversation?.status;
  const run = (command: Parameters<typeof model.run>[0]): void => {
    // Commands concern the open conversation, wherever the keys are.
    model.setFocus('conversation');
    model.run(command);
  };
  const drawAct = (
    command: 'accept' | 'resolve' | 'reopen',
    icon: IconName,
    label: string,
    kind: 'main' | 'plain' = 'plain',
  ): JSX.Element => (
    <Button
      kind={kind}
      icon={icon}
      busy={pending.has(`${command}:${open.id}`)}
      title={withKey(label, hint(command))}
      onClick={() => run(command)}
    >
      {label}
    </Button>
  );
  const items: MenuItem[] = [
    { label: t('aboutVisitor'), icon: 'person', hint: hint('visitor'), onClick: () => run('visitor') },
    ...orderItems
      .filter(({ command }) => isAvailable({ ...deskState.value, focus: 'conversation' }, command))
      .map(({ command, icon }) => ({
        label: t(`cmd_${command}`),
        icon,
        hint: hint(command),
        onClick: () => run(command),
      })),
    ...(status === 'active' && manages
      ? ([
          { label: t('transfer'), icon: 'transfer', hint: hint('transfer'), onClick: () => run('transfer') },
          { label: t('release'), icon: 'release', hint: hint('release'), onClick: () => run('release') },
        ] satisfies MenuItem[])
      : []),
    ...(member?.role === 'admin'
      ? ([
          { label: t('cmd_keep'), icon: 'spark', hint: hint('keep'), onClick: () => run('keep') },
          { label: t('cmd_gaps'), icon: 'help', hint: hint('gaps'), onClick: () => run('gaps') },
        ] satisfies MenuItem[])
      : []),
    { label: t('block'), icon: 'block', danger: true, hint: hint('block'), onClick: () => run('block') },
    { label: t('unblock'), icon: 'check', hint: hint('unblock'), onClick: () => run('unblock') },
  ];
  return (
    <header class="conversation-head">
      {paneCount.value === 1 ? <IconButton icon="back" label={t('back')} onClick={() => go('#/')} /> : null}
      <Avatar name={name} id={conversation?.visitor.id ?? open.id} />
      <div class="who">
        {paneCount.value === 1 ? <h1 dir="auto">{name}</h1> : <h2 dir="auto">{name}</h2>}
        <p class={`standing ${status ?? ''}`}>
          {conversation === undefined ? t('loading') : stateOf(conversation, member?.id ?? '')}
        </p>
      </div>
      {status === 'pending' ? drawAct('accept', 'check', t('accept'), 'main') : null}
      {status === 'active' && manages ? drawAct('resolve', 'check', t('resolve')) : null}
      {status === 'closed' ? drawAct('reopen', 'retry', t('cmd_reopen')) : null}
      <Menu label={t('more')} items={items} />
    </header>
  );
}

/** Priority, tags, snooze and what has to do with mail in a line of their own, where there are any. */
function Marks({ open }: { readonly open: OpenConversation }): JSX.Element | null {
  const known = useComputed(() => deskState.value.queue.items.find(({ id }) => id === open.id)).value;
  const item = known ?? open.detail ?? undefined;
  if (item === undefined) return null;
  return <MarksLine item={item} />;
}

/** What puts the conversation in its place in the queue, as far as it applies. */
const orderItems = [
  { command: 'tag', icon: 'tag' },
  { command: 'priority', icon: 'flag' },
  { command: 'snooze', icon: 'clock' },
  { command: 'wake', icon: 'bell' },
  { command: 'unread', icon: 'eye' },
  { command: 'transcript', icon: 'mail' },
] as const;

/** The way back to the newest message, with how many came since. */
function ToEnd({ open }: { readonly open: OpenConversation }): JSX.Element | null {
  if (open.atEnd) return null;
  return (
    <button type="button" class="to-end" onClick={() => desk().model.conversation.toEnd()}>
      <Icon name="down" />
      <span>{open.unseen === 0 ? t('jumpToEnd') : t('jumpToNew', { n: open.unseen })}</span>
    </button>
  );
}

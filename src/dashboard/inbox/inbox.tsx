// Owns the inbox: the panes side by side, the keys, where the focus is, and the address of the open conversation.
import { useComputed } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { cannedQuery, fittingReplies } from '../../desk/composer.ts';
import { keyScopeOf } from '../../desk/available-commands.ts';
import type { OpenConversation } from '../../desk/desk-state.ts';
import { isText } from '../../desk/key-names.ts';
import { desk, deskState } from '../desk.ts';
import { go, hrefOf, route } from '../router.ts';
import { Icon } from '../ui/icon.tsx';
import { toast } from '../ui/toast.tsx';
import { t, withWords } from '../words.ts';
import { areLetterKeysOn } from './letter-keys.ts';
import { face } from './face.ts';
import { keyPressOf } from './keys.ts';
import { isTouch, paneCount, widths } from './layout.ts';
import { isRoomLoaded, loadRoom, useRoom } from './lazy-room.ts';
import { QueuePane } from './queue-pane.tsx';
import { Resizer } from './resizer.tsx';

export function Inbox(): JSX.Element {
  const { model } = desk();
  const panes = paneCount.value;
  const open = useComputed(() => deskState.value.open).value;
  const focus = useComputed(() => deskState.value.focus).value;
  useAddress(open?.id ?? null);
  useKeys();
  useFocus();
  useEffect(() => model.attach(face), []);
  // The queue comes first.
  const isListed = useComputed(() => deskState.value.queue.lists.pending.total !== null).value;
  useEffect(() => {
    if (isListed) loadRoom();
  }, [isListed]);
  useEffect(() => model.setPanes(panes), [panes]);
  const showsConversation = panes > 1 || (open !== null && focus !== 'queue');
  return (
    <main
      class={`inbox panes-${panes}`}
      style={{ '--queue': `${widths.queue.value}px`, '--visitor': `${widths.visitor.value}px` }}
      onFocusIn={(event) => {
        const at = event.target instanceof Element ? event.target : null;
        // The field of the search was left: letters are the list's again.
        const { search } = model.store.get().queue;
        if (search?.typing === true && at?.matches('[data-field=search]') !== true)
          model.queue.search.confirm();
        const pane = at?.closest('[data-pane]') ?? null;
        const name = pane?.getAttribute('data-pane');
        if (name === 'queue' || name === 'conversation' || name === 'composer') model.setFocus(name);
      }}
    >
      <Connection />
      {panes > 1 || !showsConversation ? <QueuePane /> : null}
      {panes > 1 ? <Resizer column="queue" /> : null}
      {showsConversation ? open === null ? <NothingOpen /> : <Room /> : null}
      {panes === 3 ? <Resizer column="visitor" /> : null}
      {panes === 3 ? (
        <aside class="pane visitor-pane" aria-label={t('aboutVisitor')}>
          {open === null ? null : <Visitor open={open} />}
        </aside>
      ) : null}
      <LazyOverlays />
    </main>
  );
}

function NothingOpen(): JSX.Element {
  const help = desk().keymap.label('help', 'queue');
  return (
    <section class="pane conversation-pane nothing" data-pane="conversation" aria-label={t('conversation')}>
      <Icon name="inbox" />
      <p>{t('nothingOpen')}</p>
      <p class="hint">
        {t('nothingOpenHint')} {help === undefined ? '' : t('keysHint', { key: help })}
      </p>
    </section>
  );
}

function Room(): JSX.Element {
  const room = useRoom();
  if (room !== null) return <room.ConversationPane />;
  return (
    <section class="pane conversation-pane" data-pane="conversation" aria-label={t('conversation')}>
      <p class="loading">{t('loading')}</p>
    </section>
  );
}

function Visitor({ open }: { readonly open: OpenConversation }): JSX.Element | null {
  const room = useRoom();
  return room === null ? null : <room.VisitorDetails open={open} />;
}

/** The address follows what is open, and what is open the address: reload, links and the browser's Back work. */
function useAddress(openId: string | null): void {
  const { model } = desk();
  const at = route.value;
  const wanted = at.page === 'inbox' ? at.conversation : openId;
  useEffect(() => {
    const { open } = model.store.get();
    if (wanted === (open?.id ?? null)) return;
    if (wanted === null) model.close();
    else model.open(wanted);
  }, [wanted]);
  useEffect(() => {
    // As it is by now: the address may have closed or opened one just before.
    const now = model.store.get().open?.id ?? null;
    if (now === wanted) return;
    if (now !== null) go(hrefOf('c', now));
    // What was closed here is not to be opened by a reload, and a link to it is to open it.
    else go('#/', { replace: true });
  }, [openId]);
}

/** Keys, wherever the focus is: what the keymap knows goes to the model; what is typed, and what an element needs, stays. */
function useKeys(): void {
  useEffect(() => {
    const { model, keymap } = desk();
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing) return;
      const pressed = keyPressOf(event);
      if (pressed === null || pressed.key === null) return;
      const { key } = pressed;
      const state = model.store.get();
      const scope = keyScopeOf(state);
      const command = keymap.commandFor(scope, key);
      if (command === undefined) return;
      const field = event.target instanceof Element ? event.target.closest('[data-field]') : null;
      const isTyping = field?.getAttribute('data-field') === scope;
      if (!isTyping) {
        if (belongsToElement(event.target, key)) return;
        if (isText(key) && (scope === 'composer' || scope === 'search' || scope === 'menu')) {
          // The page's focus is on its way: where it is slow, the letter must not be lost.
          document.querySelector<HTMLElement>(`[data-field=${scope}]`)?.focus();
          return;
        }
        if (isText(key) && scope !== 'confirm' && !areLetterKeysOn()) return;
      }
      if (scope === 'composer') {
        const { composer } = state;
        const query = composer === null ? null : cannedQuery(composer);
        const hasChoices = query !== null && fittingReplies(state.cannedReplies, query).length > 0;
        // Without a list of replies the arrows are the field's; new lines always are.
        if ((command === 'lineUp' || command === 'lineDown') && !hasChoices) return;
        if (command === 'newline' || !isTyping) {
          if (command === 'newline' || key === 'enter') return;
        }
        if (command === 'send' && key === 'enter' && isTouch.matches && !hasChoices) return;
      }
      event.preventDefault();
      model.pressKeys([{ key, text: '' }]);
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}

/** The page's focus goes where the model's goes. */
function useFocus(): void {
  const focus = useComputed(() => deskState.value.focus).value;
  const openId = useComputed(() => deskState.value.open?.id ?? null).value;
  const isTyping = useComputed(() => deskState.value.queue.search?.typing === true).value;
  const isCovered = useComputed(() => deskState.value.dialog !== null).value;
  const hasComposer = useComputed(() => deskState.value.composer !== null).value;
  const hasRoom = isRoomLoaded.value;
  useLayoutEffect(() => {
    if (isCovered) return;
    const selectors = {
      queue: isTyping ? '[data-field=search]' : '.queue-list',
      conversation: '.log',
      composer: '[data-field=composer]',
    };
    const wanted = document.querySelector<HTMLElement>(selectors[focus]);
    const now = document.activeElement;
    if (wanted === null || wanted === now) return;
    // Where the focus is in the pane already, on a button of it, it stays.
    const pane = document.querySelector(`[data-pane=${focus}]`);
    const isThere =
      now !== null && now !== document.body && now.closest('[data-pane]') === pane && pane !== null;
    if (isThere && !(focus === 'queue' && now.matches('[data-field=search]'))) return;
    wanted.focus({ preventScroll: true });
  }, [focus, openId, isTyping, isCovered, hasComposer, hasRoom]);
}

/** What the connection is like, where it is not as it should be. */
function Connection(): JSX.Element | null {
  const text = useComputed(() => {
    const { connection, reconnectAt, sendingWaitsUntil, now } = deskState.value;
    const seconds = (until: number): number => Math.max(1, Math.ceil((until - now) / 1000));
    if (connection === 'offline')
      return reconnectAt === null || reconnectAt <= now
        ? t('offline')
        : t('offlineFor', { n: seconds(reconnectAt) });
    if (sendingWaitsUntil !== null && sendingWaitsUntil > now)
      return t('sendingWaits', { n: seconds(sendingWaitsUntil) });
    return '';
  }).value;
  return text === '' ? null : (
    <p class="connection" role="status">
      {text}
    </p>
  );
}

/** Palette, help and questions come with a file of their own when the first of them is opened. */
function LazyOverlays(): JSX.Element | null {
  const isWanted = useComputed(() => deskState.value.dialog !== null).value;
  const [Overlays, setOverlays] = useState<ComponentType | null>(null);
  useEffect(() => {
    if (!isWanted || Overlays !== null) return;
    withWords(import('./overlays.tsx')).then(
      (loaded) => setOverlays(() => loaded.Overlays),
      () => {
        desk().model.closeDialog();
        toast(t('pageNotLoaded'), 'bad');
      },
    );
  }, [isWanted]);
  return Overlays === null ? null : <Overlays />;
}

/** Whether a key that is pressed there writes, or belongs to what is there: then no command may take it. */
function belongsToElement(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest('input, textarea, select, [contenteditable]') !== null) return true;
  return (
    (key === 'enter' || key === 'space') && target.closest('a, button, summary, [role=menuitem]') !== null
  );
}

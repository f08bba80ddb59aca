// Owns the messages of the open conversation: drawn by pieces, the rest as empty space of the same height. Where one reads
// stays where it is, whatever comes above or below.
import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { visitorName } from '../../desk/conversation-commands.ts';
import type { OpenConversation, ShownMessage } from '../../desk/desk-state.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { lastSeenMessage, shownMessages } from '../../desk/shown-messages.ts';
import { desk, deskState } from '../desk.ts';
import { memo } from '../ui/memo.ts';
import { say, t } from '../words.ts';
import { chunksOf, placePieces, type Chunk, type Sight } from './chunks.ts';
import { handles } from './face.ts';
import { Message } from './message.tsx';

/** What a message takes before its piece was ever measured. */
const guessedHeight = 64;
/** So near the end is the end. */
const nearEnd = 40;
const nearBeginning = 800;

interface Place {
  readonly key: string;
  /** Its distance from the top of what is in sight, px. */
  readonly top: number;
}

/** What the parts that scroll share; changed in place, but for the signal it draws nothing. */
interface Scrolling {
  readonly sight: Signal<Sight>;
  place: Place | null;
  /** The key of a message that is to come into sight. */
  wanted: string | null;
}

/** Where the reader is: the first message in sight. */
function placeIn(log: HTMLElement): Place | null {
  const edge = log.getBoundingClientRect().top;
  for (const piece of log.querySelectorAll<HTMLElement>('[data-chunk]')) {
    if (piece.getBoundingClientRect().bottom <= edge) continue;
    for (const element of piece.querySelectorAll<HTMLElement>('[data-key]')) {
      const { top, bottom } = element.getBoundingClientRect();
      if (bottom > edge) return { key: element.dataset['key'] ?? '', top: top - edge };
    }
  }
  return null;
}

function elementOf(log: HTMLElement, key: string): HTMLElement | null {
  return log.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
}

const sightIn = ({ scrollTop, clientHeight }: HTMLElement): Sight => ({
  top: scrollTop,
  height: clientHeight,
});

/** As it is now: what is drawn may be from before one scrolled. */
const isAtEnd = (): boolean => desk().model.store.get().open?.atEnd === true;

export function Log({ open }: { readonly open: OpenConversation }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const pieces = useRef<readonly Chunk<ShownMessage>[]>([]);
  const heights = useRef(new Map<string, number>());
  const drawn = useRef<ReadonlySet<string>>(new Set());
  const sight = useSignal<Sight>({ top: 0, height: 800 });
  const { current: scrolling } = useRef<Scrolling>({ sight, place: null, wanted: null });
  const today = useComputed(() => new Date(deskState.value.now).setHours(0, 0, 0, 0)).value;
  const memberId = useComputed(() => deskState.value.session?.member.id ?? '').value;
  const item = useComputed(() => deskState.value.queue.items.find(({ id }) => id === open.id)).value;
  const editing = useComputed(() => deskState.value.composer?.editing ?? null).value;
  const visitor = open.detail?.visitor ?? item?.visitor;
  const messages = shownMessages(open);
  const chunks = chunksOf(messages, pieces.current);
  pieces.current = chunks;
  const { model } = desk();

  const heightOf = (chunk: Chunk<ShownMessage>): number =>
    heights.current.get(chunk.key) ?? chunk.messages.length * guessedHeight;

  const look = (): void => {
    const log = ref.current;
    if (log === null) return;
    scrolling.place = placeIn(log);
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < nearEnd;
    if (atEnd !== isAtEnd()) model.conversation.setAtEnd(atEnd);
    else if (log.scrollTop < nearBeginning) model.conversation.loadOlder();
    // A drawing would take who is about to leave the end back to it.
    if (!atEnd) sight.value = sightIn(log);
  };

  useHandle(ref, open.id, scrolling, look);
  useStay(ref, scrolling, heights.current);

  const titles = useMemo(
    () => new Map(messages.flatMap(({ choices }) => (choices ?? []).map(({ id, title }) => [id, title]))),
    [messages],
  );
  const seen = lastSeenMessage(open, visitor?.id);
  const common = {
    visitorName: visitor === undefined ? say('theVisitor') : visitorName({ visitor }, say),
    memberId,
    today,
    unreadFrom: open.unreadFrom,
    selected: open.selected,
    seen,
    editing,
    titles,
  };
  const placed = placePieces(
    chunks,
    heightOf,
    sight.value,
    drawn.current,
    (chunk, index) =>
      (open.atEnd && index >= chunks.length - 2) ||
      chunk.messages.some(({ key }) => key === scrolling.wanted),
  );
  drawn.current = new Set(placed.filter(({ isDrawn }) => isDrawn).map(({ chunk }) => chunk.key));
  return (
    <div
      class="log"
      ref={ref}
      role="log"
      aria-live="off"
      tabIndex={0}
      aria-label={t('messages')}
      aria-busy={open.room === null}
      onScroll={look}
    >
      <p class="log-begin">
        {open.room === null
          ? t('loading')
          : t(open.room.hasMore || open.loadingOlder ? 'olderLoading' : 'beginning')}
      </p>
      {placed.map(({ chunk, height, isDrawn }) =>
        isDrawn ? (
          <Piece key={chunk.key} chunk={chunk} {...common} {...marksOf(chunk, common)} />
        ) : (
          <div key={chunk.key} class="gap" style={{ height: `${height}px` }} />
        ),
      )}
      <Typing open={open} />
    </div>
  );
}

/** Lets the model reach the log as long as it is drawn. */
function useHandle(
  ref: RefObject<HTMLDivElement | null>,
  openId: string,
  scrolling: Scrolling,
  look: () => void,
): void {
  useEffect(() => {
    const log = ref.current;
    if (log === null) return undefined;
    handles.log = {
      isNearBeginning: () => log.scrollTop < nearBeginning,
      scroll: (to) => {
        if (to === 'first') log.scrollTop = 0;
        else log.scrollTop += (to === 'pageUp' ? -0.85 : 0.85) * log.clientHeight;
        look();
      },
      reveal: (key) => {
        scrolling.wanted = key;
        const element = elementOf(log, key);
        if (element === null) scrolling.sight.value = { ...scrolling.sight.value };
        else element.scrollIntoView({ block: 'nearest' });
        look();
      },
    };
    const resized = new ResizeObserver(() => {
      if (isAtEnd()) log.scrollTop = log.scrollHeight;
      scrolling.sight.value = sightIn(log);
    });
    resized.observe(log);
    return () => {
      resized.disconnect();
      handles.log = null;
    };
  }, [openId]);
}

/** After every drawing: measures, then stays at the end or at the message that was first in sight. */
function useStay(
  ref: RefObject<HTMLDivElement | null>,
  scrolling: Scrolling,
  heights: Map<string, number>,
): void {
  useLayoutEffect(() => {
    const log = ref.current;
    if (log === null) return;
    for (const piece of log.querySelectorAll<HTMLElement>('[data-chunk]'))
      heights.set(piece.dataset['chunk'] ?? '', piece.offsetHeight);
    if (scrolling.wanted !== null) {
      elementOf(log, scrolling.wanted)?.scrollIntoView({ block: 'nearest' });
      scrolling.wanted = null;
      scrolling.place = placeIn(log);
    } else if (isAtEnd()) {
      log.scrollTop = log.scrollHeight;
      scrolling.place = null;
    } else if (scrolling.place !== null) {
      const element = elementOf(log, scrolling.place.key);
      if (element !== null) {
        const moved =
          element.getBoundingClientRect().top - log.getBoundingClientRect().top - scrolling.place.top;
        if (Math.abs(moved) >= 1) log.scrollTop += moved;
      }
    }
    if (scrolling.sight.peek().top !== log.scrollTop || scrolling.sight.peek().height !== log.clientHeight)
      scrolling.sight.value = sightIn(log);
  });
}

interface PieceProps {
  readonly chunk: Chunk<ShownMessage>;
  readonly visitorName: string;
  readonly memberId: string;
  readonly today: number;
  readonly unreadFrom: string | null;
  readonly selected: string | null;
  readonly seen: string | null;
  readonly editing: string | null;
  readonly titles: ReadonlyMap<string, string>;
}

/** Of the marks that stand at one message, those that stand in this piece: another's must not draw it anew. */
function marksOf(
  { messages }: Chunk<ShownMessage>,
  { unreadFrom, selected, seen, editing }: Pick<PieceProps, 'unreadFrom' | 'selected' | 'seen' | 'editing'>,
): Pick<PieceProps, 'unreadFrom' | 'selected' | 'seen' | 'editing'> {
  const here = (one: string | null): string | null =>
    one !== null && messages.some(({ id, key }) => id === one || key === one) ? one : null;
  return { unreadFrom: here(unreadFrom), selected: here(selected), seen: here(seen), editing: here(editing) };
}

const Piece = memo(function drawPiece({
  chunk: { key: chunkKey, messages, before },
  unreadFrom,
  selected,
  seen,
  editing,
  titles,
  ...rest
}: PieceProps): JSX.Element {
  return (
    <div class="piece" data-chunk={chunkKey}>
      {messages.map((message, index) => (
        <Message
          key={message.key}
          {...rest}
          message={message}
          before={index === 0 ? before : messages[index - 1]}
          firstUnread={unreadFrom === message.id}
          selected={selected === message.key}
          seen={seen === message.id}
          editing={editing === message.id}
          chosen={message.choice === undefined ? null : (titles.get(message.choice) ?? '')}
        />
      ))}
    </div>
  );
});

function Typing({ open }: { readonly open: OpenConversation }): JSX.Element {
  const names = (open.room?.typing ?? []).map(({ userName }) => sanitizeLine(userName) || say('theVisitor'));
  return (
    <p class="typing" aria-live="polite">
      {names.length === 0
        ? ''
        : names.length === 1
          ? t('typesNow', { name: names[0] ?? '' })
          : t('typeNow', { names: names.join(', ') })}
    </p>
  );
}

// One message as lines of a given width: day, unread line, who and when, the text, marks.
// Pure and remembered per message, so that a frame costs what is in sight.
import { inEnglish } from '../../../desk/english.ts';
import type { ShownMessage } from '../../../desk/desk-state.ts';
import { lastSeenMessage, shownMessages } from '../../../desk/shown-messages.ts';
import { justify } from './line-layout.ts';
import type { ViewState } from './view-state.ts';
import type { MessageBlocks } from './viewport.ts';
import { contentLines } from '../text/rich-lines.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import type { Line, Span } from '../text/types.ts';
import { cut, widthOf } from '../text/wrap.ts';
import { isOnlyNames } from '../../../sdk/attachments.ts';
import { kindOf as fileKind, sizeText } from '../../../sdk/shown-files.ts';
import type { SdkAttachment } from '../../../sdk/types.ts';
import { mailMarks } from '../../../desk/mail-marks.ts';
import { dayLabel, dayOf, timeOfDay } from '../../../desk/time.ts';
import { counted } from '../../../text/text.ts';

export interface LineOptions {
  readonly columns: number;
  readonly memberId: string;
  /** Ms since the epoch. */
  readonly now: number;
  /** No blank lines between messages: for small windows. */
  readonly compact: boolean;
  readonly unreadFrom: string | null;
  readonly selected: string | null;
  /** The own message that the visitor has read last. */
  readonly seen: string | null;
  /** The message that is being edited. */
  readonly editing: string | null;
}

/** Lines of text get no longer than this, however wide the window is: lines of 200 columns are hard to read. */
const maxLineLength = 110;
const groupedWithinMs = 5 * 60_000;

type Kind = 'visitor' | 'own' | 'colleague' | 'assistant' | 'system' | 'note';

function kindOf(message: ShownMessage): Kind {
  if (message.internal === true) return 'note';
  if (message.senderRole === 'operator') return message.own || message.state !== 'sent' ? 'own' : 'colleague';
  return message.senderRole;
}

const looks: Readonly<
  Record<
    Kind,
    { readonly color: NonNullable<Span['color']>; readonly gutter: string; readonly label: string }
  >
> = {
  visitor: { color: 'cyan', gutter: '│', label: '' },
  own: { color: 'green', gutter: '│', label: '' },
  colleague: { color: 'blue', gutter: '│', label: 'colleague' },
  assistant: { color: 'magenta', gutter: '╎', label: 'assistant' },
  system: { color: 'gray', gutter: '·', label: '' },
  note: { color: 'yellow', gutter: '┊', label: 'internal note' },
};

function nameOf(message: ShownMessage, kind: Kind, memberId: string): string {
  if (kind === 'own' || (kind === 'note' && message.senderId === memberId)) return 'You';
  return sanitizeLine(message.senderName) || (kind === 'visitor' ? 'Visitor' : 'Unknown');
}

/** A line across: `──── Today ────`. */
export function ruleWith(label: string, columns: number, style: Omit<Span, 'text'>): Line {
  const text = label === '' ? '' : ` ${label} `;
  const left = Math.max(2, Math.floor((columns - widthOf([{ text }])) / 2));
  const right = Math.max(0, columns - left - widthOf([{ text }]));
  return cut(
    [
      { text: '─'.repeat(left), ...style },
      { text, ...style },
      { text: '─'.repeat(right), ...style },
    ],
    columns,
  );
}

/** A file of a message: name, kind and size. */
export function fileSpans(file: SdkAttachment): Line {
  const about = [fileKind(file), sizeText(file.size, 'en')].filter((part) => part !== '').join(', ');
  return [
    { text: '⧉ ', dim: true },
    { text: sanitizeLine(file.name) || 'file', underline: true },
    { text: `  ${sanitizeLine(about)}`, dim: true },
  ];
}

function problemOf(message: ShownMessage): string {
  const reason = sanitizeLine(message.error?.message ?? '').replace(/[.]+$/, '');
  return reason === '' ? 'not sent' : `not sent: ${reason}`;
}

/** Whether a message continues the one before it, so that its name is not said again. */
function continues(message: ShownMessage, before: ShownMessage | undefined): boolean {
  if (before === undefined || before.deleted === true || message.deleted === true) return false;
  return (
    before.senderRole === message.senderRole &&
    (before.senderId === message.senderId || (kindOf(before) === 'own' && kindOf(message) === 'own')) &&
    before.internal === message.internal &&
    Date.parse(message.createdAt) - Date.parse(before.createdAt) < groupedWithinMs
  );
}

interface Remembered {
  readonly stamp: string;
  readonly before: ShownMessage | undefined;
  readonly lines: readonly Line[];
}

const remembered = new WeakMap<ShownMessage, Remembered>();

/**
 * The lines of one message, each at most `columns` wide.
 * @param before the message in front of it, which decides about day line and name
 */
export function messageLines(
  message: ShownMessage,
  before: ShownMessage | undefined,
  options: LineOptions,
): readonly Line[] {
  const { columns, unreadFrom, selected, seen, editing, now, compact } = options;
  const flags = [unreadFrom, selected, seen, editing]
    .map((one) => (one !== null && (one === message.key || one === message.id) ? 1 : 0))
    .join('');
  const stamp = `${columns} ${flags} ${compact ? 1 : 0} ${dayOf(now)} ${options.memberId}`;
  const known = remembered.get(message);
  if (known?.stamp === stamp && known.before === before) return known.lines;
  const lines = draw(message, before, options, flags);
  remembered.set(message, { stamp, before, lines });
  return lines;
}

function draw(
  message: ShownMessage,
  before: ShownMessage | undefined,
  options: LineOptions,
  flags: string,
): readonly Line[] {
  const { columns, now, compact, memberId } = options;
  const [isUnread, isSelected, isSeen, isEdited] = Array.from(flags, (flag) => flag === '1');
  const lines: Line[] = [];
  const newDay =
    before === undefined || dayOf(Date.parse(before.createdAt)) !== dayOf(Date.parse(message.createdAt));
  const blank: Line = [];
  if (newDay) {
    if (before !== undefined && !compact) lines.push(blank);
    lines.push(ruleWith(dayLabel(message.createdAt, now), columns, { dim: true }));
  }
  if (isUnread === true) lines.push(ruleWith('new', columns, { color: 'red', bold: true }));
  const kind = kindOf(message);
  const look = looks[kind];
  const gutter: Span =
    isSelected === true ? { text: ' ▌ ', bold: true } : { text: ` ${look.gutter} `, color: look.color };
  if (message.deleted === true) {
    return [
      ...lines,
      cut(
        [gutter, { text: `${nameOf(message, kind, memberId)} deleted a message`, dim: true, italic: true }],
        columns,
      ),
    ];
  }
  const again = !newDay && isUnread !== true && continues(message, before);
  if (!again) {
    if (!compact && !newDay && isUnread !== true) lines.push(blank);
    lines.push(
      justify(
        [
          gutter,
          { text: nameOf(message, kind, memberId), bold: true, color: look.color },
          ...(look.label === ''
            ? []
            : [{ text: '  ' }, { text: ` ${look.label} `, inverse: kind === 'note', dim: kind !== 'note' }]),
        ],
        [{ text: `${timeOfDay(message.createdAt)} `, dim: true }],
        Math.min(columns, maxLineLength + 10),
      ),
    );
  }
  const { attachments } = message;
  const content = isOnlyNames(message.content, message.contentFormat, attachments)
    ? []
    : contentLines(message, Math.max(4, Math.min(columns - 4, maxLineLength)));
  for (const line of content) lines.push([gutter, ...line]);
  for (const file of attachments ?? []) lines.push(cut([gutter, ...fileSpans(file)], columns));
  const marks: Span[] = [];
  if (isEdited === true) marks.push({ text: 'you are editing this', color: 'yellow' });
  else if (message.editedAt !== null) marks.push({ text: 'edited', dim: true });
  if (message.choices !== undefined)
    marks.push({ text: `${counted(message.choices.length, 'title')} offered`, dim: true });
  if (message.choice !== undefined) marks.push({ text: 'chose this title', dim: true });
  for (const { text, bad } of mailMarks(message, inEnglish))
    marks.push(bad ? { text: `✗ ${text}`, color: 'red' } : { text, dim: true });
  if (isSeen === true) marks.push({ text: '✓ seen', dim: true });
  if (message.state === 'sending') marks.push({ text: '… sending', dim: true });
  if (message.state === 'failed') marks.push({ text: `✗ ${problemOf(message)}`, color: 'red', bold: true });
  if (marks.length > 0) {
    const tail = marks.flatMap((mark, index): Span[] =>
      index === 0 ? [mark] : [{ text: ' · ', dim: true }, mark],
    );
    const last = lines.at(-1) ?? [];
    // Behind the text where there is room, so that nothing jumps when a mark comes.
    if (
      (content.length > 0 || attachments !== undefined) &&
      widthOf(last) + widthOf(tail) + 2 <= Math.min(columns - 1, maxLineLength + 4)
    )
      lines[lines.length - 1] = [...last, { text: '  ' }, ...tail];
    else lines.push(cut([gutter, ...tail], columns));
  }
  return lines;
}

/** The open conversation's messages as blocks of lines. */
export function messageBlocks(state: ViewState, columns: number, compact: boolean): MessageBlocks {
  const { open, session, now, composer, queue } = state;
  const messages = open === null ? [] : shownMessages(open);
  const visitor = open?.detail?.visitor ?? queue.items.find(({ id }) => id === open?.id)?.visitor;
  const options: LineOptions = {
    columns,
    compact,
    now,
    memberId: session?.member.id ?? '',
    unreadFrom: open?.unreadFrom ?? null,
    selected: open?.selected ?? null,
    seen: open === null ? null : lastSeenMessage(open, visitor?.id),
    editing: composer?.editing ?? null,
  };
  return {
    length: messages.length,
    keyAt: (index) => messages[index]?.key ?? '',
    linesAt: (index) => {
      const message = messages[index];
      return message === undefined ? [] : messageLines(message, messages[index - 1], options);
    },
  };
}

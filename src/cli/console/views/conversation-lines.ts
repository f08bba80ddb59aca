// The conversation pane as lines: title with who is here, messages in sight, and what is
// being written. Pure.
import { inEnglish } from '../../../desk/english.ts';
import { sizeLimits } from '../../../protocol/codes.ts';
import { sizeText } from '../../../sdk/shown-files.ts';
import { visitorName } from '../../../desk/conversation-commands.ts';
import {
  cannedQuery,
  fittingReplies,
  mentionChoices,
  sendPermission,
  type ComposerState,
} from '../../../desk/composer.ts';
import type { PaneLayout } from './pane-layout.ts';
import { editableText } from '../../../desk/lexical-markdown.ts';
import { messageBlocks, ruleWith } from './message-lines.ts';
import { orderMarks } from './queue-lines.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import type { DeskState } from '../../../desk/desk-state.ts';
import type { ViewState } from './view-state.ts';
import { shortDuration } from '../../../desk/time.ts';
import { viewportOf } from './viewport.ts';
import { layoutBuffer } from '../text/row-motions.ts';
import type { TextLayout } from '../text/text-layout.ts';
import type { Line, Span } from '../text/types.ts';
import { cut } from '../text/wrap.ts';
import { blankLine, fitLine, titleRule, fitHeight } from './line-layout.ts';

type Item = ViewState['queue']['items'][number];

/** The open conversation as the queue knows it. */
export function openItem(state: DeskState): Item | undefined {
  const { open, queue } = state;
  if (open === null) return undefined;
  return queue.items.find(({ id }) => id === open.id) ?? open.detail ?? undefined;
}

function standing(item: Item, memberId: string): Line {
  switch (item.status) {
    case 'pending':
      return [{ text: 'pending', color: 'yellow' }];
    case 'closed':
      return [{ text: 'closed', dim: true }];
    default:
      return item.assignedTo === memberId
        ? [{ text: 'yours', color: 'green' }]
        : [{ text: `${sanitizeLine(item.assignedToName ?? '') || 'a colleague'} has it`, color: 'blue' }];
  }
}

/** Colleagues who take part besides the one at this console. */
function present(state: ViewState): string {
  const { open, colleagues, session } = state;
  const names = (open?.detail?.participants ?? [])
    .filter(({ role, userId }) => role === 'operator' && userId !== session?.member.id)
    .flatMap(({ userId }) => sanitizeLine(colleagues?.find(({ id }) => id === userId)?.name ?? '') || []);
  return names.length === 0 ? '' : `with ${names.join(', ')}`;
}

/** Whom one talks to, how that stands, who else takes part. Exactly `conversationColumns` wide. */
export function conversationTitle(state: ViewState, layout: PaneLayout): Line {
  const { conversationColumns: columns } = layout;
  const item = openItem(state);
  const focused = state.focus === 'conversation' && state.dialog === null;
  if (item === undefined) return titleRule([{ text: 'Conversation', dim: true }], [], columns, focused);
  const waits =
    item.waitingSince === null || item.status === 'closed'
      ? []
      : [
          {
            text: `waits ${shortDuration(state.now - Date.parse(item.waitingSince))}`,
            color: 'yellow' as const,
          },
        ];
  const others = present(state);
  const left: Line = [
    ...(layout.panes === 1 ? [{ text: '‹ ', dim: true }] : []),
    { text: sanitizeLine(visitorName(item, inEnglish)), bold: true },
    { text: ' · ', dim: true },
    ...standing(item, state.session?.member.id ?? ''),
    ...(item.mode === 'test' ? [{ text: ' · test', color: 'magenta' as const }] : []),
    ...orderMarks(item, state.now),
    ...(item.subject === undefined ? [] : [{ text: ` · ${sanitizeLine(item.subject)}`, dim: true }]),
    ...(others === '' ? [] : [{ text: ` · ${others}`, color: 'blue' as const }]),
  ];
  return titleRule(left, waits, columns, focused);
}

function welcome(state: ViewState, columns: number): readonly Line[] {
  const waiting = state.queue.lists.pending.total;
  const centre = (line: string): Line => [
    { text: ' '.repeat(Math.max(0, Math.floor((columns - line.length) / 2))) },
    { text: line, dim: true },
  ];
  if (waiting === null) return [centre(state.connection === 'offline' ? 'No connection.' : 'Connecting…')];
  const text =
    waiting === 0
      ? 'No visitor is waiting.'
      : waiting === 1
        ? 'One visitor is waiting.'
        : `${waiting} visitors are waiting.`;
  return [centre(text), blankLine, centre('Choose a conversation and press Enter.')];
}

/** The messages in sight: exactly `messageRows` lines. */
export function messageLinesInSight(state: ViewState, layout: PaneLayout): readonly Line[] {
  const { conversationColumns: columns, messageRows: height, compact } = layout;
  const { open } = state;
  if (open === null)
    return fitHeight(
      [...fitHeight([], Math.floor(height / 3), 'top'), ...welcome(state, columns)],
      height,
      'top',
    );
  if (open.problem !== null)
    return fitHeight([cut([{ text: `  ${open.problem}`, color: 'red' }], columns)], height, 'bottom');
  if (open.room === null) return fitHeight([[{ text: '  Loading…', dim: true }]], height, 'bottom');
  const { lines, atTop } = viewportOf(messageBlocks(state, columns, compact), state.anchor, height);
  if (lines.length === 0) return fitHeight([[{ text: '  No message yet.', dim: true }]], height, 'bottom');
  const shown = lines.map(({ line }) => line);
  if (open.loadingOlder && atTop) shown[0] = ruleWith('loading earlier messages', columns, { dim: true });
  return fitHeight(shown, height, 'bottom');
}

function typingText(state: ViewState): string {
  const who = (state.open?.room?.typing ?? [])
    .filter(({ userId }) => userId !== state.session?.member.id)
    .map(
      ({ userName, senderRole }) =>
        sanitizeLine(userName) ||
        (senderRole === 'visitor' ? sanitizeLine(visitorName(openItem(state), inEnglish)) : 'a colleague'),
    );
  if (who.length === 0) return '';
  if (who.length === 1) return `${who[0] ?? ''} is typing…`;
  return `${who.slice(0, 2).join(' and ')} are typing…`;
}

function purpose(state: ViewState, composer: ComposerState): Span {
  const item = openItem(state);
  const name = sanitizeLine(visitorName(item, inEnglish));
  if (composer.keeping !== null)
    return { text: 'Kept for the assistant · first line: the question', color: 'yellow', bold: true };
  if (composer.editing !== null) return { text: 'Changing your message', color: 'yellow', bold: true };
  if (composer.note)
    return { text: ` INTERNAL NOTE · ${name} never sees it `, color: 'yellow', bold: true, inverse: true };
  if (composer.ai === 'asking') return { text: 'The assistant is writing a draft…', color: 'magenta' };
  if (composer.ai === 'drafted')
    return { text: 'AI draft · read it before you send it', color: 'magenta', bold: true };
  switch (sendPermission(item, state.session?.member.id ?? '')) {
    case 'accepts':
      return { text: `Reply to ${name} · sending accepts the conversation` };
    case 'colleague':
      return {
        text: `${sanitizeLine(item?.assignedToName ?? '') || 'A colleague'} answers here · you can add notes`,
        dim: true,
      };
    case 'closed':
      return { text: item === undefined ? 'Reply' : 'Closed', dim: true };
    default:
      return { text: `Reply to ${name}` };
  }
}

/** The line between messages and composer: whom the text is for, who types, what is out of sight. */
export function composerRule(state: ViewState, composer: ComposerState, layout: PaneLayout): Line {
  const typing = typingText(state);
  const length = composer.buffer.text.length;
  const unseen = state.open?.unseen ?? 0;
  const right: Span =
    unseen > 0
      ? { text: `↓ ${unseen} new below`, color: 'red', bold: true }
      : typing !== ''
        ? { text: typing, color: 'cyan', italic: true }
        : state.open !== null && !state.open.atEnd
          ? { text: '↓ more below', dim: true }
          : length > sizeLimits.contentRest * 0.8
            ? {
                text: `${length}/${sizeLimits.contentRest}`,
                ...(length > sizeLimits.contentRest ? { color: 'red' as const, bold: true } : { dim: true }),
              }
            : { text: '' };
  return titleRule(
    [purpose(state, composer)],
    right.text === '' ? [] : [right],
    layout.conversationColumns,
    state.focus === 'composer' && state.dialog === null,
  );
}

/** How the composer's text lies in its box. @param firstRow of the drawing before */
export function composerText(composer: ComposerState, layout: PaneLayout, firstRow: number): TextLayout {
  return layoutBuffer(composer.buffer, layout.composerColumns, Math.max(1, layout.composerRows), firstRow);
}

/** The composer's box: exactly `composerRows` lines. */
export function composerBody(
  state: ViewState,
  composer: ComposerState,
  layout: PaneLayout,
  text: TextLayout,
): readonly Line[] {
  const focused = state.focus === 'composer' && state.dialog === null;
  const prompt: Span = composer.note
    ? { text: ' ┊ ', color: 'yellow', bold: true }
    : composer.before !== null
      ? { text: ' ~ ', color: 'yellow', bold: true }
      : { text: ' › ', ...(focused ? { color: 'cyan', bold: true } : { dim: true }) };
  const rest: Span = composer.note ? prompt : { text: '   ' };
  if (composer.buffer.text === '') {
    const hint = focused ? (composer.note ? 'For colleagues only.' : 'Write, or / for a canned reply.') : '';
    return fitHeight(
      [cut([prompt, { text: hint, dim: true, italic: true }], layout.conversationColumns)],
      layout.composerRows,
      'top',
    );
  }
  return fitHeight(
    text.lines.map((line, index): Line => [
      index === 0 && text.firstRow === 0 ? prompt : rest,
      { text: line },
    ]),
    layout.composerRows,
    'top',
  );
}

/** The files that go with what is written, drawn over the lowest messages. */
export function fileLines({ files, leaving }: ComposerState, layout: PaneLayout): readonly Line[] {
  const { conversationColumns: columns, messageRows } = layout;
  const most = Math.max(1, Math.min(5, messageRows - 1));
  const shown = files.slice(-most);
  return shown.map((file, index) => {
    const { name, size, progress, uploaded, problem } = file;
    const how: Span =
      problem !== null
        ? { text: `✗ ${sanitizeLine(problem)}`, color: 'red' }
        : uploaded === null
          ? { text: `… ${Math.round(progress * 100)} %`, dim: true }
          : { text: leaving ? '… waits for the others' : '✓', color: 'green' };
    const more = index === 0 && files.length > shown.length ? ` (${files.length} files)` : '';
    return fitLine(
      [
        { text: ' ⧉ ', color: 'cyan' },
        { text: sanitizeLine(name) || 'file', bold: true },
        { text: size === null ? '  ' : `  ${sizeText(size, 'en')}  `, dim: true },
        how,
        { text: more, dim: true },
      ],
      columns,
    );
  });
}

/** The colleagues whose name is being typed behind an `@` of a note. */
function nameLines(state: ViewState, composer: ComposerState, layout: PaneLayout): readonly Line[] {
  const people = mentionChoices(composer, state.colleagues)?.people ?? [];
  const index = Math.min(composer.cannedIndex ?? 0, people.length - 1);
  return people.slice(0, Math.max(1, layout.messageRows - 1)).map(({ name }, at) =>
    fitLine(
      [
        { text: at === index ? ' ▌ ' : '   ', color: 'cyan', bold: true },
        { text: `@${sanitizeLine(name)}`, bold: at === index },
      ],
      layout.conversationColumns,
    ),
  );
}

/** The canned replies that fit what is typed, drawn over the lowest messages; empty: no shortcut is typed. */
export function cannedLines(state: ViewState, composer: ComposerState, layout: PaneLayout): readonly Line[] {
  const query = cannedQuery(composer);
  if (state.focus !== 'composer') return [];
  if (query === null) return nameLines(state, composer, layout);
  const { conversationColumns: columns, messageRows } = layout;
  const list = fittingReplies(state.cannedReplies, query);
  const most = Math.max(1, Math.min(8, messageRows - 1));
  if (list.length === 0) {
    const text =
      state.cannedReplies === null
        ? 'Loading…'
        : state.cannedReplies.length === 0
          ? 'No canned replies yet: deskbell canned set NAME TEXT'
          : 'No canned reply fits.';
    return [fitLine([{ text: `   ${text}`, dim: true, italic: true }], columns)];
  }
  const index = Math.min(composer.cannedIndex ?? 0, list.length - 1);
  const top = Math.max(0, Math.min(index - most + 1, list.length - most));
  const widest = Math.min(
    18,
    Math.max(...list.slice(top, top + most).map(({ shortcut }) => shortcut.length + 1)),
  );
  return list.slice(top, top + most).map((reply, at) => {
    const isChosen = top + at === index;
    return fitLine(
      [
        { text: isChosen ? ' ▌ ' : '   ', color: 'cyan', bold: true },
        ...fitLine([{ text: `/${sanitizeLine(reply.shortcut)}`, bold: isChosen }], widest),
        { text: '  ' },
        { text: sanitizeLine(editableText(reply)), dim: !isChosen },
      ],
      columns,
    );
  });
}

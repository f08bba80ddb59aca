// Owns writing: a field for Markdown with its buttons, answer or note, canned replies, the assistant. The model has the
// text; the field shows it and tells every change.
import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { JSX, TargetedDragEvent } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import {
  cannedQuery,
  hasContent,
  hasText,
  mentionChoices,
  sendPermission,
  type ComposerState,
} from '../../desk/composer.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { sizeLimits } from '../../protocol/codes.ts';
import type { RewriteStyle } from '../../protocol/assistant.ts';
import { desk, deskState } from '../desk.ts';
import { Button, IconButton } from '../ui/button.tsx';
import type { IconName } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { partOf, usePart } from '../ui/on-use.ts';
import { toast } from '../ui/toast.tsx';
import { say, t, withWords } from '../words.ts';
import { fileSources, filesOf } from './file-sources.ts';
import { Clip } from './clip.tsx';
import { isTouch } from './layout.ts';
import { applyMark } from './markdown-marks.ts';
import { formatKeys, formatOfKey, type FormatName } from '../../../widget/shared/format-keys.ts';

const marks: readonly {
  readonly mark: FormatName;
  readonly icon: IconName;
  readonly word: Parameters<typeof t>[0];
}[] = [
  { mark: 'bold', icon: 'bold', word: 'bold' },
  { mark: 'italic', icon: 'italic', word: 'italic' },
  { mark: 'underline', icon: 'underline', word: 'underline' },
  { mark: 'strike', icon: 'strike', word: 'strike' },
  { mark: 'code', icon: 'code', word: 'codeMark' },
  { mark: 'bullets', icon: 'bullets', word: 'bullets' },
  { mark: 'numbers', icon: 'numbers', word: 'numbers' },
  { mark: 'link', icon: 'link', word: 'link' },
];

/** As it is shown; the widget's keys, but for the one that is the palette's here. */
function keyOf(mark: FormatName): string | undefined {
  if (mark === 'link') return undefined;
  const key = formatKeys[mark];
  const byShift: Readonly<Record<string, string>> = { X: '⇧X', '*': '⇧8', '&': '⇧7' };
  return `⌃${byShift[key] ?? key.toUpperCase()}`;
}

const styles: readonly { readonly style: RewriteStyle; readonly word: Parameters<typeof t>[0] }[] = [
  { style: 'improve', word: 'rewriteImprove' },
  { style: 'shorten', word: 'rewriteShorter' },
  { style: 'friendly', word: 'rewriteFriendlier' },
  { style: 'formal', word: 'rewriteFormal' },
];

/** Puts another text into the field so that the browser's own Undo takes it back. */
function replaceText(field: HTMLTextAreaElement, text: string, from: number, to: number): void {
  if (field.value !== text) {
    // Only what differs is replaced: the rest keeps its place.
    let start = 0;
    while (start < text.length && field.value[start] === text[start]) start += 1;
    let end = 0;
    while (
      end < Math.min(text.length, field.value.length) - start &&
      field.value[field.value.length - 1 - end] === text[text.length - 1 - end]
    )
      end += 1;
    const piece = text.slice(start, text.length - end);
    field.setSelectionRange(start, field.value.length - end);
    const isFocused = document.activeElement === field;
    const done =
      isFocused &&
      (piece === '' ? document.execCommand('delete') : document.execCommand('insertText', false, piece));
    if (!done || field.value !== text) field.value = text;
  }
  field.setSelectionRange(from, to);
}

const files = partOf(() => withWords(import('./files.tsx')));
const aids = partOf(() => withWords(import('./writing-aids.tsx')));

/** The files that go with what is written. */
function Files({ composer }: { readonly composer: ComposerState }): JSX.Element | null {
  const part = usePart(files, composer.files.length > 0);
  return part === null ? null : <part.Files composer={composer} />;
}

/** What is offered for what is being typed. */
function Aids({ composer }: { readonly composer: ComposerState }): JSX.Element | null {
  const colleagues = useComputed(() => deskState.value.colleagues).value;
  const isReply = cannedQuery(composer) !== null;
  const isName = mentionChoices(composer, colleagues) !== null;
  const part = usePart(aids, isReply || isName);
  if (part === null) return null;
  return isReply ? <part.Canned composer={composer} /> : isName ? <part.Names composer={composer} /> : null;
}

function Preview({ text }: { readonly text: string }): JSX.Element | null {
  const part = usePart(aids);
  return part === null ? null : <part.Preview text={text} />;
}

export function Composer(): JSX.Element | null {
  const composer = useComputed(() => deskState.value.composer).value;
  const item = useComputed(() =>
    deskState.value.queue.items.find(({ id }) => id === deskState.value.composer?.conversationId),
  ).value;
  const detail = useComputed(() => deskState.value.open?.detail ?? undefined).value;
  const memberId = useComputed(() => deskState.value.session?.member.id ?? '').value;
  if (composer === null) return null;
  const permission = sendPermission(item ?? detail, memberId);
  if (permission === 'closed' && composer.editing === null && composer.keeping === null && !hasText(composer))
    return <p class="composer closed">{t('closedNoWriting')}</p>;
  const holder = sanitizeLine((item ?? detail)?.assignedToName ?? '') || say('aColleague');
  return <Field key={composer.conversationId} composer={composer} permission={permission} holder={holder} />;
}

interface FieldProps {
  readonly composer: ComposerState;
  readonly permission: ReturnType<typeof sendPermission>;
  readonly holder: string;
}

function Field({ composer, permission, holder }: FieldProps): JSX.Element {
  const ref = useRef<HTMLTextAreaElement>(null);
  const previewing = useSignal(false);
  const { model } = desk();
  const { text, caret } = composer.buffer;
  const { note } = composer;

  // A draft that was begun earlier goes on where it ended.
  useLayoutEffect(() => ref.current?.setSelectionRange(caret, caret), []);
  useLayoutEffect(() => {
    const field = ref.current;
    if (field === null || field.value === text) return;
    replaceText(field, text, caret, caret);
  }, [text]);

  const tell = (): void => {
    const field = ref.current;
    if (field !== null) model.composer.setText(field.value, field.selectionEnd);
  };
  const mark = (which: FormatName): void => {
    const field = ref.current;
    if (field === null) return;
    field.focus();
    const next = applyMark(which, {
      text: field.value,
      from: field.selectionStart,
      to: field.selectionEnd,
    });
    replaceText(field, next.text, next.from, next.to);
    tell();
  };
  const attach = (files: readonly File[]): boolean => {
    model.composer.attach(fileSources(files));
    return files.length > 0;
  };
  const dropping = {
    onDragOver: (event: TargetedDragEvent<HTMLFormElement>) => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      event.currentTarget.toggleAttribute('data-over', true);
    },
    onDragLeave: ({ currentTarget, relatedTarget }: TargetedDragEvent<HTMLFormElement>) =>
      currentTarget.toggleAttribute(
        'data-over',
        relatedTarget instanceof Node && currentTarget.contains(relatedTarget),
      ),
    onDrop: (event: TargetedDragEvent<HTMLFormElement>) => {
      event.currentTarget.removeAttribute('data-over');
      if (attach([...(event.dataTransfer?.files ?? [])])) event.preventDefault();
    },
  };
  const mode = note ? 'note' : 'answer';
  const placeholder = note
    ? t('writeNote')
    : permission === 'accepts'
      ? t('writeAccepts')
      : permission === 'colleague'
        ? say('colleagueHasIt', { name: holder })
        : t('writeAnswer');
  return (
    <form
      class={`composer ${mode}`}
      data-pane="composer"
      onSubmit={(event) => {
        event.preventDefault();
        model.composer.run('send');
      }}
      data-drop={t('dropFiles')}
      {...dropping}
    >
      <Aids composer={composer} />
      <Head composer={composer} />
      <textarea
        ref={ref}
        data-field="composer"
        // The placeholder is the page's; what is written may be in another direction.
        dir={text === '' ? undefined : 'auto'}
        rows={2}
        aria-label={note ? t('writeNote') : t('writeAnswer')}
        placeholder={placeholder}
        defaultValue={text}
        spellcheck
        enterkeyhint={isTouch.matches ? 'enter' : 'send'}
        onInput={tell}
        onPaste={(event) => {
          if (attach(filesOf(event.clipboardData))) event.preventDefault();
        }}
        onSelect={tell}
        onKeyDown={(event) => {
          const wanted = formatOfKey(event);
          if (wanted === undefined || wanted === 'link') return;
          event.preventDefault();
          mark(wanted);
        }}
      />
      {previewing.value && hasText(composer) ? <Preview text={text} /> : null}
      <Files composer={composer} />
      <Foot composer={composer} previewing={previewing} mark={mark} />
    </form>
  );
}

/** Answer or note, or what else the text is for. */
function Head({
  composer: { note, editing, keeping, ai },
}: {
  readonly composer: ComposerState;
}): JSX.Element {
  const { model } = desk();
  return (
    <div class="composer-head">
      {editing === null && keeping === null ? (
        <div class="modes" role="group" aria-label={t('answerOrNote')}>
          <button type="button" aria-pressed={!note} onClick={() => model.composer.setNote(false)}>
            {t('answer')}
          </button>
          <button type="button" class="note" aria-pressed={note} onClick={() => model.composer.setNote(true)}>
            {t('internalNote')}
          </button>
        </div>
      ) : (
        <p class="state">
          {t(editing === null ? 'keepingAnswer' : 'editingMessage')}{' '}
          <button type="button" class="link" onClick={() => model.composer.cancelEdit()}>
            {t('cancel')}
          </button>
        </p>
      )}
      {ai === null ? null : (
        <p class="state ai" role="status">
          {t(ai === 'asking' ? 'aiAsking' : 'aiDrafted')}
        </p>
      )}
    </div>
  );
}

interface FootProps {
  readonly composer: ComposerState;
  readonly previewing: Signal<boolean>;
  readonly mark: (which: FormatName) => void;
}

/** The buttons. */
function Foot({ composer, previewing, mark }: FootProps): JSX.Element {
  const { model } = desk();
  const { note, editing, keeping, ai, buffer } = composer;
  const over = buffer.text.trim().length - sizeLimits.contentRest;
  const mode = note ? 'note' : 'answer';
  const action =
    keeping !== null ? 'keepAnswer' : editing !== null ? 'saveChange' : note ? 'sendNote' : 'send';
  return (
    <div class="composer-foot">
      <div class="tools" role="toolbar" aria-label={t('formatting')}>
        {marks.map(({ mark: which, icon, word }) => (
          <IconButton
            key={which}
            icon={icon}
            label={t(word)}
            hint={keyOf(which)}
            onClick={() => mark(which)}
          />
        ))}
        <IconButton
          icon="eye"
          label={t('preview')}
          pressed={previewing.value}
          onClick={() => {
            previewing.value = !previewing.value;
          }}
        />
      </div>
      <div class="tools">
        <Clip disabled={editing !== null || keeping !== null} />
        <IconButton icon="book" label={t('cannedReplies')} hint="/" onClick={() => model.run('canned')} />
        <IconButton
          icon="spark"
          label={t('aiDraft')}
          hint={desk().keymap.label('aiDraft', 'composer')}
          busy={ai === 'asking'}
          onClick={() => model.run('aiDraft')}
        />
        <Rewrite composer={composer} />
      </div>
      {over > 0 ? (
        <p class="bad" role="status">
          {say('tooLong', { n: over })}
        </p>
      ) : null}
      <Button kind="main" type="submit" icon="send" disabled={!hasContent(composer)} class={`send ${mode}`}>
        {t(action)}
      </Button>
    </div>
  );
}

function Rewrite({ composer }: { readonly composer: ComposerState }): JSX.Element {
  const rewrite = (style: RewriteStyle): void => {
    withWords(import('./rewrite.ts')).then(
      (file) => file.rewrite(composer, style),
      () => toast(t('pageNotLoaded'), 'bad'),
    );
  };
  return (
    <Menu
      label={t('rewrite')}
      icon="edit"
      items={styles.map(({ style, word }) => ({
        label: t(word),
        disabled: !hasText(composer),
        onClick: () => rewrite(style),
      }))}
    />
  );
}

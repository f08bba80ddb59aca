// Owns what is offered while one writes, loaded when it is wanted first: canned replies, colleagues' names, the preview.
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { cannedQuery, fittingReplies, mentionChoices, type ComposerState } from '../../desk/composer.ts';
import { toOutgoingMessage } from '../../desk/composer-controller.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { desk, deskState } from '../desk.ts';
import css from '../styles/writing-aids.css';
import { adopt } from '../ui/adopt.ts';
import { t } from '../words.ts';
import { RichContent } from './rich-content.tsx';

adopt(css);

/** What the Markdown becomes, a moment after the last change. */
export function Preview({ text }: { readonly text: string }): JSX.Element {
  const content = useSignal({ content: text, format: 'plain' });
  useEffect(() => {
    let gone = false;
    const timer = setTimeout(() => {
      void toOutgoingMessage(text).then((message) => {
        if (!gone) content.value = { content: message.content, format: message.contentFormat ?? 'plain' };
      });
    }, 120);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [text]);
  return (
    <div class="preview" aria-label={t('preview')} role="region">
      <RichContent {...content.value} />
    </div>
  );
}

/** The chosen one of a list stays in sight. */
function showChosen(list: HTMLElement | null): void {
  list?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
}

/** The colleagues whose name is being typed behind an `@` of a note. */
export function Names({ composer }: { readonly composer: ComposerState }): JSX.Element | null {
  const colleagues = useComputed(() => deskState.value.colleagues).value;
  const naming = mentionChoices(composer, colleagues);
  if (naming === null) return null;
  const at = Math.min(composer.cannedIndex ?? 0, naming.people.length - 1);
  return (
    <ul ref={(list) => showChosen(list)} class="canned" role="listbox" aria-label="@">
      {naming.people.map((person, index) => (
        <li
          key={person.id}
          role="option"
          aria-selected={index === at}
          onPointerDown={(event) => {
            event.preventDefault();
            desk().model.composer.suggestions.insertName(person);
          }}
        >
          <b dir="auto">@{sanitizeLine(person.name)}</b>
        </li>
      ))}
    </ul>
  );
}

/** The canned replies that fit what was typed behind a slash. */
export function Canned({ composer }: { readonly composer: ComposerState }): JSX.Element | null {
  const replies = useComputed(() => deskState.value.cannedReplies).value;
  const query = cannedQuery(composer);
  if (query === null) return null;
  const fitting = fittingReplies(replies, query);
  if (fitting.length === 0) return <p class="canned empty">{t(replies === null ? 'loading' : 'noCanned')}</p>;
  const at = Math.min(composer.cannedIndex ?? 0, fitting.length - 1);
  // Around the chosen one, so that it is always in sight.
  const from = Math.max(0, Math.min(at - 3, fitting.length - 8));
  return (
    <ul ref={(list) => showChosen(list)} class="canned" role="listbox" aria-label={t('cannedReplies')}>
      {fitting.slice(from, from + 8).map((reply, index) => (
        <li
          key={reply.id}
          role="option"
          aria-selected={from + index === at}
          onPointerDown={(event) => {
            event.preventDefault();
            desk().model.composer.suggestions.insertReply(reply);
          }}
        >
          <b dir="auto">/{sanitizeLine(reply.shortcut)}</b>
          <span dir="auto">{sanitizeLine(reply.content)}</span>
        </li>
      ))}
    </ul>
  );
}

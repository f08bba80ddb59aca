// Owns one message: who and when, the text, what became of it, and what can be done with it.
import type { JSX } from 'preact';
import { refusalMessage } from '../../desk/desk-context.ts';
import type { ShownMessage } from '../../desk/desk-state.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { dayOf } from '../../desk/time.ts';
import { sizeLimits } from '../../protocol/codes.ts';
import { isOnlyNames } from '../../sdk/attachments.ts';
import { desk } from '../desk.ts';
import { IconButton } from '../ui/button.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { memo } from '../ui/memo.ts';
import { partOf, usePart } from '../ui/on-use.ts';
import { say, t, withWords } from '../words.ts';
import { drawMailMarks } from './order-marks.tsx';
import { RichContent } from './rich-content.tsx';
import { dayLabel, fullTime, timeOfDay } from './times.ts';

const groupedWithinMs = 5 * 60_000;

type Kind = 'visitor' | 'own' | 'colleague' | 'assistant' | 'system' | 'note';

export interface MessageProps {
  readonly message: ShownMessage;
  readonly before: ShownMessage | undefined;
  readonly visitorName: string;
  readonly memberId: string;
  /** The day of now, ms since the epoch. */
  readonly today: number;
  /** The unread line stands before it. */
  readonly firstUnread: boolean;
  readonly selected: boolean;
  readonly seen: boolean;
  readonly editing: boolean;
  /** The title that the message chose from those offered before. */
  readonly chosen: string | null;
}

function kindOf(message: ShownMessage): Kind {
  if (message.internal === true) return 'note';
  if (message.senderRole === 'operator') return message.own || message.state !== 'sent' ? 'own' : 'colleague';
  return message.senderRole;
}

function continues(message: ShownMessage, before: ShownMessage | undefined): boolean {
  if (before === undefined || before.deleted === true || message.deleted === true) return false;
  return (
    before.senderRole === message.senderRole &&
    (before.senderId === message.senderId || (kindOf(before) === 'own' && kindOf(message) === 'own')) &&
    before.internal === message.internal &&
    Date.parse(message.createdAt) - Date.parse(before.createdAt) < groupedWithinMs
  );
}

function nameOf(message: ShownMessage, kind: Kind, { memberId, visitorName }: MessageProps): string {
  if (kind === 'own' || (kind === 'note' && (message.senderId === memberId || message.state !== 'sent')))
    return t('you');
  if (kind === 'visitor') return visitorName;
  return sanitizeLine(message.senderName) || t(kind === 'assistant' ? 'assistant' : 'system');
}

export const Message = memo(function drawMessage(props: MessageProps): JSX.Element {
  const { message, before, today, firstUnread, selected, editing } = props;
  const kind = kindOf(message);
  const newDay =
    before === undefined || dayOf(Date.parse(before.createdAt)) !== dayOf(Date.parse(message.createdAt));
  const again = !newDay && !firstUnread && continues(message, before);
  const classes = [
    'message',
    kind,
    again ? 'again' : '',
    selected ? 'selected' : '',
    editing ? 'editing' : '',
  ];
  const name = nameOf(message, kind, props);
  return (
    <>
      {newDay ? (
        <div class="rule" role="separator">
          <span>{dayLabel(message.createdAt, today)}</span>
        </div>
      ) : null}
      {firstUnread ? (
        <div class="rule new" role="separator">
          <span>{t('newMessages')}</span>
        </div>
      ) : null}
      <article
        class={classes.join(' ')}
        id={`message-${message.key}`}
        data-key={message.key}
        aria-label={name}
      >
        {again ? null : (
          <header>
            <strong dir="auto">{name}</strong>
            {kind === 'note' ? (
              <span class="badge note">
                <Icon name="note" />
                {t('internalNote')}
              </span>
            ) : null}
            {kind === 'assistant' ? <span class="badge">{t('assistant')}</span> : null}
            <time dateTime={message.createdAt} title={fullTime(message.createdAt)}>
              {timeOfDay(message.createdAt)}
            </time>
          </header>
        )}
        <div class="bubble">
          {message.deleted === true ? (
            <p class="deleted">{t('deletedMessage')}</p>
          ) : (
            <>
              {isOnlyNames(message.content, message.contentFormat, message.attachments) ? null : (
                <RichContent content={message.content} format={message.contentFormat} />
              )}
              {message.attachments === undefined ? null : <Attachments message={message} />}
            </>
          )}
        </div>
        {message.deleted === true ? null : <Acts message={message} />}
        <Marks {...props} kind={kind} />
      </article>
    </>
  );
});

/** Loaded with the first message that has files. */
const attachments = partOf(() => withWords(import('./attachments.tsx')));

function Attachments({ message }: { readonly message: ShownMessage }): JSX.Element | null {
  const part = usePart(attachments);
  return part === null ? null : <part.Attachments message={message} />;
}

function Marks({ message, seen, chosen, kind }: MessageProps & { readonly kind: Kind }): JSX.Element | null {
  const { choices, state, editedAt } = message;
  const marks: JSX.Element[] = [];
  if (choices !== undefined && choices.length > 0)
    marks.push(
      <span key="choices">
        {t('offered')}:{' '}
        {choices.map(({ id, title }) => (
          <span key={id} class="choice" dir="auto">
            {sanitizeLine(title)}
          </span>
        ))}
      </span>,
    );
  if (chosen !== null) marks.push(<span key="chosen">{t('chosen', { title: sanitizeLine(chosen) })}</span>);
  if (editedAt !== null) marks.push(<span key="edited">{t('edited')}</span>);
  marks.push(...drawMailMarks(message));
  if (kind === 'note') marks.push(<span key="only">{t('onlyColleagues')}</span>);
  if (state === 'sending') marks.push(<span key="sending">{t('sending')}</span>);
  if (seen)
    marks.push(
      <span key="seen" class="seen">
        <Icon name="check" />
        {t('seen')}
      </span>,
    );
  if (state === 'failed') {
    const reason = message.error === undefined ? '' : refusalMessage(message.error, say);
    marks.push(
      <span key="failed" class="bad">
        {t('notSent')} {reason}{' '}
        <button type="button" class="link" onClick={() => desk().model.composer.retry(message.key)}>
          {t('retry')}
        </button>
      </span>,
    );
  }
  return marks.length === 0 ? null : <footer class="marks">{marks}</footer>;
}

type ActCommand = 'copy' | 'edit' | 'remove' | 'discard';

function Acts({ message }: { readonly message: ShownMessage }): JSX.Element {
  const { model, keymap } = desk();
  const drawAct = (icon: IconName, command: ActCommand): JSX.Element => (
    <IconButton
      icon={icon}
      label={t(`cmd_${command}`)}
      hint={keymap.label(command, 'conversation')}
      onClick={() => {
        model.conversation.selectKey(message.key);
        model.run(command);
      }}
    />
  );
  const changeable =
    message.own &&
    message.state === 'sent' &&
    model.context.now() - Date.parse(message.createdAt) < sizeLimits.editWindowMs;
  return (
    <div class="acts" role="group" aria-label={t('messageActs')}>
      {drawAct('copy', 'copy')}
      {changeable ? (
        <>
          {drawAct('edit', 'edit')}
          {drawAct('trash', 'remove')}
        </>
      ) : null}
      {message.state === 'sent' ? null : drawAct('trash', 'discard')}
    </div>
  );
}

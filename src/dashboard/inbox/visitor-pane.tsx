// Owns what is known of the visitor: who it is, what was verified, details, and their other conversations.
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { visitorName } from '../../desk/conversation-commands.ts';
import type { OpenConversation } from '../../desk/desk-state.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { desk, deskState } from '../desk.ts';
import { Avatar } from '../ui/avatar.tsx';
import { IconButton } from '../ui/button.tsx';
import { say, t } from '../words.ts';
import { fullTime, shortTime } from './times.ts';

/** The column at the end, or the content of the dialog on narrow pages. */
export function VisitorDetails({ open }: { readonly open: OpenConversation }): JSX.Element {
  const item = useComputed(() => deskState.value.queue.items.find(({ id }) => id === open.id)).value;
  const now = useComputed(() => Math.floor(deskState.value.now / 60_000)).value * 60_000;
  const conversation = open.detail ?? item;
  if (conversation === undefined) return <p class="loading">{t('loading')}</p>;
  const { visitor, application } = conversation;
  const { context } = desk().model;
  const verified = new Set(visitor.verifiedFields);
  const name = visitorName(conversation, say);
  const attributes = Object.entries(visitor.attributes);
  return (
    <div class="visitor">
      <div class="visitor-head">
        <Avatar name={name} id={visitor.id} />
        <div>
          <h2 dir="auto">{name}</h2>
          <p class={verified.has('id') ? 'badge good' : 'badge'}>
            {t(verified.has('id') ? 'verified' : 'notVerified')}
          </p>
        </div>
      </div>
      <dl>
        {visitor.email === null ? null : (
          <Row title={t('email')} verified={verified.has('email')}>
            <bdi>{sanitizeLine(visitor.email)}</bdi>
          </Row>
        )}
        <Row title={t('visitorId')}>
          <>
            <code dir="ltr">{visitor.id}</code>{' '}
            <IconButton
              icon="copy"
              label={t('copyId')}
              onClick={() => {
                context.runtime.copy(visitor.id);
                context.flash(say('copied'), 'good');
              }}
            />
          </>
        </Row>
        <Row title={t('application')}>
          <bdi>{sanitizeLine(application.name)}</bdi>
        </Row>
        <Row title={t('firstSeen')}>{fullTime(conversation.createdAt)}</Row>
        {typeof open.detail?.resolvedAt === 'string' ? (
          <Row title={t('resolvedAt')}>{fullTime(open.detail.resolvedAt)}</Row>
        ) : null}
      </dl>
      {attributes.length === 0 ? null : (
        <>
          <h3>
            {t('attributes')}{' '}
            <span class={verified.has('attributes') ? 'badge good' : 'badge'}>
              {t(verified.has('attributes') ? 'verified' : 'notVerified')}
            </span>
          </h3>
          <dl>
            {attributes.map(([key, value]) => (
              <Row key={key} title={sanitizeLine(key)}>
                <bdi>{sanitizeLine(String(value))}</bdi>
              </Row>
            ))}
          </dl>
        </>
      )}
      <Participants open={open} />
      <Earlier key={open.id} open={open} now={now} />
    </div>
  );
}

/** The same visitor's other conversations: asked for when they are wanted. */
function Earlier({ open, now }: { readonly open: OpenConversation; readonly now: number }): JSX.Element {
  return (
    <details
      open={open.earlier !== null || open.loadingEarlier}
      onToggle={(event) => {
        if (event.currentTarget.open) desk().model.conversation.loadEarlierConversations();
      }}
    >
      <summary>{t('earlier')}</summary>
      {open.earlier === null ? (
        <p class="loading">{t('loading')}</p>
      ) : open.earlier.length === 0 ? (
        <p class="hint">{t('noEarlier')}</p>
      ) : (
        <ul class="earlier">
          {open.earlier.map((one) => (
            <li key={one.id}>
              <button type="button" class="link" onClick={() => desk().model.open(one.id)}>
                <span dir="auto">
                  {sanitizeLine(one.lastMessage?.preview ?? one.subject ?? '') || t('conversation')}
                </span>
                <time dateTime={one.updatedAt}>{shortTime(one.updatedAt, now)}</time>
              </button>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function Participants({ open }: { readonly open: OpenConversation }): JSX.Element | null {
  const colleagues = useComputed(() => deskState.value.colleagues).value;
  const writers = (open.room?.messages ?? []).map(({ senderId }) => senderId);
  const ids = new Set([...(open.detail?.participants ?? []).map(({ userId }) => userId), ...writers]);
  const staff = (colleagues ?? []).filter(({ id }) => ids.has(id));
  if (staff.length === 0) return null;
  return (
    <>
      <h3>{t('participants')}</h3>
      <ul class="participants">
        {staff.map(({ id, name }) => (
          <li key={id} dir="auto">
            {sanitizeLine(name)}
          </li>
        ))}
      </ul>
    </>
  );
}

function Row({
  title,
  verified = false,
  children,
}: {
  readonly title: string;
  readonly verified?: boolean;
  readonly children: JSX.Element | string;
}): JSX.Element {
  return (
    <div>
      <dt dir="auto">{title}</dt>
      <dd>
        {children} {verified ? <span class="badge good">{t('verified')}</span> : null}
      </dd>
    </div>
  );
}

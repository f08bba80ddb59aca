// Owns what a member is told of, and how: the table of events and ways, how much is shown, quiet hours, the browsers that
// are sent pushes, and a test.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { notificationEvents, notificationPreviews, notificationWays } from '../../protocol/enums.ts';
import type { OwnAccount } from '../../protocol/sign-in.ts';
import type {
  NotificationPreview,
  NotificationSettings,
  NotificationTestResult,
} from '../../protocol/notifications.ts';
import { pushSupport, subscribe, unsubscribe, type PushState } from '../push.ts';
import { Button } from '../ui/button.tsx';
import { Checkbox, Field, Select } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { toast } from '../ui/toast.tsx';
import { Act, Await, Section, useRest, type Loaded } from './parts.tsx';
import { Reason } from './reasons.tsx';
import { problemOf, rest } from './rest.ts';
import { useUnsavedGuard } from './unsaved.tsx';
import { s, when, type SettingsWord } from './words.ts';

const eventWords = {
  new: 'evNew',
  assigned: 'evAssigned',
  reply: 'evReply',
  mention: 'evMention',
  due: 'evDue',
} as const satisfies Record<string, SettingsWord>;
const wayWords = { push: 'wayPush', email: 'wayEmail', bell: 'wayBell' } as const;
const previewWords = { none: 'previewNone', name: 'previewName', text: 'previewText' } as const;

export function Page(): JSX.Element {
  const settings = useRest<{ notifications: NotificationSettings }>('/staff/notifications');
  const push = useRest<PushState>('/staff/push');
  return (
    <>
      <Await of={settings}>{({ notifications }) => <Choices first={notifications} />}</Await>
      <Devices push={push} />
      <Test onDone={() => void push.reload()} />
    </>
  );
}

/** Each choice is saved as it is made; one that is refused is taken back. */
function Choices({ first }: { readonly first: NotificationSettings }): JSX.Element {
  const [settings, setSettings] = useState(first);
  const account = useRest<{ member: OwnAccount }>('/staff/me');
  const save = async (change: object): Promise<void> => {
    try {
      setSettings(
        (await rest<{ notifications: NotificationSettings }>('PUT', '/staff/notifications', change))
          .notifications,
      );
      toast(s('saved'), 'good');
    } catch (error) {
      setSettings({ ...settings });
      toast(problemOf(error), 'bad');
    }
  };
  return (
    <>
      <Section title="toldOf" about="toldOfAbout">
        <Table
          caption={s('toldOf')}
          rows={[...notificationEvents]}
          rowKey={(event) => event}
          columns={[
            { key: 'event', title: s('event'), cell: (event) => s(eventWords[event]) },
            ...notificationWays.map((way) => ({
              key: way,
              title: s(wayWords[way]),
              cell: (event: (typeof notificationEvents)[number]) => (
                <input
                  type="checkbox"
                  aria-label={`${s(eventWords[event])}: ${s(wayWords[way])}`}
                  checked={settings.events[event][way]}
                  onChange={({ currentTarget: { checked } }) =>
                    void save({ events: { [event]: { [way]: checked } } })
                  }
                />
              ),
            })),
          ]}
        />
        <div class="form">
          <Select<NotificationPreview>
            label={s('shows')}
            value={settings.preview}
            options={notificationPreviews.map((value) => ({ value, label: s(previewWords[value]) }))}
            onChange={(preview) => void save({ preview })}
          />
        </div>
      </Section>
      <Section title="quietHours" about="quietAbout">
        <Await of={account}>
          {({ member: { timezone } }) => <QuietHours settings={settings} timezone={timezone} onSave={save} />}
        </Await>
      </Section>
    </>
  );
}

const usualNight = { from: '22:00', to: '07:00' };

function QuietHours({
  settings: { quietHours },
  timezone: own,
  onSave,
}: {
  readonly settings: NotificationSettings;
  /** The member's; null: the browser's. */
  readonly timezone: string | null;
  readonly onSave: (change: object) => Promise<void>;
}): JSX.Element {
  const [hours, setHours] = useState(
    quietHours ?? { ...usualNight, timezone: own ?? Intl.DateTimeFormat().resolvedOptions().timeZone },
  );
  useUnsavedGuard(
    quietHours !== null &&
      (hours.from !== quietHours.from ||
        hours.to !== quietHours.to ||
        hours.timezone !== quietHours.timezone),
  );
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void onSave({ quietHours: hours });
      }}
    >
      <Checkbox
        label={s('quietOn')}
        checked={quietHours !== null}
        onChange={(on) => void onSave({ quietHours: on ? hours : null })}
      />
      {quietHours === null ? null : (
        <>
          <Field
            label={s('quietFrom')}
            type="time"
            value={hours.from}
            onInput={(from) => setHours({ ...hours, from })}
          />
          <Field
            label={s('quietTo')}
            type="time"
            value={hours.to}
            onInput={(to) => setHours({ ...hours, to })}
          />
          <Field
            label={s('timezone')}
            machine
            value={hours.timezone}
            onInput={(timezone) => setHours({ ...hours, timezone })}
          />
          <div class="form-end">
            <Button kind="main" type="submit">
              {s('save')}
            </Button>
          </div>
        </>
      )}
    </form>
  );
}

function Devices({ push }: { readonly push: Loaded<PushState> }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const support = pushSupport();
  const add = async (): Promise<void> => {
    setBusy(true);
    try {
      if (!(await subscribe())) toast(s('pushBlocked'), 'bad');
      else toast(s('saved'), 'good');
    } catch (error) {
      toast(s('pushFailed', { why: problemOf(error) }), 'bad');
    }
    await push.reload();
    setBusy(false);
  };
  return (
    <Section title="browsers" about="browsersAbout">
      <Await of={push}>
        {({ devices }) => (
          <>
            <Table
              caption={s('browsers')}
              rows={devices}
              rowKey={({ id }) => id}
              empty={s('none')}
              columns={[
                {
                  key: 'name',
                  title: s('name'),
                  cell: ({ label, problem }) => (
                    <>
                      {label}
                      {problem === null ? null : (
                        <p class="problem">
                          <Reason of={problem} />
                        </p>
                      )}
                    </>
                  ),
                },
                { key: 'sent', title: s('lastPush'), cell: ({ lastSentAt }) => when(lastSentAt) },
                {
                  key: 'act',
                  title: s('act'),
                  end: true,
                  cell: ({ id, current }) => (
                    <>
                      {current ? <span class="hint">{s('thisSession')} </span> : null}
                      <Act
                        label="remove"
                        act={async () => {
                          if (current) await unsubscribe();
                          await rest('DELETE', `/staff/push/${id}`);
                          await push.reload();
                        }}
                      />
                    </>
                  ),
                },
              ]}
            />
            {support === 'possible' ? (
              devices.some(({ current }) => current) ? null : (
                <Button kind="main" busy={busy} onClick={() => void add()}>
                  {s('pushHere')}
                </Button>
              )
            ) : (
              <p class="callout">{s(support === 'blocked' ? 'pushBlocked' : 'pushNone')}</p>
            )}
          </>
        )}
      </Await>
    </Section>
  );
}

interface Tested {
  readonly results: readonly NotificationTestResult[];
  readonly quiet: boolean;
}

function Test({ onDone }: { readonly onDone: () => void }): JSX.Element {
  const [tested, setTested] = useState<Tested | null>(null);
  const results = useRef<HTMLUListElement>(null);
  // On a phone they would begin below what is seen.
  useEffect(() => results.current?.scrollIntoView({ block: 'nearest' }), [tested]);
  return (
    <Section title="notifyTest" about="notifyTestAbout">
      <Act
        label="notifyTest"
        act={async () => {
          setTested(await rest<Tested>('POST', '/staff/notifications/test'));
          onDone();
        }}
      />
      {tested === null ? null : (
        <>
          <ul ref={results} class="plain-list" role="status">
            {tested.results.map(({ way, device, ok, problem }) => (
              <li key={`${way}${device?.id ?? ''}`}>
                {ok ? '✓' : '✗'} {s(wayWords[way])}
                {device === undefined ? '' : ` · ${device.label}`}
                {problem === null ? null : (
                  <>
                    : <Reason of={problem} />
                  </>
                )}
              </li>
            ))}
          </ul>
          {tested.quiet ? <p class="hint">{s('quietNow')}</p> : null}
        </>
      )}
    </Section>
  );
}

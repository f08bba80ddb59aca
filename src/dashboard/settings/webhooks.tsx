// Owns the webhooks with their log of deliveries.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Webhook, WebhookDelivery } from '../../protocol/webhooks.ts';
import { hrefOf } from '../router.ts';
import { Table } from '../ui/table.tsx';
import { Form } from './form.tsx';
import type { SettingsPageProps } from './pages.ts';
import { Act, Await, ListEnd, Section, Shown, useRest } from './parts.tsx';
import { Reason } from './reasons.tsx';
import { rest } from './rest.ts';
import { leaveUnasked } from './unsaved.tsx';
import { figure, s, when } from './words.ts';

export function Page({ rest: [id] }: SettingsPageProps): JSX.Element {
  return id === undefined ? <Webhooks /> : <OneWebhook key={id} id={id} />;
}

/** The types, one in a line or with commas between; none: all. A body without the field stays without it. */
function eventsOf(body: object): object {
  const { events, ...more }: { events?: string } = body;
  if (events === undefined) return more;
  const types = events.split(/[\s,]+/).filter((type) => type !== '');
  return { ...more, events: types.length === 0 ? null : types };
}

function Webhooks(): JSX.Element {
  const webhooks = useRest<{ webhooks: Webhook[] }>('/admin/webhooks');
  const [secret, setSecret] = useState('');
  return (
    <>
      <Section title="webhooks" about="webhooksAbout">
        <Await of={webhooks}>
          {(data) => (
            <Table
              caption={s('webhooks')}
              rows={data.webhooks}
              rowKey={({ id }) => id}
              empty={s('none')}
              columns={[
                {
                  key: 'url',
                  title: s('url'),
                  cell: ({ id, url }) => (
                    <a href={hrefOf('settings', 'webhooks', id)} dir="ltr">
                      {url}
                    </a>
                  ),
                },
                { key: 'on', title: s('state'), cell: ({ enabled }) => (enabled ? s('on') : s('off')) },
                { key: 'waiting', title: s('sending_waiting'), cell: ({ waiting }) => figure(waiting) },
              ]}
            />
          )}
        </Await>
      </Section>
      <Section title="addWebhook">
        {secret === '' ? null : <Shown title="shownSecret" text={secret} />}
        <Form
          fields={[
            { path: 'url', label: 'url', kind: 'url', required: true },
            { path: 'events', label: 'events', hint: 'eventsHint', machine: true },
          ]}
          submit="addWebhook"
          clears
          onSubmit={async (body) => {
            const { webhook } = await rest<{ webhook: Webhook & { secret: string } }>(
              'POST',
              '/admin/webhooks',
              eventsOf(body),
            );
            setSecret(webhook.secret);
            await webhooks.reload();
          }}
        />
      </Section>
    </>
  );
}

/** How often it is looked whether a sample was tried, and at most for how long: longer than a receiver may take to answer. */
const lookEveryMs = 500;
const looks = 25;

/** Waits until a sample was tried, so that the log says how it went. */
async function tried(path: string, id: string): Promise<void> {
  for (let look = 0; look < looks; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    const { deliveries } = await rest<{ deliveries: WebhookDelivery[] }>(
      'GET',
      `${path}/deliveries?limit=50`,
    );
    if (deliveries.find((one) => one.id === id)?.status !== 'waiting') return;
  }
}

/** How a delivery stands: why it failed, and when it is tried again. */
function State({ of: { status, error, nextAttemptAt } }: { readonly of: WebhookDelivery }): JSX.Element {
  return (
    <>
      {s(`sending_${status}`)}
      {error === null ? null : (
        <>
          : <Reason of={error} />
        </>
      )}
      {nextAttemptAt === null || error === null ? null : (
        <div class="hint">{s('nextAttempt', { time: when(nextAttemptAt) })}</div>
      )}
    </>
  );
}

function OneWebhook({ id }: { readonly id: string }): JSX.Element {
  const path = `/admin/webhooks/${id}`;
  const webhook = useRest<{ webhook: Webhook }>(path);
  const deliveries = useRest<{ deliveries: WebhookDelivery[]; total: number }>(`${path}/deliveries?limit=50`);
  const [secret, setSecret] = useState('');
  const showSecret = (act: 'reveal' | 'rotate') => async (): Promise<void> => {
    const made = await rest<{ webhook: { secret: string } }>('POST', `${path}/${act}`, {});
    setSecret(made.webhook.secret);
    await webhook.reload();
  };
  return (
    <Await of={webhook}>
      {({ webhook: data }) => (
        <>
          <p>
            <a href={hrefOf('settings', 'webhooks')}>{s('webhooks')}</a>
          </p>
          <Section title="webhook">
            <Form
              fields={[
                { path: 'url', label: 'url', kind: 'url', required: true },
                { path: 'events', label: 'events', hint: 'eventsHint', machine: true },
                { path: 'enabled', label: 'switchedOn', kind: 'check' },
              ]}
              initial={{ ...data, events: data.events?.join(', ') ?? '' }}
              onSubmit={(body) => rest('PATCH', path, eventsOf(body))}
              patches
            />
          </Section>
          <Section title="secret" about="secretAbout">
            {secret === '' ? null : <Shown title="shownSecret" text={secret} />}
            <div class="row-acts">
              <Act label="reveal" act={showSecret('reveal')} />
              <Act label="rotate" question={s('rotateSecretQuestion')} act={showSecret('rotate')} />
              <Act label="endOverlap" act={() => rest('POST', `${path}/end-overlap`, {})} />
            </div>
          </Section>
          <Section title="deliveries">
            <Act
              label="sendSample"
              act={async () => {
                const { delivery } = await rest<{ delivery: WebhookDelivery }>('POST', `${path}/test`, {});
                await tried(path, delivery.id);
                await deliveries.reload();
              }}
            />
            <Await of={deliveries}>
              {(log) => (
                <>
                  <Table
                    caption={s('deliveries')}
                    rows={log.deliveries}
                    rowKey={(one) => one.id}
                    empty={s('none')}
                    columns={[
                      { key: 'at', title: s('time'), cell: ({ createdAt }) => when(createdAt) },
                      { key: 'type', title: s('event'), cell: ({ type }) => <code dir="ltr">{type}</code> },
                      { key: 'status', title: s('state'), cell: (one) => <State of={one} /> },
                      {
                        key: 'act',
                        title: s('act'),
                        end: true,
                        cell: (one) => (
                          <Act
                            label="replay"
                            act={async () => {
                              await rest('POST', `${path}/deliveries/${one.id}/replay`, {});
                              await deliveries.reload();
                            }}
                          />
                        ),
                      },
                    ]}
                  />
                  <ListEnd shown={log.deliveries.length} total={log.total} />
                </>
              )}
            </Await>
          </Section>
          <Section title="danger">
            <Act
              label="remove"
              question={s('removeQuestion', { name: data.url })}
              act={async () => {
                await rest('DELETE', path);
                leaveUnasked(hrefOf('settings', 'webhooks'));
              }}
            />
          </Section>
        </>
      )}
    </Await>
  );
}

// Owns mail: by which server it leaves, whether it arrives, the keys of the way in, and the log of what was sent.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { MailState, OutboxEffect } from '../../protocol/operations/email.ts';
import { serverAddress } from '../router.ts';
import { Table } from '../ui/table.tsx';
import { Form } from './form.tsx';
import { Act, Await, ListEnd, Section, Shown, useRest } from './parts.tsx';
import { Reason } from './reasons.tsx';
import { rest } from './rest.ts';
import { s, when } from './words.ts';

export function Page(): JSX.Element {
  const state = useRest<MailState>('/admin/email');
  const mails = useRest<{ deliveries: OutboxEffect[]; total: number }>('/admin/email/deliveries?limit=50');
  const others = useRest<{ effects: OutboxEffect[]; total: number }>('/admin/outbox?kind=push&limit=50');
  return (
    <>
      <Section title="mail" about="mailAbout">
        <Await of={state}>{(data) => <Ways data={data} reload={state.reload} />}</Await>
      </Section>
      <Await of={state}>{({ keys }) => <Keys keys={keys} onMade={state.reload} />}</Await>
      <Section title="mailLog">
        <Form
          fields={[{ path: 'to', label: 'mailTo', kind: 'email', required: true }]}
          submit="mailTest"
          clears
          onSubmit={async (body) => {
            await rest('POST', '/admin/email/test', body);
            await mails.reload();
          }}
        />
        <Await of={mails}>
          {(log) => <Log caption="mailLog" rows={log.deliveries} total={log.total} reload={mails.reload} />}
        </Await>
      </Section>
      <Section title="pushLog">
        <Await of={others}>
          {(log) => <Log caption="pushLog" rows={log.effects} total={log.total} reload={others.reload} />}
        </Await>
      </Section>
    </>
  );
}

function Ways({
  data,
  reload,
}: {
  readonly data: MailState;
  readonly reload: () => Promise<void>;
}): JSX.Element {
  const { server, host, address, receives } = data;
  return (
    <>
      <p>
        {server === 'none'
          ? s('mailNone')
          : s('mailLeaves', { host: host ?? s('mailShared'), address: address ?? '' })}
      </p>
      <p>{receives ? s('mailReturns') : s('mailNoReturn')}</p>
      <Form
        fields={[
          {
            path: 'server.url',
            label: 'mailServer',
            hint: 'mailServerHint',
            kind: 'password',
            required: true,
          },
          { path: 'server.address', label: 'mailFrom', kind: 'email', required: true },
        ]}
        clears
        onSubmit={async (body) => {
          await rest('PATCH', '/admin/email', body);
          await reload();
        }}
      />
      {server === 'organization' ? (
        <Act
          label="remove"
          question={s('removeQuestion', { name: host ?? '' })}
          act={async () => {
            await rest('PATCH', '/admin/email', { server: null });
            await reload();
          }}
        />
      ) : null}
    </>
  );
}

function Keys({
  keys,
  onMade,
}: {
  readonly keys: MailState['keys'];
  readonly onMade: () => Promise<void>;
}): JSX.Element {
  const applications = useRest<{ applications: { id: string; name: string }[] }>('/admin/applications');
  const [shown, setShown] = useState('');
  return (
    <Section title="mailKeys" about="mailKeysAbout">
      {shown === '' ? null : <Shown title="shownSecret" text={shown} />}
      <Await of={applications}>
        {(data) => (
          <div class="row-acts">
            {data.applications.map(({ id, name }) => (
              <span key={id}>
                {name}{' '}
                <Act
                  label="makeKey"
                  {...(keys.some(({ applicationId }) => applicationId === id) && {
                    question: s('mailKeyQuestion', { name }),
                  })}
                  act={async () => {
                    const made = await rest<{ path: string }>('POST', '/admin/email/keys', {
                      applicationId: id,
                    });
                    setShown(`${serverAddress()}${made.path}`);
                    await onMade();
                  }}
                />
              </span>
            ))}
          </div>
        )}
      </Await>
    </Section>
  );
}

function Log({
  caption,
  rows,
  total,
  reload,
}: {
  readonly caption: 'mailLog' | 'pushLog';
  readonly rows: readonly OutboxEffect[];
  readonly total: number;
  readonly reload: () => Promise<void>;
}): JSX.Element {
  return (
    <>
      <Table
        caption={s(caption)}
        rows={[...rows]}
        rowKey={(one) => one.id}
        empty={s('none')}
        columns={[
          { key: 'at', title: s('time'), cell: ({ createdAt }) => when(createdAt) },
          { key: 'what', title: s('event'), cell: ({ about }) => <code dir="ltr">{about}</code> },
          {
            key: 'to',
            title: s('mailTo'),
            cell: ({ recipient }) => <span dir="ltr">{recipient ?? ''}</span>,
          },
          {
            key: 'status',
            title: s('state'),
            cell: ({ status, error }) => (
              <>
                {s(`sending_${status}`)}
                {error === null ? null : (
                  <>
                    : <Reason of={error} />
                  </>
                )}
              </>
            ),
          },
          {
            key: 'act',
            title: s('act'),
            end: true,
            cell: (one) => (
              <Act
                label="replay"
                act={async () => {
                  await rest('POST', `/admin/outbox/${one.id}/replay`, {});
                  await reload();
                }}
              />
            ),
          },
        ]}
      />
      <ListEnd shown={rows.length} total={total} />
    </>
  );
}

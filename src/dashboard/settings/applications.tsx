// Owns the applications: appearance, texts, hours, assistant, domains with the snippet, API keys, identity secret.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiKey, Application, ApplicationDetail, Domain } from '../../protocol/entities.ts';
import { hrefOf, serverAddress } from '../router.ts';
import { Table } from '../ui/table.tsx';
import { Form, type FieldSpec } from './form.tsx';
import { HoursEditor } from './hours.tsx';
import type { SettingsPageProps } from './pages.ts';
import { Preview } from './preview.tsx';
import { Act, Await, Section, Shown, useRest } from './parts.tsx';
import { Reason } from './reasons.tsx';
import { rest } from './rest.ts';
import { leaveUnasked } from './unsaved.tsx';
import { s, when } from './words.ts';

export function Page({ rest: [id] }: SettingsPageProps): JSX.Element {
  return id === undefined ? <Applications /> : <OneApplication key={id} id={id} />;
}

function Applications(): JSX.Element {
  const applications = useRest<{ applications: Application[] }>('/admin/applications');
  return (
    <>
      <Section title="applications">
        <Await of={applications}>
          {(data) => (
            <Table
              caption={s('applications')}
              rows={data.applications}
              rowKey={({ id }) => id}
              empty={s('none')}
              columns={[
                {
                  key: 'name',
                  title: s('name'),
                  cell: ({ id, name }) => <a href={hrefOf('settings', 'applications', id)}>{name}</a>,
                },
                {
                  key: 'domains',
                  title: s('domains'),
                  cell: ({ domains }) => <span dir="ltr">{domains.join(', ')}</span>,
                },
              ]}
            />
          )}
        </Await>
      </Section>
      <Section title="addApplication">
        <Form
          fields={[{ path: 'name', label: 'name', required: true }]}
          submit="addApplication"
          clears
          onSubmit={async (body) => {
            await rest('POST', '/admin/applications', body);
            await applications.reload();
          }}
        />
      </Section>
    </>
  );
}

const appearance: readonly FieldSpec[] = [
  { path: 'name', label: 'name', required: true },
  { path: 'appearance.colors.primary', label: 'colourPrimary', kind: 'color' },
  { path: 'appearance.colors.background', label: 'colourBackground', kind: 'color' },
  { path: 'appearance.colors.text', label: 'colourText', kind: 'color' },
  { path: 'appearance.logo', label: 'logo', kind: 'url', empty: 'null' },
  {
    path: 'appearance.position',
    label: 'position',
    kind: 'select',
    options: [
      ['bottom-right', 'bottomRight'],
      ['bottom-left', 'bottomLeft'],
    ],
  },
  {
    path: 'appearance.launcherIcon',
    label: 'launcherIcon',
    kind: 'select',
    options: [
      ['chat', 'iconChat'],
      ['question', 'iconQuestion'],
      ['message', 'iconMessage'],
    ],
  },
  { path: 'locale', label: 'widgetLanguage', hint: 'widgetLanguageHint', empty: 'null', machine: true },
];
const behavior: readonly FieldSpec[] = [
  { path: 'behavior.greeting', label: 'greeting', kind: 'area', empty: 'null' },
  { path: 'behavior.outsideHours', label: 'outsideHours', kind: 'area', empty: 'null' },
  { path: 'behavior.timezone', label: 'timezone', machine: true, required: true },
  {
    path: 'behavior.contactForm',
    label: 'contactForm',
    kind: 'select',
    options: [
      ['off', 'off'],
      ['optional', 'optional'],
      ['required', 'required'],
    ],
  },
  {
    path: 'behavior.identity',
    label: 'identity',
    hint: 'identityHint',
    kind: 'select',
    options: [
      ['optional', 'optional'],
      ['required', 'required'],
    ],
  },
];
const assistant: readonly FieldSpec[] = [
  {
    path: 'ai.mode',
    label: 'aiMode',
    kind: 'select',
    options: [
      ['off', 'off'],
      ['assist', 'aiAssist'],
      ['auto', 'aiAuto'],
    ],
  },
  { path: 'ai.name', label: 'aiName', required: true },
];

const email: readonly FieldSpec[] = [
  {
    path: 'email.mode',
    label: 'emailMode',
    kind: 'select',
    options: [
      ['off', 'off'],
      ['replies', 'emailReplies'],
      ['inbox', 'emailInbox'],
    ],
  },
  { path: 'email.address', label: 'emailAddress', kind: 'email', empty: 'null' },
  { path: 'email.fromName', label: 'emailFromName', empty: 'null' },
  { path: 'email.afterMinutes', label: 'emailAfter', kind: 'number', required: true },
  { path: 'email.signature', label: 'emailSignature', kind: 'area', empty: 'null' },
];

function OneApplication({ id }: { readonly id: string }): JSX.Element {
  const path = `/admin/applications/${id}`;
  const application = useRest<{ application: ApplicationDetail }>(path);
  const save = (body: object): Promise<unknown> => rest('PATCH', path, body);
  const [written, setWritten] = useState<object>({});
  const show = (body: object): void => setWritten((before) => ({ ...before, ...body }));
  return (
    <Await of={application}>
      {({ application: { name, settings } }) => {
        const initial = { name, ...settings };
        return (
          <div class="with-preview">
            <p>
              <a href={hrefOf('settings', 'applications')}>{s('applications')}</a>
            </p>
            <Section title="appearance">
              <Form fields={appearance} initial={initial} onSubmit={save} onChange={show} patches />
            </Section>
            <Section title="texts">
              <Form fields={behavior} initial={initial} onSubmit={save} onChange={show} patches />
            </Section>
            <Section title="hours" about="hoursAbout">
              <HoursEditor
                initial={settings.behavior.businessHours}
                onSave={(businessHours) => save({ behavior: { businessHours } })}
              />
            </Section>
            <Section title="assistant">
              <Form fields={assistant} initial={initial} onSubmit={save} onChange={show} patches />
            </Section>
            <Section title="mail">
              <Form fields={email} initial={initial} onSubmit={save} onChange={show} patches />
            </Section>
            <Domains id={id} />
            <Keys id={id} />
            <IdentitySecret id={id} />
            <Section title="danger" about="deleteApplicationAbout">
              <Act
                label="remove"
                question={s('removeQuestion', { name })}
                act={async () => {
                  await rest('DELETE', path);
                  leaveUnasked(hrefOf('settings', 'applications'));
                }}
              />
            </Section>
            <Preview applicationId={id} body={written} />
          </div>
        );
      }}
    </Await>
  );
}

interface DomainList {
  readonly domains: Domain[];
  readonly lastSeen: { readonly origin: string; readonly at: string } | null;
}

function Domains({ id }: { readonly id: string }): JSX.Element {
  const path = `/admin/applications/${id}/domains`;
  const domains = useRest<DomainList>(path);
  const [warning, setWarning] = useState('');
  return (
    <Section title="domains" about="domainsAbout">
      <Await of={domains}>
        {(data) => (
          <>
            <Table
              caption={s('domains')}
              rows={data.domains}
              rowKey={({ domain }) => domain}
              empty={s('none')}
              columns={[
                { key: 'domain', title: s('domain'), cell: ({ domain }) => <span dir="ltr">{domain}</span> },
                {
                  key: 'act',
                  title: s('act'),
                  end: true,
                  cell: ({ domain }) => (
                    <Act
                      label="remove"
                      question={s('removeQuestion', { name: domain })}
                      act={async () => {
                        await rest('DELETE', `${path}/${encodeURIComponent(domain)}`);
                        setWarning('');
                        await domains.reload();
                      }}
                    />
                  ),
                },
              ]}
            />
            <Form
              fields={[
                { path: 'domain', label: 'domain', hint: 'domainHint', machine: true, required: true },
              ]}
              submit="addDomain"
              clears
              onSubmit={async (body) => {
                const { domain } = await rest<{ domain: { warning?: string } }>('POST', path, body);
                setWarning(domain.warning ?? '');
                await domains.reload();
              }}
            />
            <div role="status">
              {warning === '' ? null : (
                <p class="callout">
                  <Reason of={warning} />
                </p>
              )}
            </div>
            <Shown
              title="snippet"
              text={`<script async src="${serverAddress()}/widget.js" data-app-id="${id}"></script>`}
            />
            <p>
              {data.lastSeen === null
                ? s('neverSeen')
                : s('lastSeen', { origin: data.lastSeen.origin, time: when(data.lastSeen.at) })}
            </p>
          </>
        )}
      </Await>
    </Section>
  );
}

function Keys({ id }: { readonly id: string }): JSX.Element {
  const path = `/admin/applications/${id}/keys`;
  const keys = useRest<{ keys: ApiKey[] }>(path);
  const [shown, setShown] = useState('');
  const show =
    (at: string, body: object = {}) =>
    async (): Promise<void> => {
      const { key } = await rest<{ key: { key: string } }>('POST', at, body);
      setShown(key.key);
      await keys.reload();
    };
  return (
    <Section title="keys" about="keysAbout">
      {shown === '' ? null : <Shown title="shownSecret" text={shown} />}
      <Await of={keys}>
        {(data) => (
          <Table
            caption={s('keys')}
            rows={data.keys}
            rowKey={(key) => key.id}
            empty={s('none')}
            columns={[
              { key: 'name', title: s('name'), cell: ({ name }) => name },
              { key: 'hint', title: s('key'), cell: ({ hint }) => <code dir="ltr">{hint}…</code> },
              { key: 'used', title: s('lastUsed'), cell: ({ lastUsedAt }) => when(lastUsedAt) },
              {
                key: 'act',
                title: s('act'),
                end: true,
                cell: (key) =>
                  key.revokedAt === null ? (
                    <div class="row-acts">
                      <Act label="reveal" act={show(`${path}/${key.id}/reveal`)} />
                      <Act
                        label="rotate"
                        question={s('rotateKeyQuestion', { name: key.name })}
                        act={show(`${path}/${key.id}/rotate`)}
                      />
                      <Act
                        label="revoke"
                        question={s('revokeQuestion', { name: key.name })}
                        act={async () => {
                          await rest('DELETE', `${path}/${key.id}`);
                          await keys.reload();
                        }}
                      />
                    </div>
                  ) : (
                    s('revoked')
                  ),
              },
            ]}
          />
        )}
      </Await>
      <Form
        fields={[
          { path: 'name', label: 'name', empty: 'nothing' },
          {
            path: 'mode',
            label: 'mode',
            kind: 'select',
            options: [
              ['live', 'modeLive'],
              ['test', 'modeTest'],
            ],
          },
        ]}
        submit="makeKey"
        clears
        onSubmit={(body) => show(path, body)()}
      />
    </Section>
  );
}

function IdentitySecret({ id }: { readonly id: string }): JSX.Element {
  const path = `/admin/applications/${id}/identity-secret`;
  const [shown, setShown] = useState('');
  const show = (method: 'GET' | 'POST') => async (): Promise<void> => {
    const { identitySecret } = await rest<{ identitySecret: string }>(
      method,
      path,
      method === 'POST' ? {} : undefined,
    );
    setShown(identitySecret);
  };
  return (
    <Section title="identitySecret" about="identitySecretAbout">
      {shown === '' ? null : <Shown title="shownSecret" text={shown} />}
      <div class="row-acts">
        <Act label="reveal" act={show('GET')} />
        <Act label="rotate" question={s('rotateIdentityQuestion')} act={show('POST')} />
      </div>
    </Section>
  );
}

// Owns the organization: its name, what is demanded at sign-in, plan, usage, rate limits and retention.
import type { JSX } from 'preact';
import { sizeText } from '../../sdk/shown-files.ts';
import type { OrganizationDetail, OrganizationUsage } from '../../protocol/entities.ts';
import { Table } from '../ui/table.tsx';
import { Escalation } from './escalation.tsx';
import { Form } from './form.tsx';
import { Await, Section, useRest } from './parts.tsx';
import { rest } from './rest.ts';
import { locale } from '../words.ts';
import { figure, s } from './words.ts';

const update = (body: object): Promise<unknown> => rest('PATCH', '/admin/organization', body);

export function Page(): JSX.Element {
  const organization = useRest<{ organization: OrganizationDetail }>('/admin/organization');
  const usage = useRest<{ usage: OrganizationUsage }>('/admin/organization/usage');
  return (
    <Await of={organization}>
      {({ organization: data }) => (
        <>
          <Section title="organization">
            <Form
              fields={[
                { path: 'name', label: 'name', required: true },
                {
                  path: 'releaseAfterMinutes',
                  label: 'releaseAfter',
                  hint: 'releaseAfterHint',
                  kind: 'number',
                  empty: 'null',
                },
                {
                  path: 'signIn.secondFactor',
                  label: 'secondFactorDemand',
                  kind: 'select',
                  options: [
                    ['off', 'demandOff'],
                    ['admins', 'demandAdmins'],
                    ['all', 'demandAll'],
                  ],
                },
              ]}
              initial={data}
              onSubmit={update}
              patches
            />
          </Section>
          <Section title="escalation" about="escalationAbout">
            <Escalation first={data.escalation} />
          </Section>
          <Section title="plan" about="planAbout">
            <dl class="facts">
              <dt>{s('plan')}</dt>
              <dd>{data.plan}</dd>
              <dt>{s('seats')}</dt>
              <dd>
                {s('ofMany', {
                  n: data.members,
                  most: data.limits.seats === null ? s('unlimited') : figure(data.limits.seats),
                })}
              </dd>
              <dt>{s('applications')}</dt>
              <dd>
                {s('ofMany', {
                  n: data.applications,
                  most: data.limits.applications === null ? s('unlimited') : figure(data.limits.applications),
                })}
              </dd>
              <dt>{s('rateLimit')}</dt>
              <dd>{figure(data.limits.requestsPerMinute)}</dd>
              <dt>{s('retention')}</dt>
              <dd>
                {data.limits.retentionDays === null ? s('unlimited') : figure(data.limits.retentionDays)}
              </dd>
            </dl>
          </Section>
          <Section title="limits" about="limitsAbout">
            <Form
              fields={[
                {
                  path: 'limits.requestsPerMinute',
                  label: 'rateLimit',
                  hint: 'ofThePlan',
                  kind: 'number',
                  empty: 'null',
                },
                {
                  path: 'limits.retentionDays',
                  label: 'retention',
                  hint: 'ofThePlan',
                  kind: 'number',
                  empty: 'null',
                },
              ]}
              initial={{ limits: data.ownLimits }}
              patches
              onSubmit={async (body) => {
                await update(body);
                await organization.reload();
              }}
            />
          </Section>
          <Section title="usage" about="usageAbout">
            <Await of={usage}>
              {({ usage: used }) => (
                <Table
                  caption={s('usage')}
                  rows={[
                    { id: 'conversations', label: s('conversations'), value: figure(used.conversations) },
                    { id: 'messages', label: s('messages'), value: figure(used.messages) },
                    { id: 'visitors', label: s('visitors'), value: figure(used.visitors) },
                    { id: 'storage', label: s('storage'), value: sizeText(used.storageBytes, locale.tag) },
                    { id: 'files', label: s('fileStorage'), value: sizeText(used.fileBytes, locale.tag) },
                  ]}
                  rowKey={({ id }) => id}
                  columns={[
                    { key: 'label', title: s('what'), cell: ({ label }) => label },
                    { key: 'value', title: s('howMany'), end: true, cell: ({ value }) => value },
                  ]}
                />
              )}
            </Await>
          </Section>
        </>
      )}
    </Await>
  );
}

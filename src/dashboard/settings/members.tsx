// Owns the members: who is there, invitations, roles, access.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ListedMember } from '../../protocol/entities.ts';
import { session } from '../api.ts';
import { serverAddress } from '../router.ts';
import { Select } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { toast } from '../ui/toast.tsx';
import { Form, type FieldSpec } from './form.tsx';
import { Act, Await, Section, Shown, useRest } from './parts.tsx';
import { problemOf, rest } from './rest.ts';
import { s } from './words.ts';

const role: FieldSpec = {
  path: 'role',
  label: 'role',
  kind: 'select',
  options: [
    ['operator', 'roleOperator'],
    ['admin', 'roleAdmin'],
  ],
};
const person: readonly FieldSpec[] = [
  { path: 'name', label: 'name', required: true },
  { path: 'email', label: 'email', kind: 'email', required: true },
  role,
];

export function Page(): JSX.Element {
  const members = useRest<{ members: ListedMember[] }>('/admin/members');
  const [link, setLink] = useState('');
  return (
    <>
      <Section title="members">
        <Await of={members}>
          {(data) => (
            <Table
              caption={s('members')}
              rows={data.members}
              rowKey={({ id }) => id}
              columns={[
                {
                  key: 'name',
                  title: s('name'),
                  cell: ({ name, email }) => (
                    <>
                      <strong dir="auto">{name}</strong>
                      <div class="hint" dir="ltr">
                        {email}
                      </div>
                    </>
                  ),
                },
                {
                  key: 'role',
                  title: s('role'),
                  cell: (member) => <Role member={member} reload={members.reload} />,
                },
                {
                  key: 'factor',
                  title: s('secondFactor'),
                  cell: ({ secondFactors }) => (secondFactors.length === 0 ? s('off') : s('on')),
                },
                {
                  key: 'act',
                  title: s('act'),
                  end: true,
                  cell: (member) => <Acts member={member} reload={members.reload} />,
                },
              ]}
            />
          )}
        </Await>
      </Section>
      <Section title="invite" about="inviteAbout">
        {link === '' ? null : <Shown title="inviteLink" text={link} />}
        <Form
          fields={person}
          submit="invite"
          clears
          onSubmit={async (body) => {
            const made = await rest<{ token: string; url: string | null }>(
              'POST',
              '/admin/members/invitations',
              body,
            );
            setLink(made.url ?? `${serverAddress()}/invitation#${made.token}`);
            await members.reload();
          }}
        />
      </Section>
      <Section title="addMember" about="addMemberAbout">
        <Form
          fields={[...person, { path: 'password', label: 'password', kind: 'password', required: true }]}
          submit="addMember"
          clears
          onSubmit={async (body) => {
            await rest('POST', '/admin/members', body);
            await members.reload();
          }}
        />
      </Section>
    </>
  );
}

interface OfMember {
  readonly member: ListedMember;
  readonly reload: () => Promise<void>;
}

function Role({ member, reload }: OfMember): JSX.Element {
  return (
    <Select
      label={s('roleOf', { name: member.name })}
      value={member.role}
      options={[
        { value: 'operator', label: s('roleOperator') },
        { value: 'admin', label: s('roleAdmin') },
      ]}
      onChange={(chosen) => {
        rest('PATCH', `/admin/members/${member.id}`, { role: chosen })
          .then(() => toast(s('saved'), 'good'))
          .catch((error: unknown) => toast(problemOf(error), 'bad'))
          .finally(() => void reload());
      }}
    />
  );
}

function Acts({ member, reload }: OfMember): JSX.Element {
  const path = `/admin/members/${member.id}`;
  const then = (work: () => Promise<unknown>) => async (): Promise<void> => {
    await work();
    await reload();
  };
  const { name, disabled } = member;
  if (member.id === session.value?.member.id) return <>{s('thatIsYou')}</>;
  return (
    <div class="row-acts">
      <Act
        label={disabled ? 'enable' : 'disable'}
        {...(disabled ? {} : { question: s('disableQuestion', { name }) })}
        act={then(() => rest('PATCH', path, { disabled: !disabled }))}
      />
      <Act
        label="signOutMember"
        question={s('signOutQuestion', { name })}
        act={then(() => rest('DELETE', `${path}/sessions`))}
      />
      {member.secondFactors.length === 0 ? null : (
        <Act
          label="resetSecondFactor"
          question={s('resetQuestion', { name })}
          act={then(() => rest('DELETE', `${path}/second-factor`))}
        />
      )}
      <Act
        label="removeMember"
        question={s('removeQuestion', { name })}
        act={then(() => rest('DELETE', path))}
      />
    </div>
  );
}

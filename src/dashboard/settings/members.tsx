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

/** A password that an admin has made for a member. */
interface Made {
  readonly name: string;
  readonly password: string;
}

export function Page(): JSX.Element {
  const members = useRest<{ members: ListedMember[] }>('/admin/members');
  const [link, setLink] = useState('');
  const [made, setMade] = useState<Made | null>(null);
  return (
    <>
      <Section title="members">
        {made === null ? null : (
          <Shown title="newPasswordShown" values={{ name: made.name }} text={made.password} />
        )}
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
                  cell: (member) => <Acts member={member} reload={members.reload} show={setMade} />,
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

/** 100 bits in the digits and letters that are hardest to mistake for one another. */
function makePassword(): string {
  const characters = '0123456789abcdefghjkmnpqrstvwxyz';
  const chosen = Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) =>
    characters.charAt(byte % characters.length),
  );
  return chosen.join('').replace(/.{5}(?=.)/g, '$&-');
}

function Acts({ member, reload, show }: OfMember & { readonly show: (made: Made) => void }): JSX.Element {
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
      <Act
        label="newPassword"
        question={s('newPasswordQuestion', { name })}
        act={then(async () => {
          const password = makePassword();
          await rest('PATCH', path, { password });
          show({ name, password });
        })}
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

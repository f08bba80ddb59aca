// Owns a member's own account: name, language, time zone, signature, password, where they are signed in, tokens for scripts.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { tokenScopes } from '../../protocol/enums.ts';
import type { OwnAccount, StaffSession, StaffToken } from '../../protocol/sign-in.ts';
import { session } from '../api.ts';
import { serverAddress } from '../router.ts';
import { Checkbox } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { languages, takeAccountLanguage } from '../words.ts';
import { Form, type FieldSpec } from './form.tsx';
import { languageNames } from './language-names.ts';
import { Act, Await, Section, Shown, useRest } from './parts.tsx';
import { rest } from './rest.ts';
import { s, when } from './words.ts';

const dayMs = 86_400_000;

/** @param locale what is set: a tag that another client chose stays as it is */
function languageOptions(locale: string | null): NonNullable<FieldSpec['options']> {
  const known = languages.map((language) => [language, { as: languageNames[language] }] as const);
  const isKnown = locale === null || languages.some((language) => language === locale);
  return [['', 'ownLanguageAuto'], ...known, ...(isKnown ? [] : [[locale, { as: locale }] as const])];
}

export function Page(): JSX.Element {
  const account = useRest<{ member: OwnAccount }>('/staff/me');
  const slug = session.value?.organization.slug ?? '';
  return (
    <>
      <Await of={account}>
        {({ member }) => (
          <>
            <Section title="you">
              <Form
                fields={[
                  { path: 'name', label: 'name', required: true },
                  {
                    path: 'locale',
                    label: 'ownLanguage',
                    hint: 'ownLanguageHint',
                    kind: 'select',
                    empty: 'null',
                    options: languageOptions(member.locale),
                  },
                  { path: 'timezone', label: 'timezone', hint: 'timezoneHint', empty: 'null', machine: true },
                  { path: 'signature', label: 'ownSignature', hint: 'ownSignatureHint', kind: 'area' },
                ]}
                initial={member}
                patches
                onSubmit={async (body) => {
                  const saved = await rest<{ member: OwnAccount }>('PATCH', '/staff/me', body);
                  // Once the form knows that it is saved: the browser asks about what is not.
                  if (takeAccountLanguage(saved.member.locale)) setTimeout(() => location.reload());
                }}
              />
            </Section>
            <Section title="password" about="passwordAbout">
              <Form
                fields={[
                  { path: 'currentPassword', label: 'currentPassword', kind: 'password', required: true },
                  { path: 'password', label: 'newPassword', kind: 'password', required: true },
                ]}
                onSubmit={(body) => rest('PATCH', '/staff/me', body)}
                clears
              />
            </Section>
          </>
        )}
      </Await>
      <Section title="secondFactor" about="secondFactorAbout">
        <a class="button plain" href={`${serverAddress()}/security?organization=${encodeURIComponent(slug)}`}>
          <span>{s('secondFactorOpen')}</span>
        </a>
      </Section>
      <Sessions />
      <Tokens />
    </>
  );
}

function Sessions(): JSX.Element {
  const sessions = useRest<{ sessions: StaffSession[] }>('/staff/sessions');
  return (
    <Section title="sessions">
      <Await of={sessions}>
        {(data) => (
          <Table
            caption={s('sessions')}
            rows={data.sessions}
            rowKey={({ id }) => id}
            columns={[
              { key: 'seen', title: s('lastUsed'), cell: ({ lastSeenAt }) => when(lastSeenAt) },
              {
                key: 'address',
                title: s('address'),
                cell: ({ address }) => <span dir="ltr">{address ?? '–'}</span>,
              },
              {
                key: 'act',
                title: s('act'),
                end: true,
                cell: ({ id, current }) =>
                  current ? (
                    s('thisSession')
                  ) : (
                    <Act
                      label="endSession"
                      act={async () => {
                        await rest('DELETE', `/staff/sessions/${id}`);
                        await sessions.reload();
                      }}
                    />
                  ),
              },
            ]}
          />
        )}
      </Await>
    </Section>
  );
}

function Tokens(): JSX.Element {
  const tokens = useRest<{ tokens: StaffToken[] }>('/staff/tokens');
  const [made, setMade] = useState('');
  const [scopes, setScopes] = useState<readonly string[]>(['conversations:read']);
  return (
    <Section title="tokens" about="tokensAbout">
      {made === '' ? null : <Shown title="shownOnce" text={made} />}
      <Await of={tokens}>
        {(data) => (
          <Table
            caption={s('tokens')}
            rows={data.tokens}
            rowKey={({ id }) => id}
            empty={s('none')}
            columns={[
              { key: 'name', title: s('name'), cell: ({ name }) => name },
              {
                key: 'scopes',
                title: s('scopes'),
                cell: (token) => <code dir="ltr">{token.scopes.join(' ')}</code>,
              },
              { key: 'ends', title: s('ends'), cell: ({ expiresAt }) => when(expiresAt) },
              {
                key: 'act',
                title: s('act'),
                end: true,
                cell: ({ id, name }) => (
                  <Act
                    label="revoke"
                    question={s('revokeQuestion', { name })}
                    act={async () => {
                      await rest('DELETE', `/staff/tokens/${id}`);
                      await tokens.reload();
                    }}
                  />
                ),
              },
            ]}
          />
        )}
      </Await>
      <fieldset class="choices">
        <legend>{s('scopes')}</legend>
        {tokenScopes.map((scope) => (
          <Checkbox
            key={scope}
            label={scope}
            checked={scopes.includes(scope)}
            onChange={(on) => setScopes(on ? [...scopes, scope] : scopes.filter((one) => one !== scope))}
          />
        ))}
      </fieldset>
      <Form
        fields={[
          { path: 'name', label: 'name', required: true },
          { path: 'days', sentAs: 'expiresAt', label: 'daysValid', kind: 'number' },
        ]}
        initial={{ days: 90 }}
        submit="makeToken"
        clears
        onSubmit={async (body) => {
          const { name, days }: { name?: string; days?: number } = body;
          // The server says what is too long; far beyond that there is no date.
          const ahead = Math.max(-1, Math.min(days ?? 90, 10_000)) * dayMs;
          const expiresAt = new Date(Date.now() + ahead).toISOString();
          const { token } = await rest<{ token: StaffToken & { token: string } }>('POST', '/staff/tokens', {
            name,
            scopes,
            expiresAt,
          });
          setMade(token.token);
          await tokens.reload();
        }}
      />
    </Section>
  );
}

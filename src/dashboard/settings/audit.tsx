// Owns the audit log, and what is shown of it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditEntry, ListedMember } from '../../protocol/entities.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { Await, Section, useRest } from './parts.tsx';
import { s, when } from './words.ts';

const pageSize = 100;
const typingEndsMs = 300;

export function Page(): JSX.Element {
  const [offset, setOffset] = useState(0);
  const [filter, setFilter] = useState('');
  const [search, setSearch] = useState('');
  useEffect(() => {
    // Asked once the typing has stopped.
    const timer = setTimeout(() => {
      setSearch(filter.trim());
      setOffset(0);
    }, typingEndsMs);
    return () => clearTimeout(timer);
  }, [filter]);
  const entries = useRest<{ entries: AuditEntry[]; total: number }>(
    `/admin/audit?limit=${pageSize}&offset=${offset}${search === '' ? '' : `&q=${encodeURIComponent(search)}`}`,
  );
  const members = useRest<{ members: ListedMember[] }>('/admin/members');
  const names = new Map((members.data?.members ?? []).map(({ id, name }) => [`member:${id}`, name] as const));
  return (
    <Section title="audit" about="auditAbout" wide>
      <Field label={s('filter')} hint={s('filterHint')} type="search" value={filter} onInput={setFilter} />
      <Await of={entries}>
        {(data) => (
          <>
            <Table
              caption={s('audit')}
              rows={data.entries}
              rowKey={({ id }) => id}
              empty={s('none')}
              columns={[
                { key: 'time', title: s('time'), inOneLine: true, cell: ({ createdAt }) => when(createdAt) },
                { key: 'who', title: s('who'), cell: ({ actor }) => <Named id={actor} names={names} /> },
                {
                  key: 'what',
                  title: s('what'),
                  inOneLine: true,
                  cell: ({ action }) => <code dir="ltr">{action}</code>,
                },
                {
                  key: 'subject',
                  title: s('subject'),
                  cell: ({ subject }) => <Named id={subject} names={names} />,
                },
                {
                  key: 'detail',
                  title: s('details'),
                  cell: ({ detail }) => (
                    <code dir="ltr">
                      {Object.entries(detail)
                        .map(([name, value]) => `${name}: ${String(value)}`)
                        .join(', ')}
                    </code>
                  ),
                },
                {
                  key: 'address',
                  title: s('address'),
                  inOneLine: true,
                  cell: ({ address }) => <span dir="ltr">{address ?? '–'}</span>,
                },
              ]}
            />
            <div class="form-end">
              <Button disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - pageSize))}>
                {s('newer')}
              </Button>
              <Button disabled={offset + pageSize >= data.total} onClick={() => setOffset(offset + pageSize)}>
                {s('older')}
              </Button>
              <span class="hint">{s('entries', { n: data.total })}</span>
            </div>
          </>
        )}
      </Await>
    </Section>
  );
}

/** A member by name; one who was removed, and everything else, by id. */
function Named({
  id,
  names,
}: {
  readonly id: string;
  readonly names: ReadonlyMap<string, string>;
}): JSX.Element {
  const name = names.get(id);
  return name === undefined ? (
    <code dir="ltr" class={id.length < 24 ? 'in-one-line' : undefined}>
      {id}
    </code>
  ) : (
    <span dir="auto" title={id}>
      {name}
    </span>
  );
}

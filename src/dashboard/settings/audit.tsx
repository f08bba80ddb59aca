// Owns the audit log, and what is shown of it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditEntry } from '../../protocol/entities.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { Await, Section, useRest } from './parts.tsx';
import { figure, s, when } from './words.ts';

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
  return (
    <Section title="audit" about="auditAbout">
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
                { key: 'time', title: s('time'), cell: ({ createdAt }) => when(createdAt) },
                { key: 'who', title: s('who'), cell: ({ actor }) => <code dir="ltr">{actor}</code> },
                { key: 'what', title: s('what'), cell: ({ action }) => <code dir="ltr">{action}</code> },
                {
                  key: 'subject',
                  title: s('subject'),
                  cell: ({ subject }) => <code dir="ltr">{subject}</code>,
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
              <span class="hint">{s('entries', { n: figure(data.total) })}</span>
            </div>
          </>
        )}
      </Await>
    </Section>
  );
}

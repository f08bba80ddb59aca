// Owns the figures: bars drawn by hand, and the table that says the same beneath.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Stats } from '../../protocol/entities.ts';
import { Select } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { Await, Section, useRest } from './parts.tsx';
import { figure, s } from './words.ts';

const dayMs = 86_400_000;
type Days = '7' | '30' | '90';

/** Seconds as minutes with one digit, where there are any. */
function minutes(seconds: number | null): string {
  return seconds === null ? '–' : figure(Math.round(seconds / 6) / 10);
}

export function Page(): JSX.Element {
  const [days, setDays] = useState<Days>('30');
  const [now] = useState(() => Date.now());
  const from = new Date(now - Number(days) * dayMs).toISOString();
  const loaded = useRest<{ stats: Stats }>(`/staff/stats?from=${encodeURIComponent(from)}`);
  return (
    <>
      <Select
        label={s('period')}
        value={days}
        options={[
          { value: '7', label: s('lastDays', { n: 7 }) },
          { value: '30', label: s('lastDays', { n: 30 }) },
          { value: '90', label: s('lastDays', { n: 90 }) },
        ]}
        onChange={setDays}
      />
      <Await of={loaded}>
        {({ stats }) => (
          <>
            <Section title="overall">
              <Figures rows={[{ id: 'all', name: s('overall'), ...stats }]} />
            </Section>
            <Section title="byApplication">
              <Bars rows={stats.applications} />
              <Figures rows={stats.applications} />
            </Section>
            <Section title="byMember">
              <Bars rows={stats.members} />
              <Figures rows={stats.members} />
            </Section>
          </>
        )}
      </Await>
    </>
  );
}

type Row = Stats['members'][number];

const barHeight = 24;

/** Opened and resolved, side by side. Read out by the table beneath. */
function Bars({ rows }: { readonly rows: readonly Row[] }): JSX.Element | null {
  const shown = rows.slice(0, 12);
  const most = Math.max(1, ...shown.flatMap(({ opened, resolved }) => [opened, resolved]));
  if (shown.length === 0) return null;
  return (
    <>
      <p class="legend" aria-hidden="true">
        <span class="opened">{s('opened')}</span>
        <span class="resolved">{s('resolved')}</span>
      </p>
      <svg
        class="bars"
        viewBox={`0 0 400 ${shown.length * barHeight}`}
        width="400"
        height={shown.length * barHeight}
        aria-hidden="true"
      >
        {shown.map(({ id, name, opened, resolved }, index) => (
          <g key={id} transform={`translate(0 ${index * barHeight})`}>
            <text x="0" y="15">
              {name.slice(0, 16)}
            </text>
            <rect class="opened" x="120" y="3" width={(opened / most) * 270} height="8" />
            <rect class="resolved" x="120" y="13" width={(resolved / most) * 270} height="8" />
          </g>
        ))}
      </svg>
    </>
  );
}

function Figures({ rows }: { readonly rows: readonly Row[] }): JSX.Element {
  return (
    <Table
      caption={s('statistics')}
      rows={rows}
      rowKey={({ id }) => id}
      empty={s('none')}
      columns={[
        { key: 'name', title: s('name'), cell: ({ name }) => <span dir="auto">{name}</span> },
        { key: 'opened', title: s('opened'), end: true, cell: ({ opened }) => figure(opened) },
        { key: 'resolved', title: s('resolved'), end: true, cell: ({ resolved }) => figure(resolved) },
        {
          key: 'first',
          title: s('firstResponse'),
          end: true,
          cell: ({ firstResponse }) => minutes(firstResponse.medianSeconds),
        },
        {
          key: 'first90',
          title: s('firstResponse90'),
          end: true,
          cell: ({ firstResponse }) => minutes(firstResponse.p90Seconds),
        },
        {
          key: 'resolution',
          title: s('resolution'),
          end: true,
          cell: ({ resolution }) => minutes(resolution.medianSeconds),
        },
      ]}
    />
  );
}

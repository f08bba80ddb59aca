// Owns what is kept of one visitor, its erasure, and the blocks.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Block } from '../../protocol/entities.ts';
import { session } from '../api.ts';
import { Field } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { t } from '../words.ts';
import { Form } from './form.tsx';
import { Act, Await, Section, useRest } from './parts.tsx';
import { rest } from './rest.ts';
import { s, when } from './words.ts';

export function Page(): JSX.Element {
  return (
    <>
      <Blocks />
      {session.value?.member.role === 'admin' ? <VisitorData /> : null}
    </>
  );
}

/** Hands a value to the reader as a file. */
function download(name: string, value: unknown): void {
  const address = URL.createObjectURL(
    new Blob([JSON.stringify(value, null, 2)], { type: 'application/json' }),
  );
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
}

function VisitorData(): JSX.Element {
  const [id, setId] = useState('');
  const path = `/admin/visitors/${encodeURIComponent(id.trim())}`;
  return (
    <Section title="visitorData" about="visitorDataAbout">
      <div class="form">
        <Field label={t('visitorId')} hint={s('visitorIdHint')} machine value={id} onInput={setId} />
        <div class="row-acts">
          <Act
            label="export"
            act={async () => download(`visitor-${id.trim()}.json`, await rest('GET', path))}
          />
          <Act
            label="erase"
            question={s('eraseQuestion')}
            act={async () => {
              await rest('DELETE', path);
              setId('');
            }}
          />
        </div>
      </div>
    </Section>
  );
}

function Blocks(): JSX.Element {
  const blocks = useRest<{ blocks: Block[] }>('/staff/blocks');
  const [isShared, setIsShared] = useState(false);
  return (
    <Section title="blocks">
      <Await of={blocks}>
        {(data) => (
          <Table
            caption={s('blocks')}
            rows={data.blocks}
            rowKey={({ id }) => id}
            empty={s('none')}
            columns={[
              {
                key: 'who',
                title: s('who'),
                cell: ({ visitor }) =>
                  visitor === null ? s('anAddress') : <span dir="auto">{visitor.name ?? visitor.id}</span>,
              },
              { key: 'until', title: s('ends'), cell: ({ until }) => when(until) },
              {
                key: 'act',
                title: s('act'),
                end: true,
                cell: ({ id }) => (
                  <Act
                    label="lift"
                    act={async () => {
                      await rest('DELETE', `/staff/blocks/${id}`);
                      setIsShared(false);
                      await blocks.reload();
                    }}
                  />
                ),
              },
            ]}
          />
        )}
      </Await>
      <Form
        fields={[{ path: 'address', label: 'address', hint: 'blockHint', machine: true, required: true }]}
        submit="blockAddress"
        clears
        onSubmit={async (body) => {
          const { block } = await rest<{ block: { warning?: string } }>('POST', '/staff/blocks', body);
          setIsShared(block.warning !== undefined);
          await blocks.reload();
        }}
      />
      <div role="status">{isShared ? <p class="callout">{s('blockShared')}</p> : null}</div>
    </Section>
  );
}

// Owns the canned replies and the tags.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { CannedReply } from '../../protocol/entities.ts';
import type { Tag } from '../../protocol/queue.ts';
import { editableText } from '../../desk/lexical-markdown.ts';
import { desk } from '../desk.ts';
import { Button } from '../ui/button.tsx';
import { Table } from '../ui/table.tsx';
import { Form, type FieldSpec } from './form.tsx';
import { Act, Await, Section, useLoaded, useRest } from './parts.tsx';
import { rest } from './rest.ts';
import { askFirst } from './unsaved.tsx';
import { s } from './words.ts';

const fields: readonly FieldSpec[] = [
  { path: 'shortcut', label: 'shortcut', hint: 'shortcutHint', required: true },
  { path: 'content', label: 'text', hint: 'markdownHint', kind: 'area', required: true },
];

/** All of them, a page after the other. */
async function loadReplies(): Promise<readonly CannedReply[]> {
  const all: CannedReply[] = [];
  for (;;) {
    const path = `/staff/canned-replies?limit=100&offset=${all.length}`;
    const { cannedReplies, total } = await rest<{ cannedReplies: CannedReply[]; total: number }>('GET', path);
    all.push(...cannedReplies);
    if (cannedReplies.length === 0 || all.length >= total) return all;
  }
}

interface Editing<T> {
  /** What is changed; null: the form is for a new one. */
  readonly open: T | null;
  readonly setOpen: (row: T | null) => void;
  /** Opens another row, after a question where something written would be lost. */
  readonly edit: (row: T) => void;
  /** Of the form. */
  readonly guard: object;
}

function useEditing<T extends { readonly id: string }>(): Editing<T> {
  const [open, setOpen] = useState<T | null>(null);
  const guard = useRef({}).current;
  const edit = (row: T): void => {
    if (row.id !== open?.id) askFirst(guard, () => setOpen(row));
  };
  return { open, setOpen, edit, guard };
}

export function Page(): JSX.Element {
  const replies = useLoaded(loadReplies);
  const { open, setOpen, edit, guard } = useEditing<CannedReply>();
  const changed = async (): Promise<void> => {
    desk().model.composer.suggestions.forgetCannedReplies();
    await replies.reload();
  };
  const save = async (body: object): Promise<void> => {
    const markdown = { ...body, contentFormat: 'markdown' };
    if (open === null) await rest('POST', '/staff/canned-replies', markdown);
    else await rest('PATCH', `/staff/canned-replies/${open.id}`, markdown);
    setOpen(null);
    await changed();
  };
  return (
    <>
      <Section title="cannedReplies">
        <Await of={replies}>
          {(data) => (
            <Table
              caption={s('cannedReplies')}
              rows={data}
              rowKey={({ id }) => id}
              empty={s('none')}
              columns={[
                {
                  key: 'shortcut',
                  title: s('shortcut'),
                  cell: ({ shortcut }) => <code dir="auto">/{shortcut}</code>,
                },
                {
                  key: 'text',
                  title: s('text'),
                  cell: (reply) => <span dir="auto">{editableText(reply).slice(0, 120)}</span>,
                },
                {
                  key: 'act',
                  title: s('act'),
                  end: true,
                  cell: (reply) => (
                    <div class="row-acts">
                      <Button onClick={() => edit(reply)}>{s('edit')}</Button>
                      <Act
                        label="remove"
                        question={s('removeQuestion', { name: reply.shortcut })}
                        act={async () => {
                          await rest('DELETE', `/staff/canned-replies/${reply.id}`);
                          if (open?.id === reply.id) setOpen(null);
                          await changed();
                        }}
                      />
                    </div>
                  ),
                },
              ]}
            />
          )}
        </Await>
      </Section>
      <Section title={open === null ? 'addReply' : 'changeReply'}>
        <Form
          key={open?.id ?? 'new'}
          fields={fields}
          initial={open === null ? {} : { shortcut: open.shortcut, content: editableText(open) }}
          onSubmit={save}
          clears={open === null}
          guard={guard}
        />
        {open === null ? null : <Button onClick={() => setOpen(null)}>{s('cancel')}</Button>}
      </Section>
      <Tags />
    </>
  );
}

function Tags(): JSX.Element {
  const tags = useRest<{ tags: Tag[] }>('/staff/tags');
  const { open, setOpen, edit, guard } = useEditing<Tag>();
  return (
    <Section title="tags">
      <Await of={tags}>
        {(data) => (
          <Table
            caption={s('tags')}
            rows={data.tags}
            rowKey={({ id }) => id}
            empty={s('none')}
            columns={[
              { key: 'name', title: s('name'), cell: ({ name }) => <span dir="auto">{name}</span> },
              {
                key: 'act',
                title: s('act'),
                end: true,
                cell: (tag) => (
                  <div class="row-acts">
                    <Button onClick={() => edit(tag)}>{s('edit')}</Button>
                    <Act
                      label="remove"
                      question={s('removeQuestion', { name: tag.name })}
                      act={async () => {
                        await rest('DELETE', `/staff/tags/${tag.id}`);
                        if (open?.id === tag.id) setOpen(null);
                        await tags.reload();
                      }}
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Await>
      <Form
        key={open?.id ?? 'new'}
        fields={[{ path: 'name', label: 'name', required: true }]}
        initial={open ?? {}}
        submit={open === null ? 'addTag' : 'renameTag'}
        clears={open === null}
        guard={guard}
        onSubmit={async (body) => {
          if (open === null) await rest('POST', '/staff/tags', body);
          else await rest('PATCH', `/staff/tags/${open.id}`, body);
          setOpen(null);
          await tags.reload();
        }}
      />
    </Section>
  );
}

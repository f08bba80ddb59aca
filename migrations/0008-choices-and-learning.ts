// Titles that the assistant offers and which of them a visitor chose, questions that a person kept with a passage, and
// an index of headings alone.
import { sql, type Kysely } from 'kysely';
import { onSqlite } from './columns.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  // JSON: what an assistant's message offers. Null: nothing.
  await db.schema.alterTable('messages').addColumn('choices', 'text').execute();
  // The id of the passage that a visitor's message chooses. Null: none.
  await db.schema.alterTable('messages').addColumn('choice', 'text').execute();
  // The id of the passage that the visitor chose after this question. Null: none.
  await db.schema.alterTable('ai_log').addColumn('chosen', 'text').execute();
  // When a person dealt with an unanswered question: it is no gap any more. Null: not yet.
  await db.schema.alterTable('ai_log').addColumn('settled_at', 'integer').execute();

  // By document and heading, because passages are made anew whenever their document changes.
  await db.schema
    .createTable('knowledge_questions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('application_id', 'text', (c) => c.notNull().references('applications.id').onDelete('cascade'))
    .addColumn('document_id', 'text', (c) =>
      c.notNull().references('knowledge_documents.id').onDelete('cascade'),
    )
    .addColumn('heading', 'text')
    .addColumn('question', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('knowledge_questions_by_document')
    .on('knowledge_questions')
    .column('document_id')
    .execute();
  await db.schema
    .createIndex('knowledge_questions_by_application')
    .on('knowledge_questions')
    .column('application_id')
    .execute();

  // Holds no text of its own: the words are made from the passages, which the program indexes anew after this change.
  await onSqlite(
    sql`create virtual table knowledge_headings using fts5(words, content = '', contentless_delete = 1, tokenize = 'ascii')`,
  ).execute(db);
  await onSqlite(
    sql`insert into knowledge_headings(knowledge_headings, rank) values ('secure-delete', 1)`,
  ).execute(db);
  await onSqlite(
    sql`create trigger knowledge_heading_removed after delete on knowledge_passages begin delete from knowledge_headings where rowid = old.row; end`,
  ).execute(db);
}

// Documents of knowledge, their passages and full-text index, synonyms, the log of what
// the assistant was asked and answered, and who wanted a person.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('knowledge_documents')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('application_id', 'text', (c) => c.notNull().references('applications.id').onDelete('cascade'))
    .addColumn('source', 'text', (c) => c.notNull())
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('url', 'text')
    .addColumn('format', 'text', (c) => c.notNull())
    // By which edition of the cutting its passages were made; 0: not cut yet, as after an import.
    .addColumn('edition', 'integer', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('updated_at', 'integer', (c) => c.notNull())
    // Last, because a long one lies on pages of its own that lists need not read.
    .addColumn('content', 'text', (c) => c.notNull())
    .addUniqueConstraint('knowledge_documents_once', ['application_id', 'source'])
    .execute();
  await db.schema
    .createTable('knowledge_passages')
    // Also the row of the full-text index, which has no keys of its own.
    .addColumn('row', 'integer', (c) => c.primaryKey())
    .addColumn('id', 'text', (c) => c.notNull().unique())
    .addColumn('document_id', 'text', (c) =>
      c.notNull().references('knowledge_documents.id').onDelete('cascade'),
    )
    .addColumn('application_id', 'text', (c) => c.notNull().references('applications.id').onDelete('cascade'))
    .addColumn('position', 'integer', (c) => c.notNull())
    .addColumn('heading', 'text')
    .addColumn('anchor', 'text')
    .addColumn('text', 'text', (c) => c.notNull())
    // 32-bit floats as the configured model gave them; null: none were asked for yet.
    .addColumn('embedding_model', 'text')
    .addColumn('embedding', 'blob')
    .execute();
  await db.schema
    .createIndex('knowledge_documents_by_organization')
    .on('knowledge_documents')
    .columns(['organization_id', 'application_id', 'source'])
    .execute();
  await db.schema
    .createIndex('knowledge_documents_by_edition')
    .on('knowledge_documents')
    .column('edition')
    .execute();
  await db.schema
    .createIndex('knowledge_passages_by_document')
    .on('knowledge_passages')
    .columns(['document_id', 'position'])
    .execute();
  await db.schema
    .createIndex('knowledge_passages_by_model')
    .on('knowledge_passages')
    .column('embedding_model')
    .execute();
  await db.schema
    .createIndex('knowledge_passages_by_application')
    .on('knowledge_passages')
    .column('application_id')
    .execute();
  // Begins each of an application's words in the index: a match can't leave the application, and how often a word
  // occurs is counted within it. A number, never given out twice, because UUIDs would triple the index.
  await sql`create table knowledge_scopes (
    number integer primary key autoincrement,
    application_id text not null unique references applications(id) on delete cascade
  )`.execute(db);
  // Words come segmented and folded; this tokenizer only parts them at blanks.
  await sql`create virtual table knowledge_search using fts5(heading, words, tokenize = 'ascii')`.execute(db);
  await sql`insert into knowledge_search(knowledge_search, rank) values ('secure-delete', 1)`.execute(db);
  // A word of a heading says more than one of the text.
  await sql`insert into knowledge_search(knowledge_search, rank) values ('rank', 'bm25(2.0, 1.0)')`.execute(
    db,
  );
  // The words of the index, in order: what a misspelt one may have been meant to be.
  await sql`create virtual table knowledge_vocabulary using fts5vocab(knowledge_search, 'row')`.execute(db);
  await sql`create trigger knowledge_passage_removed after delete on knowledge_passages begin delete from knowledge_search where rowid = old.row; end`.execute(
    db,
  );

  await db.schema
    .createTable('knowledge_synonyms')
    .addColumn('application_id', 'text', (c) =>
      c.primaryKey().references('applications.id').onDelete('cascade'),
    )
    // JSON: an array of arrays of words.
    .addColumn('synonyms', 'text', (c) => c.notNull())
    .execute();

  await db.schema
    .createTable('ai_log')
    // For an automatic answer, the id of the visitor's message: it is answered once.
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('application_id', 'text', (c) => c.references('applications.id').onDelete('cascade'))
    .addColumn('visitor_key', 'text', (c) => c.references('visitors.id').onDelete('cascade'))
    .addColumn('conversation_id', 'text', (c) => c.references('conversations.id').onDelete('cascade'))
    .addColumn('mode', 'text', (c) => c.notNull())
    .addColumn('door', 'text', (c) => c.notNull())
    .addColumn('actor', 'text', (c) => c.notNull())
    .addColumn('question', 'text', (c) => c.notNull())
    .addColumn('answer', 'text')
    .addColumn('outcome', 'text', (c) => c.notNull())
    .addColumn('sources', 'text', (c) => c.notNull())
    .addColumn('model', 'text')
    .addColumn('duration_ms', 'integer', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('ai_log_by_organization')
    .on('ai_log')
    .columns(['organization_id', 'created_at'])
    .execute();
  await db.schema.createIndex('ai_log_by_visitor').on('ai_log').column('visitor_key').execute();
  await db.schema.createIndex('ai_log_by_conversation').on('ai_log').column('conversation_id').execute();

  // When the visitor asked for a person, or the assistant gave up: it writes nothing after that. Null: it may.
  await db.schema.alterTable('conversations').addColumn('assistant_muted_at', 'integer').execute();
}

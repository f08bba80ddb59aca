// What all migrations make of an empty database, on SQLite: a new one is made of this at once, in a quarter of the time.
// Written by "npm run schema" after a migration was added; a test holds it against the migrations.

export const newestSchema = `
CREATE TABLE "meta" ("key" text primary key, "value" text not null);
CREATE TABLE "organizations" ("id" text primary key, "slug" text not null unique, "name" text not null, "plan" text not null, "requests_per_minute" integer, "retention_days" integer, "max_applications" integer, "max_seats" integer, "plan_changed_at" integer not null, "created_at" integer not null, "release_after_minutes" integer, "second_factor" text default 'off' not null, "escalation" text default '[]' not null, "max_file_bytes" integer, "own_retention_days" integer);
CREATE TABLE "applications" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "name" text not null, "settings" text not null, "identity_secret" blob not null, "created_at" integer not null);
CREATE INDEX "applications_by_organization" on "applications" ("organization_id");
CREATE TABLE "domains" ("id" text primary key, "application_id" text not null references "applications" ("id") on delete cascade, "domain" text not null, "created_at" integer not null, constraint "domains_once" unique ("application_id", "domain"));
CREATE TABLE "api_keys" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "application_id" text not null references "applications" ("id") on delete cascade, "mode" text not null, "name" text not null, "public_id" text not null unique, "digest" blob not null unique, "sealed" blob not null, "created_at" integer not null, "last_used_at" integer, "expires_at" integer, "revoked_at" integer);
CREATE INDEX "api_keys_by_application" on "api_keys" ("application_id");
CREATE TABLE "members" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "email" text not null, "name" text not null, "role" text not null, "password_hash" text not null, "disabled_at" integer, "created_at" integer not null, "locale" text, "timezone" text, "signature" text default '' not null, "notifications" text default '{}' not null, constraint "members_once" unique ("organization_id", "email"));
CREATE TABLE "staff_sessions" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "member_id" text not null references "members" ("id") on delete cascade, "digest" blob not null unique, "created_at" integer not null, "last_seen_at" integer not null, "expires_at" integer not null, "name" text, "scopes" text, "second_factor" integer default 0 not null, "address" text);
CREATE INDEX "staff_sessions_by_member" on "staff_sessions" ("member_id");
CREATE TABLE "visitors" ("id" text primary key, "visitor_id" text not null, "organization_id" text not null references "organizations" ("id") on delete cascade, "application_id" text not null references "applications" ("id") on delete cascade, "mode" text not null, "name" text, "email" text, "verified" integer not null, "attributes" text not null, "created_at" integer not null, "address_digest" blob, "verified_fields" text default '' not null, constraint "visitors_once" unique ("application_id", "mode", "visitor_id"));
CREATE TABLE "conversations" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "application_id" text not null references "applications" ("id") on delete cascade, "visitor_key" text not null references "visitors" ("id") on delete cascade, "mode" text not null, "status" text not null, "subject" text, "assigned_to" text, "resolved_by" text, "resolved_at" integer, "last_seq" integer not null, "waiting_since" integer, "first_response_at" integer, "idempotency_key" text, "created_at" integer not null, "updated_at" integer not null, "assistant_muted_at" integer, "priority" text default 'normal' not null, "snoozed_until" integer, "last_visitor_seq" integer default 0 not null, "channel" text, "continues" text, "mail_stopped_at" integer);
CREATE INDEX "conversations_by_visitor" on "conversations" ("visitor_key", "created_at");
CREATE INDEX "conversations_by_queue" on "conversations" ("organization_id", "mode", "status");
CREATE INDEX "conversations_by_application" on "conversations" ("application_id");
CREATE UNIQUE INDEX "conversations_by_idempotency_key" on "conversations" ("visitor_key", "idempotency_key") where "idempotency_key" is not null;
CREATE TABLE "participants" ("conversation_id" text not null references "conversations" ("id") on delete cascade, "user_id" text not null, "role" text not null, "joined_at" integer not null, "left_at" integer, "last_read_message_id" text, "last_read_seq" integer not null, constraint "participants_once" primary key ("conversation_id", "user_id"));
CREATE TABLE "events" ("seq" integer primary key, "organization_id" text not null, "conversation_id" text not null, "mode" text not null, "type" text not null, "audience" text not null, "actor_id" text not null, "message_id" text, "member_id" text, "created_at" integer not null);
CREATE TABLE "audit" ("id" text primary key, "organization_id" text, "actor" text not null, "action" text not null, "subject" text not null, "detail" text not null, "address" text, "created_at" integer not null);
CREATE INDEX "audit_by_organization" on "audit" ("organization_id", "created_at");
CREATE TABLE "search_rows" ("id" integer primary key, "message_id" text not null unique references "messages" ("id") on delete cascade);
CREATE TABLE "canned_replies" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "shortcut" text not null, "content" text not null, "content_format" text not null, "content_html" text, "created_at" integer not null, "updated_at" integer not null, constraint "canned_replies_once" unique ("organization_id", "shortcut"));
CREATE TABLE "invitations" ("member_id" text primary key references "members" ("id") on delete cascade, "digest" blob not null unique, "expires_at" integer not null);
CREATE TABLE "webhooks" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "url" text not null, "events" text, "sealed" blob not null, "enabled" integer not null, "position" integer not null, "created_at" integer not null, "previous_sealed" blob, "previous_until" integer);
CREATE INDEX "webhooks_by_organization" on "webhooks" ("organization_id");
CREATE TABLE "webhook_deliveries" ("id" text primary key, "webhook_id" text not null references "webhooks" ("id") on delete cascade, "type" text not null, "event_seq" integer, "event_at" integer not null, "conversation_id" text references "conversations" ("id") on delete cascade, "actor_id" text, "message_id" text, "member_id" text, "in_turn" integer not null, "status" text not null, "attempts" integer not null, "next_attempt_at" integer, "give_up_at" integer not null, "last_attempt_at" integer, "duration_ms" integer, "response_status" integer, "error" text, "created_at" integer not null, constraint "webhook_deliveries_once" unique ("webhook_id", "event_seq"));
CREATE INDEX "webhook_deliveries_by_webhook" on "webhook_deliveries" ("webhook_id", "created_at");
CREATE INDEX "webhook_deliveries_by_age" on "webhook_deliveries" ("created_at");
CREATE INDEX "webhook_deliveries_by_conversation" on "webhook_deliveries" ("conversation_id", "webhook_id", "event_seq");
CREATE INDEX "webhook_deliveries_due" on "webhook_deliveries" ("webhook_id", "next_attempt_at") where "status" = 'waiting';
CREATE INDEX "conversations_by_age" on "conversations" ("organization_id", "mode", "created_at", "id");
CREATE INDEX "visitors_by_age" on "visitors" ("organization_id", "mode", "created_at", "id");
CREATE TABLE "knowledge_documents" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "application_id" text not null references "applications" ("id") on delete cascade, "source" text not null, "title" text not null, "url" text, "format" text not null, "edition" integer not null, "created_at" integer not null, "updated_at" integer not null, "content" text not null, constraint "knowledge_documents_once" unique ("application_id", "source"));
CREATE TABLE "knowledge_passages" ("row" integer primary key, "id" text not null unique, "document_id" text not null references "knowledge_documents" ("id") on delete cascade, "application_id" text not null references "applications" ("id") on delete cascade, "position" integer not null, "heading" text, "anchor" text, "text" text not null, "embedding_model" text, "embedding" blob);
CREATE INDEX "knowledge_documents_by_organization" on "knowledge_documents" ("organization_id", "application_id", "source");
CREATE INDEX "knowledge_documents_by_edition" on "knowledge_documents" ("edition");
CREATE INDEX "knowledge_passages_by_document" on "knowledge_passages" ("document_id", "position");
CREATE INDEX "knowledge_passages_by_model" on "knowledge_passages" ("embedding_model");
CREATE INDEX "knowledge_passages_by_application" on "knowledge_passages" ("application_id");
CREATE TABLE knowledge_scopes (
    number integer primary key autoincrement,
    application_id text not null unique references applications(id) on delete cascade
  );
CREATE VIRTUAL TABLE knowledge_search using fts5(heading, words, tokenize = 'ascii');
insert into knowledge_search (knowledge_search, rank) values ('rank', 'bm25(2.0, 1.0)');
insert into knowledge_search (knowledge_search, rank) values ('secure-delete', 1);
CREATE VIRTUAL TABLE knowledge_vocabulary using fts5vocab(knowledge_search, 'row');
CREATE TRIGGER knowledge_passage_removed after delete on knowledge_passages begin delete from knowledge_search where rowid = old.row; end;
CREATE TABLE "knowledge_synonyms" ("application_id" text primary key references "applications" ("id") on delete cascade, "synonyms" text not null);
CREATE TABLE "ai_log" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "application_id" text references "applications" ("id") on delete cascade, "visitor_key" text references "visitors" ("id") on delete cascade, "conversation_id" text references "conversations" ("id") on delete cascade, "mode" text not null, "door" text not null, "actor" text not null, "question" text not null, "answer" text, "outcome" text not null, "sources" text not null, "model" text, "duration_ms" integer not null, "created_at" integer not null, "chosen" text, "settled_at" integer);
CREATE INDEX "ai_log_by_organization" on "ai_log" ("organization_id", "created_at");
CREATE INDEX "ai_log_by_conversation" on "ai_log" ("conversation_id");
CREATE TABLE "member_totp" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "member_id" text not null unique references "members" ("id") on delete cascade, "sealed" blob not null, "last_step" integer not null, "confirmed_at" integer, "created_at" integer not null);
CREATE TABLE "recovery_codes" ("digest" blob primary key, "member_id" text not null references "members" ("id") on delete cascade);
CREATE INDEX "recovery_codes_by_member" on "recovery_codes" ("member_id");
CREATE TABLE "sign_in_tickets" ("digest" blob primary key, "member_id" text not null references "members" ("id") on delete cascade, "address" blob not null, "tries" integer not null, "expires_at" integer not null);
CREATE INDEX "sign_in_tickets_by_member" on "sign_in_tickets" ("member_id");
CREATE INDEX "sign_in_tickets_by_expiry" on "sign_in_tickets" ("expires_at");
CREATE TABLE "visitor_blocks" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "visitor_key" text not null unique references "visitors" ("id") on delete cascade, "expires_at" integer, "created_by" text not null, "created_at" integer not null);
CREATE INDEX "visitor_blocks_by_organization" on "visitor_blocks" ("organization_id");
CREATE TABLE "address_blocks" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "digest" blob not null, "visitor_key" text references "visitors" ("id") on delete cascade, "expires_at" integer not null, "created_by" text not null, "created_at" integer not null, constraint "address_blocks_once" unique ("organization_id", "digest"));
CREATE INDEX "address_blocks_by_visitor" on "address_blocks" ("visitor_key");
CREATE TABLE "knowledge_questions" ("id" text primary key, "application_id" text not null references "applications" ("id") on delete cascade, "document_id" text not null references "knowledge_documents" ("id") on delete cascade, "heading" text, "question" text not null, "created_at" integer not null);
CREATE INDEX "knowledge_questions_by_document" on "knowledge_questions" ("document_id");
CREATE INDEX "knowledge_questions_by_application" on "knowledge_questions" ("application_id");
CREATE VIRTUAL TABLE knowledge_headings using fts5(words, content = '', contentless_delete = 1, tokenize = 'ascii');
insert into knowledge_headings (knowledge_headings, rank) values ('secure-delete', 1);
CREATE TRIGGER knowledge_heading_removed after delete on knowledge_passages begin delete from knowledge_headings where rowid = old.row; end;
CREATE TABLE "member_passkeys" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "member_id" text not null references "members" ("id") on delete cascade, "name" text not null, "credential_id" text not null unique, "public_key" text not null, "counter" integer not null, "transports" text not null, "created_at" integer not null, "last_used_at" integer);
CREATE INDEX "member_passkeys_by_member" on "member_passkeys" ("member_id");
CREATE TABLE "passkey_registrations" ("member_id" text primary key references "members" ("id") on delete cascade, "session_id" text not null references "staff_sessions" ("id") on delete cascade, "challenge" text not null, "expires_at" integer not null);
CREATE INDEX "passkey_registrations_by_session" on "passkey_registrations" ("session_id");
CREATE TABLE search_scopes (
    number integer primary key autoincrement,
    organization_id text not null unique references organizations(id) on delete cascade
  );
CREATE INDEX "audit_by_time" on "audit" ("created_at");
CREATE TABLE "drafts" ("conversation_id" text not null references "conversations" ("id") on delete cascade, "member_id" text not null references "members" ("id") on delete cascade, "content" text not null, "updated_at" integer not null, constraint "drafts_key" primary key ("conversation_id", "member_id")) without rowid, strict;
CREATE INDEX "drafts_by_member" on "drafts" ("member_id");
CREATE TABLE "application_sightings" ("application_id" text primary key references "applications" ("id") on delete cascade, "origin" text not null, "seen_at" integer not null) without rowid, strict;
CREATE INDEX "conversations_by_snooze" on "conversations" ("snoozed_until") where "snoozed_until" is not null;
CREATE TABLE "tags" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "name" text not null, "folded" text not null, "created_at" integer not null, constraint "tags_once" unique ("organization_id", "folded"));
CREATE TABLE "conversation_tags" ("conversation_id" text not null references "conversations" ("id") on delete cascade, "tag_id" text not null references "tags" ("id") on delete cascade, constraint "conversation_tags_once" primary key ("conversation_id", "tag_id")) without rowid;
CREATE INDEX "conversation_tags_by_tag" on "conversation_tags" ("tag_id", "conversation_id");
CREATE TABLE "views" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "name" text not null, "shared" integer not null, "query" text not null, "created_by" text not null, "created_at" integer not null, "updated_at" integer not null);
CREATE INDEX "views_by_organization" on "views" ("organization_id", "created_at");
CREATE TABLE "crawls" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "application_id" text not null references "applications" ("id") on delete cascade, "url" text not null, "max_pages" integer not null, "depth" integer not null, "below" integer not null, "prune" integer not null, "status" text not null, "problem" text, "pages" integer not null, "added" integer not null, "updated" integer not null, "unchanged" integer not null, "skipped" integer not null, "failed" integer not null, "removed" integer not null, "remaining" integer, "problems" text not null, "created_at" integer not null, "started_at" integer, "ended_at" integer) without rowid, strict;
CREATE INDEX "crawls_by_organization" on "crawls" ("organization_id", "created_at");
CREATE INDEX "crawls_by_application" on "crawls" ("application_id");
CREATE INDEX "crawls_under_way" on "crawls" ("created_at") where "status" in ('waiting', 'running');
CREATE TABLE queue_changes (
    number integer primary key autoincrement, organization_id text not null, place integer not null) strict;
CREATE TRIGGER queue_conversation_added after insert on conversations begin insert into queue_changes (organization_id, place) values (new.organization_id, new.rowid); delete from queue_changes where number <= (select max(number) from queue_changes) - 20000; end;
CREATE TRIGGER queue_conversation_removed after delete on conversations begin insert into queue_changes (organization_id, place) values (old.organization_id, old.rowid); delete from queue_changes where number <= (select max(number) from queue_changes) - 20000; end;
CREATE TRIGGER queue_conversation_changed after update of status, assigned_to, priority, snoozed_until, application_id on conversations begin insert into queue_changes (organization_id, place) values (new.organization_id, new.rowid); delete from queue_changes where number <= (select max(number) from queue_changes) - 20000; end;
CREATE TRIGGER queue_tag_added after insert on conversation_tags begin insert into queue_changes (organization_id, place)
       select organization_id, rowid from conversations where id = new.conversation_id; delete from queue_changes where number <= (select max(number) from queue_changes) - 20000; end;
CREATE TRIGGER queue_tag_removed after delete on conversation_tags begin insert into queue_changes (organization_id, place)
       select organization_id, rowid from conversations where id = old.conversation_id; delete from queue_changes where number <= (select max(number) from queue_changes) - 20000; end;
CREATE TRIGGER queue_reader_added after insert on participants when new.role <> 'visitor' and new.last_read_seq > 0 begin insert into queue_changes (organization_id, place)
       select organization_id, rowid from conversations where id = new.conversation_id; delete from queue_changes where number <= (select max(number) from queue_changes) - 20000; end;
CREATE TRIGGER queue_reader_moved after update of last_read_seq on participants when new.role <> 'visitor' begin insert into queue_changes (organization_id, place)
       select organization_id, rowid from conversations where id = new.conversation_id; delete from queue_changes where number <= (select max(number) from queue_changes) - 20000; end;
CREATE TRIGGER queue_reader_removed after delete on participants when old.role <> 'visitor' begin insert into queue_changes (organization_id, place)
       select organization_id, rowid from conversations where id = old.conversation_id; delete from queue_changes where number <= (select max(number) from queue_changes) - 20000; end;
CREATE TABLE "effects" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "kind" text not null, "key" text not null, "about" text not null, "conversation_id" text references "conversations" ("id") on delete cascade, "message_id" text, "member_id" text references "members" ("id") on delete cascade, "recipient" text, "payload" text not null, "sealed" blob, "state" text not null, "attempts" integer not null, "due_at" integer, "give_up_at" integer not null, "last_attempt_at" integer, "duration_ms" integer, "error" text, "created_at" integer not null, constraint "effects_once" unique ("organization_id", "kind", "key")) strict;
CREATE INDEX "effects_due" on "effects" ("kind", "organization_id", "due_at") where "state" = 'waiting';
CREATE INDEX "effects_by_organization" on "effects" ("organization_id", "created_at");
CREATE INDEX "effects_by_age" on "effects" ("created_at");
CREATE INDEX "effects_by_conversation" on "effects" ("conversation_id");
CREATE INDEX "effects_by_member" on "effects" ("member_id");
CREATE TABLE "push_devices" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "member_id" text not null references "members" ("id") on delete cascade, "session_id" text not null references "staff_sessions" ("id") on delete cascade, "endpoint_digest" blob not null unique, "sealed" blob not null, "host" text not null, "label" text not null, "locale" text not null, "key_id" text not null, "created_at" integer not null, "last_sent_at" integer, "problem" text) without rowid, strict;
CREATE INDEX "push_devices_by_member" on "push_devices" ("member_id", "created_at");
CREATE INDEX "push_devices_by_session" on "push_devices" ("session_id");
CREATE INDEX "push_devices_by_organization" on "push_devices" ("organization_id");
CREATE TABLE "password_resets" ("digest" blob primary key, "member_id" text not null references "members" ("id") on delete cascade, "created_at" integer not null, "expires_at" integer not null) without rowid, strict;
CREATE INDEX "password_resets_by_member" on "password_resets" ("member_id");
CREATE TABLE "files" ("id" text primary key, "organization_id" text not null references "organizations" ("id") on delete cascade, "uploader" text not null, "visitor_key" text references "visitors" ("id") on delete cascade, "message_id" text references "messages" ("id") on delete cascade, "object" text not null unique, "name" text not null, "type" text not null, "size" integer not null, "width" integer, "height" integer, "digest" text not null, "state" text not null, "idempotency_key" text, "created_at" integer not null);
CREATE INDEX "files_by_organization" on "files" ("organization_id", "id");
CREATE INDEX "files_by_visitor" on "files" ("visitor_key");
CREATE INDEX "files_by_message" on "files" ("message_id");
CREATE INDEX "files_unused" on "files" ("created_at") where "message_id" is null;
CREATE INDEX "files_to_scan" on "files" ("created_at") where "state" = 'scanning';
CREATE UNIQUE INDEX "files_once" on "files" ("uploader", "idempotency_key") where "idempotency_key" is not null;
CREATE TABLE "file_totals" ("organization_id" text primary key references "organizations" ("id") on delete cascade, "files" integer not null, "bytes" integer not null);
CREATE TABLE "file_removals" ("object" text primary key, "due_at" integer not null, "attempts" integer not null, "error" text);
CREATE INDEX "file_removals_by_due" on "file_removals" ("due_at");
CREATE TRIGGER file_added after insert on files begin insert into file_totals (organization_id, files, bytes) values (new.organization_id, 1, new.size)
         on conflict (organization_id) do update set files = file_totals.files + 1, bytes = file_totals.bytes + new.size; end;
CREATE TRIGGER file_removed after delete on files begin update file_totals set files = files - 1, bytes = bytes - old.size
         where organization_id = old.organization_id;
       insert into file_removals (object, due_at, attempts, error) values (old.object, 0, 0, null)
         on conflict (object) do update set due_at = 0; end;
CREATE TABLE "mail_addresses" ("organization_id" text not null references "organizations" ("id") on delete cascade, "digest" blob not null, "state" text not null, "created_at" integer not null, constraint "mail_addresses_pk" primary key ("organization_id", "digest")) without rowid, strict;
CREATE TABLE "mail_settings" ("organization_id" text primary key references "organizations" ("id") on delete cascade, "sealed" blob not null, "host" text not null, "address" text not null, "updated_at" integer not null) without rowid, strict;
CREATE TABLE "mail_keys" ("application_id" text primary key references "applications" ("id") on delete cascade, "organization_id" text not null references "organizations" ("id") on delete cascade, "digest" blob not null unique, "created_at" integer not null) without rowid, strict;
CREATE INDEX "mail_keys_by_organization" on "mail_keys" ("organization_id");
CREATE TABLE "messages" (
     number integer primary key, id text not null unique, conversation_id text not null, organization_id text not null,
     seq integer not null, changed_seq integer not null, sender_id text not null, sender_role text not null,
     sender_label text, content text not null, content_format text not null, content_html text, content_text text,
     internal integer not null, client_message_id text, created_at integer not null, edited_at integer,
     deleted_at integer, choices text, choice text, attachments text, via text, mail_id text, emailed text,
     emailed_at integer);
CREATE UNIQUE INDEX messages_by_client_id on messages (client_message_id, conversation_id, sender_id)
     where client_message_id is not null;
CREATE TABLE conversation_numbers (number integer primary key, conversation_id text not null unique);
CREATE TRIGGER conversation_numbered after insert on conversations begin
     insert into conversation_numbers (conversation_id) values (new.id);
   end;
CREATE TABLE message_places (
     conversation integer not null, seq integer not null, number integer not null,
     primary key (conversation, seq, number)) without rowid;
CREATE TABLE message_placing (id integer primary key check (id = 1), through integer not null);
insert into message_placing (id, through) values (1, 0);
CREATE VIEW ordered_messages as
     select m.id as id, n.conversation_id as conversation_id, m.organization_id as organization_id, p.seq as seq, m.changed_seq as changed_seq, m.sender_id as sender_id, m.sender_role as sender_role, m.sender_label as sender_label, m.content as content, m.content_format as content_format, m.content_html as content_html, m.content_text as content_text, m.internal as internal, m.client_message_id as client_message_id, m.created_at as created_at, m.edited_at as edited_at, m.deleted_at as deleted_at, m.choices as choices, m.choice as choice, m.attachments as attachments, m.via as via, m.mail_id as mail_id, m.emailed as emailed, m.emailed_at as emailed_at from conversation_numbers as n
       join message_places as p on p.conversation = n.number
       join messages as m on m.number = p.number
     union all
     select m.id as id, m.conversation_id as conversation_id, m.organization_id as organization_id, m.seq as seq, m.changed_seq as changed_seq, m.sender_id as sender_id, m.sender_role as sender_role, m.sender_label as sender_label, m.content as content, m.content_format as content_format, m.content_html as content_html, m.content_text as content_text, m.internal as internal, m.client_message_id as client_message_id, m.created_at as created_at, m.edited_at as edited_at, m.deleted_at as deleted_at, m.choices as choices, m.choice as choice, m.attachments as attachments, m.via as via, m.mail_id as mail_id, m.emailed as emailed, m.emailed_at as emailed_at from messages as m
       where m.number > (select through from message_placing);
CREATE TRIGGER message_removed after delete on messages begin
     delete from message_places
       where conversation = (select number from conversation_numbers where conversation_id = old.conversation_id)
         and seq = old.seq and number = old.number;
     update message_placing set through = (select coalesce(max(number), 0) from messages)
       where through > (select coalesce(max(number), 0) from messages);
   end;
CREATE TRIGGER messages_of_conversation_removed before delete on conversations begin
     delete from messages where number in (
       select p.number from message_places as p
         where p.conversation = (select number from conversation_numbers where conversation_id = old.id));
     delete from messages where number > (select through from message_placing) and conversation_id = old.id;
     delete from message_places
       where conversation = (select number from conversation_numbers where conversation_id = old.id);
     delete from conversation_numbers where conversation_id = old.id;
   end;
CREATE INDEX "webhook_deliveries_in_turn" on "webhook_deliveries" ("conversation_id", "webhook_id", "event_seq") where "status" = 'waiting' and "in_turn" = 1;
CREATE VIEW search_subjects_words (place, words) as
         select rowid, coalesce((
    with recursive at(i) as (select 1 union all select i + 1 from at where i < length(subject))
    select group_concat(substr(organization_id, -12) || 'x' || hex(substr(lower(subject), i, 3)), ' ') from at), '') from conversations where (subject is not null);
CREATE VIRTUAL TABLE search_subjects using fts5(
         words, content = 'search_subjects_words', content_rowid = 'place', detail = none, columnsize = 0, tokenize = 'ascii');
insert into search_subjects (search_subjects, rank) values ('secure-delete', 1);
CREATE VIRTUAL TABLE search_subjects_vocabulary using fts5vocab(search_subjects, instance);
CREATE TRIGGER search_subjects_added after insert on conversations when (new.subject is not null) begin insert into search_subjects (rowid, words) select place, words from search_subjects_words where place = new.rowid; end;
CREATE TRIGGER search_subjects_changing before update of subject, organization_id on conversations
         when (old.subject is not null) and (old.subject is not new.subject or old.organization_id is not new.organization_id) begin insert into search_subjects (search_subjects, rowid, words)
      select 'delete', place, words from search_subjects_words where place = old.rowid; end;
CREATE TRIGGER search_subjects_changed after update of subject, organization_id on conversations
         when (new.subject is not null) and (old.subject is not new.subject or old.organization_id is not new.organization_id) begin insert into search_subjects (rowid, words) select place, words from search_subjects_words where place = new.rowid; end;
CREATE TRIGGER search_subjects_removed before delete on conversations when (old.subject is not null) begin insert into search_subjects (search_subjects, rowid, words)
      select 'delete', place, words from search_subjects_words where place = old.rowid; end;
CREATE VIEW search_visitors_words (place, words) as
         select rowid, coalesce((
    with recursive at(i) as (select 1 union all select i + 1 from at where i < length(name))
    select group_concat(substr(organization_id, -12) || 'x' || hex(substr(lower(name), i, 3)), ' ') from at), '') || ' ' || coalesce((
    with recursive at(i) as (select 1 union all select i + 1 from at where i < length(email))
    select group_concat(substr(organization_id, -12) || 'x' || hex(substr(lower(email), i, 3)), ' ') from at), '') from visitors where (name is not null or email is not null);
CREATE VIRTUAL TABLE search_visitors using fts5(
         words, content = 'search_visitors_words', content_rowid = 'place', detail = none, columnsize = 0, tokenize = 'ascii');
insert into search_visitors (search_visitors, rank) values ('secure-delete', 1);
CREATE VIRTUAL TABLE search_visitors_vocabulary using fts5vocab(search_visitors, instance);
CREATE TRIGGER search_visitors_added after insert on visitors when (new.name is not null or new.email is not null) begin insert into search_visitors (rowid, words) select place, words from search_visitors_words where place = new.rowid; end;
CREATE TRIGGER search_visitors_changing before update of name, email, organization_id on visitors
         when (old.name is not null or old.email is not null) and (old.name is not new.name or old.email is not new.email or old.organization_id is not new.organization_id) begin insert into search_visitors (search_visitors, rowid, words)
      select 'delete', place, words from search_visitors_words where place = old.rowid; end;
CREATE TRIGGER search_visitors_changed after update of name, email, organization_id on visitors
         when (new.name is not null or new.email is not null) and (old.name is not new.name or old.email is not new.email or old.organization_id is not new.organization_id) begin insert into search_visitors (rowid, words) select place, words from search_visitors_words where place = new.rowid; end;
CREATE TRIGGER search_visitors_removed before delete on visitors when (old.name is not null or old.email is not null) begin insert into search_visitors (search_visitors, rowid, words)
      select 'delete', place, words from search_visitors_words where place = old.rowid; end;
CREATE TABLE message_events (
     seq integer primary key, number integer not null, messages integer not null, created_at integer not null) strict;
CREATE VIEW event_log as
     select seq, organization_id, conversation_id, mode, type, audience, actor_id, message_id, member_id, created_at
       from events
     union all
     select e.seq + m.number - e.number, m.organization_id, m.conversation_id, 'live', 'message:new', 'room', m.sender_id,
         m.id, null, m.created_at
       from message_events as e join messages as m on m.number between e.number and e.number + e.messages - 1;
CREATE INDEX messages_changed on messages (conversation_id, changed_seq, emailed_at)
     where changed_seq > seq or emailed_at is not null;
CREATE INDEX ai_log_by_visitor on ai_log (visitor_key, created_at, id);
CREATE INDEX audit_of_visitors on audit (subject, created_at, id)
     where substr(subject, 1, 8) = 'visitor:';
CREATE INDEX conversations_held on conversations (organization_id, assigned_to)
     where status = 'active';
CREATE INDEX members_disabled on members (id) where disabled_at is not null;
CREATE VIRTUAL TABLE search using fts5(words, tokenize = 'unicode61 remove_diacritics 2');
insert into search (search, rank) values ('automerge', 0);
insert into search (search, rank) values ('secure-delete', 1);
CREATE VIRTUAL TABLE search_vocabulary using fts5vocab(search, instance);
CREATE TRIGGER search_row_removed after delete on search_rows begin delete from search where rowid = old.id; end;
`;

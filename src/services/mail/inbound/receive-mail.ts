// Mails that come in: whichever way they came, they end in `receiveMail`. A token in the address decides the conversation,
// and nothing else of a mail does. What a stranger sends to it is a note for staff; what a program sends is dropped.
import { sizeLimits } from '../../../protocol/codes.ts';
import type { ApplicationRow, ConversationWithVisitor, FileRow, VisitorRow } from '../../../engine/rows.ts';
import { codePointBoundary, hasVisibleText, preview } from '../../../text/text.ts';
import { stripInvisible } from '../../../text/strip-invisible.ts';
import { appendMessage, type MessageContent } from '../../chat/append-message.ts';
import { blockHolds } from '../../auth/blocked.ts';
import { limitMail, limitMailSender, type MailSender } from '../../auth/rate-limits.ts';
import { openConversation } from '../../chat/conversations.ts';
import { prepareContent } from '../../content/content.ts';
import type { Inbox } from '../../core/config-cache.ts';
import { rateLimited, type ServiceError } from '../../core/errors.ts';
import type { OrganizationTable } from '../../core/organization-table.ts';
import { scopeOfConversation } from '../../core/scopes.ts';
import type { ReadTx, Service, Tx } from '../../service.ts';
import { readSettings } from '../../tenants/settings.ts';
import { headerText } from '../header-text.ts';
import { mailVisitorId } from '../mail-addresses.ts';
import { plusPart, readToken, roundTripHolds, tokenHolds, type ReadToken } from '../reply-token.ts';
import { findReportedMail, noteBounce, type ReportedMail } from './bounces.ts';
import { noteAstray } from './astray.ts';
import { keepFiles, namesOf, type KeptFiles } from './keep-files.ts';
import type { ParsedMail, StoredBytes } from './parsed-mail.ts';
import { readMail } from './read-mail.ts';
import { noteRoundTrip } from './round-trip.ts';

/** How a mail was handed over. */
export interface MailEnvelope {
  /** The return path; empty: a report; null: this way in does not know it. */
  readonly from: string | null;
  /** To whom; empty: the mail itself says. */
  readonly to: readonly string[];
  /** The application under whose key it was handed in; null: the address decides. */
  readonly application: { readonly id: string; readonly organizationId: string } | null;
}

/** What became of a mail. Only what is `taken` was stored; the rest must not come again either. */
export type MailOutcome =
  | { readonly state: 'taken'; readonly conversationId: string; readonly messageId: string }
  | { readonly state: 'bounce-noted'; readonly conversationId: string }
  | {
      readonly state: 'ignored';
      readonly why: string;
      /** A person sent it, and none of these addresses leads anywhere. */
      readonly astray?: readonly string[];
    };

/** Recipients beyond these are not looked at. */
const maxRecipients = 20;
/** Characters that the names of files take of a message at most. */
const maxNames = 2_000;
/** Stands where the text of a mail was cut. */
const cutMark = '…\n\n(The mail was longer: its end is missing.)';
const ignored = (why: string): MailOutcome & { state: 'ignored' } => ({ state: 'ignored', why });

/** Where a recipient's address leads. */
export type MailTarget =
  | { readonly kind: 'conversation'; readonly conversation: ConversationWithVisitor }
  | { readonly kind: 'report'; readonly reported: ReportedMail }
  /** Doctor's own: it concerns no organization. */
  | { readonly kind: 'round-trip'; readonly id: string }
  | { readonly kind: 'inbox'; readonly application: ApplicationRow };

/**
 * Where an address leads: to the conversation whose token it carries, to the mail whose return path it is, or to the
 * application whose inbox it is. One without a token is answered from memory.
 * @returns null: nowhere
 */
export async function findMailTarget(service: Service, address: string): Promise<MailTarget | null> {
  const token = tokenOf(address);
  return token === null
    ? inboxOf(await service.configCache.inboxes(), address)
    : service.engine.store.read((tx) => targetOfToken(tx, service, token));
}

const normalized = (address: string): string => address.trim().toLowerCase();

function tokenOf(address: string): ReadToken | null {
  const part = plusPart(normalized(address));
  return part === null ? null : readToken(part);
}

function inboxOf(inboxes: OrganizationTable<Inbox>, address: string): MailTarget | null {
  const inbox = inboxes.find(normalized(address));
  return inbox === undefined ? null : { kind: 'inbox', application: inbox.row };
}

async function targetOfToken(tx: ReadTx, service: Service, token: ReadToken): Promise<MailTarget | null> {
  const conversation = await tx.repositories.conversations.byId(token.id);
  if (conversation !== undefined)
    return tokenHolds(service, 'reply', token, conversation) ? { kind: 'conversation', conversation } : null;
  const reported = await findReportedMail(tx, service, token);
  if (reported !== null) return { kind: 'report', reported };
  return roundTripHolds(service, token) ? { kind: 'round-trip', id: token.id } : null;
}

/**
 * Takes a mail in. What it leads to is stored once, however often the mail comes. Acknowledge it after this resolves.
 * @param stored where it lies, as `withMail` has it
 * @throws MailRefusedError for one that can't be read; StoreUnavailableError, QueueFullError, ServiceError
 * rate_limit_exceeded, unavailable: it should come again
 */
export async function receiveMail(
  service: Service,
  stored: StoredBytes,
  envelope: MailEnvelope,
): Promise<MailOutcome> {
  const announced = await announcedScope(service, envelope);
  // Before it is read: one that can't be read takes the longest.
  if (announced !== null) await limitMail(service, announced.applicationId);
  const mail = await readMail(stored.path, announced?.organizationId ?? '');
  const inboxes = await service.configCache.inboxes();
  const targets = await service.engine.store.read((tx) =>
    chooseTargets(tx, service, inboxes, envelope, mail),
  );
  const { mails } = service.metrics;
  if (targets.length === 0) {
    if (mail.automatic) return ignored('a program sent it, and it is addressed to no one here');
    mails.astray += 1;
    await noteAstray(service);
    return { ...ignored('it is addressed to no conversation and to no inbox'), astray: mail.recipients };
  }
  let outcome: MailOutcome | null = null;
  for (const target of targets) {
    const one = await takeFor(service, target, mail, { envelope, announced });
    mails[one.state === 'bounce-noted' ? 'bounced' : one.state] += 1;
    if (outcome === null || outcome.state === 'ignored') outcome = one;
  }
  return outcome ?? ignored('it is addressed to no one here');
}

/** What a mail leads to in one conversation, or in one application. */
async function takeFor(
  service: Service,
  target: MailTarget,
  mail: ParsedMail,
  { envelope, announced }: { readonly envelope: MailEnvelope; readonly announced: Scope | null },
): Promise<MailOutcome> {
  if (target.kind === 'round-trip') return noteRoundTrip(service, target.id);
  if (target.kind === 'report')
    return mail.bounce
      ? noteBounce(service, target.reported)
      : ignored('it came where reports on a mail come, and is none of a failure');
  if (mail.bounce) return ignored('a report that does not prove which mail it is about');
  if (mail.automatic || envelope.from === '') return ignored('a program sent it');
  if (mail.from === null) return ignored('it names no sender');
  const { applicationId } = scopeOf(target);
  if (announced?.applicationId !== applicationId) await limitMail(service, applicationId);
  await limitMailSender(service, await senderOf(service, target, mail.from));
  return target.kind === 'conversation'
    ? answerConversation(service, target.conversation, mail, mail.key)
    : openByMail(service, target.application, mail, mail.from, mail.key);
}

interface Scope {
  readonly organizationId: string;
  readonly applicationId: string;
}

/** Whose a mail is, as far as it is known before it is read; null: only the mail says to whom it is. */
async function announcedScope(service: Service, { to, application }: MailEnvelope): Promise<Scope | null> {
  if (application !== null)
    return { organizationId: application.organizationId, applicationId: application.id };
  const [address] = to;
  if (address === undefined) return null;
  const target = await findMailTarget(service, address);
  return target === null ? null : scopeOf(target);
}

/** Whose a mail is that leads there. */
export function scopeOf(target: MailTarget): Scope {
  if (target.kind === 'inbox')
    return { organizationId: target.application.organization_id, applicationId: target.application.id };
  if (target.kind === 'round-trip') return { organizationId: '', applicationId: '' };
  const { conversation } = target.kind === 'report' ? target.reported : target;
  return { organizationId: conversation.organization_id, applicationId: conversation.application_id };
}

async function senderOf(
  service: Service,
  target: Extract<MailTarget, { kind: 'conversation' | 'inbox' }>,
  from: string,
): Promise<MailSender> {
  const { applicationId } = scopeOf(target);
  if (target.kind === 'conversation') return { applicationId, sender: target.conversation.id, known: true };
  const sender = mailVisitorId(service, applicationId, from);
  const visitor = await service.engine.store.read(({ repositories }) =>
    repositories.visitors.byVisitorId(applicationId, 'live', sender),
  );
  return { applicationId, sender, known: visitor !== undefined };
}

/**
 * Where a mail leads: to each conversation that it names, and to each inbox whose application has none of them. What comes
 * where reports come leads there alone.
 */
async function chooseTargets(
  tx: ReadTx,
  service: Service,
  inboxes: OrganizationTable<Inbox>,
  { to, application }: MailEnvelope,
  mail: ParsedMail,
): Promise<MailTarget[]> {
  const ofApplications = new Map<string, MailTarget>();
  const conversations = new Map<string, MailTarget>();
  for (const address of (to.length === 0 ? mail.recipients : to).slice(0, maxRecipients)) {
    const token = tokenOf(address);
    const target = token === null ? inboxOf(inboxes, address) : await targetOfToken(tx, service, token);
    if (target === null) continue;
    if (target.kind === 'round-trip') return [target];
    const { organizationId, applicationId } = scopeOf(target);
    // Under a key of one organization nothing is reached of another.
    if (application !== null && organizationId !== application.organizationId) continue;
    if (target.kind === 'report') return [target];
    if (target.kind === 'inbox') ofApplications.set(applicationId, target);
    else conversations.set(target.conversation.id, target);
  }
  for (const target of conversations.values()) ofApplications.delete(scopeOf(target).applicationId);
  const targets = [...conversations.values(), ...ofApplications.values()];
  if (targets.length > 0 || application === null) return targets;
  const row = await tx.repositories.applications.byId(application.id);
  return row !== undefined && readSettings(row).email.mode === 'inbox'
    ? [{ kind: 'inbox', application: row }]
    : [];
}

function visitorOf(tx: ReadTx, row: ConversationWithVisitor): Promise<VisitorRow | undefined> {
  return tx.repositories.visitors.byVisitorId(row.application_id, row.mode, row.visitor_id);
}

/** A mail under a conversation's token. Its files are kept first: while one of them waits, nothing of the mail is shown. */
async function answerConversation(
  service: Service,
  conversation: ConversationWithVisitor,
  mail: ParsedMail,
  key: string,
): Promise<MailOutcome> {
  const { store } = service.engine;
  const sender = await store.read((tx) => visitorOf(tx, conversation));
  const kept =
    sender !== undefined && isOwn(sender, mail) ? await keepFiles(service, sender, mail, key) : noFiles;
  const begun = await store.read(async (tx) => {
    const now = await tx.repositories.conversations.byId(conversation.id);
    const visitor = now === undefined ? undefined : await visitorOf(tx, now);
    if (now === undefined || visitor === undefined) return ignored('the conversation is not there any more');
    if (!isOwn(visitor, mail)) return { note: now };
    if (await isVisitorBlocked(tx, service, now)) return ignored('the visitor is blocked');
    return { visitor, conversation: now };
  });
  if ('state' in begun) return begun;
  if ('note' in begun) return writeNote(service, begun.note, mail, key);
  return writeMessage(service, begun, kept, mail, key);
}

const noFiles: KeptFiles = { files: [], refused: [] };

const isOwn = ({ email }: VisitorRow, { from }: ParsedMail): boolean =>
  email !== null && email.toLowerCase() === from;

/** The conversation that a mail opens, however often it comes; `most` of its sender may wait. */
async function openOnce(
  tx: Tx,
  service: Service,
  visitor: VisitorRow,
  opened: {
    readonly key: string;
    readonly most: number;
    readonly subject: string | null;
    /** The closed conversation that it goes on with. */
    readonly continues: string | null;
  },
): Promise<{ visitor: VisitorRow; conversation: ConversationWithVisitor } | MailOutcome> {
  const { key, most, subject, continues } = opened;
  const { conversations } = tx.repositories;
  const earlier = await conversations.byIdempotencyKey(visitor.id, key);
  if (earlier === undefined && (await conversations.countPending(visitor.id)) >= most)
    throw tooManyWait(most);
  const id =
    earlier ??
    (
      await openConversation(tx, service, visitor, {
        subject,
        idempotencyKey: key,
        channel: 'email',
        continues,
      })
    ).id;
  const conversation = await conversations.byId(id);
  return conversation === undefined
    ? ignored('the conversation is not there any more')
    : { visitor, conversation };
}

async function isVisitorBlocked(
  tx: ReadTx,
  service: Service,
  { application_id, mode, visitor_id }: Pick<VisitorRow, 'application_id' | 'mode' | 'visitor_id'>,
): Promise<boolean> {
  const block = await tx.repositories.blocks.ofVisitor(application_id, mode, visitor_id);
  return blockHolds(block?.expires_at, service.engine.clock.now());
}

/** What came from an address that is not the visitor's: for staff to see, and never the visitor's words. */
function writeNote(
  service: Service,
  conversation: ConversationWithVisitor,
  mail: ParsedMail,
  key: string,
): Promise<MailOutcome> {
  const from = headerText(mail.from ?? '');
  const content = plainContent(
    bodyOf(mail, namesOf(mail.files), { above: `From another address (${from}):\n\n` }),
  );
  return service.engine.store.write(scopeOfConversation(conversation), async (tx) => {
    const sender = {
      id: conversation.application_id,
      role: 'system',
      label: 'E-mail',
      memberName: null,
    } as const;
    const { message } = await appendMessage(tx, service, conversation, sender, content, {
      internal: true,
      clientMessageId: key,
      mail: { id: mail.messageId },
    });
    return { state: 'taken', conversationId: conversation.id, messageId: message.id };
  });
}

async function writeMessage(
  service: Service,
  { conversation, visitor }: { readonly conversation: ConversationWithVisitor; readonly visitor: VisitorRow },
  { files, refused }: KeptFiles,
  mail: ParsedMail,
  key: string,
): Promise<MailOutcome> {
  const content = plainContent(bodyOf(mail, refused, { files }));
  return service.engine.store.write({ organization: conversation.organization_id }, async (tx) => {
    const open = await openFor(tx, service, visitor, conversation.id, key);
    if ('state' in open) return open;
    const now = open.conversation;
    const unsent: FileRow[] = [];
    for (const { id } of files) {
      const row = await tx.repositories.files.byId(id);
      if (row?.message_id === null) unsent.push(row);
    }
    const sender = { id: visitor.visitor_id, role: 'visitor', label: null, memberName: null } as const;
    const { message } = await appendMessage(tx, service, now, sender, content, {
      clientMessageId: key,
      mail: { id: mail.messageId },
      files: unsent,
    });
    return { state: 'taken', conversationId: now.id, messageId: message.id };
  });
}

/**
 * The conversation that a mail is written to, in the transaction that writes it: a closed one stays closed, and what is
 * written to it opens another that names it.
 */
async function openFor(
  tx: Tx,
  service: Service,
  visitor: VisitorRow,
  conversationId: string,
  key: string,
): Promise<{ conversation: ConversationWithVisitor } | MailOutcome> {
  const { conversations, messages } = tx.repositories;
  const now = await conversations.byId(conversationId);
  if (now === undefined) return ignored('the conversation is not there any more');
  if (now.status !== 'closed') return { conversation: now };
  // A mail that came before, while the conversation was open still.
  if ((await messages.byClientId(now.id, now.visitor_id, key)) !== undefined) return { conversation: now };
  return openOnce(tx, service, visitor, {
    // The mail itself may have opened the closed one, which has its key.
    key: now.idempotency_key === key ? `${key}:${now.id}` : key,
    most: service.settings.maxPendingPerVisitor,
    subject: now.subject,
    continues: now.id,
  });
}

/** A mail to an application's inbox. The same address is the same visitor, and no one whom a page has named. */
async function openByMail(
  service: Service,
  application: ApplicationRow,
  mail: ParsedMail,
  from: string,
  key: string,
): Promise<MailOutcome> {
  const { store } = service.engine;
  const scope = { organization: application.organization_id };
  let kept = noFiles;
  if (mail.files.length > 0) {
    const sender = await store.write(scope, async (tx) => {
      const visitor = await visitorByAddress(tx, service, application, mail, from);
      return (await isVisitorBlocked(tx, service, visitor)) ? null : visitor;
    });
    if (sender === null) return ignored('the visitor is blocked');
    kept = await keepFiles(service, sender, mail, key);
  }
  const begun = await store.write(scope, async (tx) => {
    const visitor = await visitorByAddress(tx, service, application, mail, from);
    if (await isVisitorBlocked(tx, service, visitor)) return ignored('the visitor is blocked');
    const most = Math.min(service.settings.maxPendingPerVisitor, maxPendingByMail);
    return openOnce(tx, service, visitor, { key, most, subject: subjectOf(mail), continues: null });
  });
  return 'state' in begun ? begun : writeMessage(service, begun, kept, mail, key);
}

/** The mail stays with its sender, and comes again: it may be another's who goes by the same address. */
const tooManyWait = (most: number): ServiceError =>
  rateLimited(
    'per_visitor',
    [],
    { limit: most, windowMs: 60_000 },
    60_000,
    `${most} conversations of this sender wait already`,
  );

/** Conversations of one address that may wait: an address costs its sender nothing. */
const maxPendingByMail = 10;

function subjectOf({ subject }: ParsedMail): string | null {
  const line = headerText(subject).slice(0, sizeLimits.subject).toWellFormed().trim();
  return line === '' ? null : line;
}

async function visitorByAddress(
  tx: Tx,
  service: Service,
  application: ApplicationRow,
  { fromName }: ParsedMail,
  from: string,
): Promise<VisitorRow> {
  const visitorId = mailVisitorId(service, application.id, from);
  const found = await tx.repositories.visitors.byVisitorId(application.id, 'live', visitorId);
  if (found !== undefined) return found;
  const name = headerText(fromName).slice(0, 100).toWellFormed().trim();
  const row: VisitorRow = {
    id: service.engine.clock.newId(),
    visitor_id: visitorId,
    organization_id: application.organization_id,
    application_id: application.id,
    mode: 'live',
    name: name === '' ? null : name,
    email: from.slice(0, 254),
    verified: 0,
    verified_fields: '',
    attributes: '{}',
    created_at: service.engine.clock.now(),
    address_digest: null,
  };
  await tx.repositories.visitors.insert(row);
  return row;
}

/**
 * What a mail says: its text, else its subject; and the names of files that are not with it. A text that is longer than a
 * message is cut and says so; what stands around it stays.
 */
function bodyOf(
  mail: ParsedMail,
  missing: readonly string[],
  { files = [], above = '' }: { readonly files?: readonly FileRow[]; readonly above?: string } = {},
): string {
  const text = stripInvisible(mail.text).trim();
  const said = hasVisibleText(text)
    ? text
    : files.length > 0
      ? namesOf(files).join(', ')
      : headerText(mail.subject);
  const names = missing.length === 0 ? '' : `\n\n[${preview(missing.join(', '), maxNames)}]`;
  const room = sizeLimits.contentRest - above.length - names.length;
  if (said.length <= room) return `${above}${said}${names}`.trim();
  const end = codePointBoundary(said, Math.max(0, room - cutMark.length));
  return `${above}${said.slice(0, end).trimEnd()}${cutMark}${names}`;
}

/** A text as a message; one that shows nothing is said to be empty. */
function plainContent(text: string): MessageContent {
  for (const candidate of [text.slice(0, sizeLimits.contentRest).toWellFormed(), '(empty)']) {
    const prepared = prepareContent(candidate.replaceAll('\0', ''), 'plain', sizeLimits.contentRest);
    if (prepared.ok)
      return {
        content: prepared.value.content,
        content_format: 'plain',
        content_html: null,
        content_text: null,
      };
  }
  throw new Error('The mail has nothing to say.');
}

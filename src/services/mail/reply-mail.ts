// Mails with staff's answers to visitors who have left: sent after a while if an answer is still unread, and all that is
// unread in one mail. Nothing that the visitor wrote is quoted: who typed an address need not own it.
import type { ConversationWithVisitor, EffectRow, FileRow, MessageWithSender } from '../../engine/rows.ts';
import { z } from 'zod';
import type { EmailedState } from '../../protocol/entities.ts';
import { conversationEvent } from '../chat/conversation-events.ts';
import { scopeOfConversation } from '../core/scopes.ts';
import { senderName } from '../core/serializers.ts';
import { isSentAgain, storeEffect, type EffectOutcome } from '../outbox/effects.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { headerText } from './header-text.ts';
import { type CoveredConversations, replyDelayMs, replyEffect } from './reply-planner.ts';
import { isOwnAddress, readMailFacts, whyNotMailed, type MailFacts } from './mail-facts.ts';
import { markAddress, refusesMail } from './mail-addresses.ts';
import { automaticHeaders, type ComposedMail, type MailComposer } from './mail-effects.ts';
import { fileNames, mailAttachments } from './mail-files.ts';
import {
  mailHtml,
  mailText,
  makeMessage,
  storedHtmlToText,
  type MailPage,
  type ShownMessage,
} from './mail-html.ts';
import { mailLimits, takeMailLimits, type MailLimit } from './mail-limits.ts';
import { domainOf, receivesMail, senderAddress, type MailRoute } from './mail-server.ts';
import { mailWords, type MailWords } from './mail-words.ts';
import { makeReportToken, makeToken, replyAddress } from './reply-token.ts';

/** Messages in one mail; what is beyond goes in the next. */
const maxMessages = 50;
const conversationWindow = { limit: 1, windowMs: 600_000 };
/** Our earlier mails of a conversation that a mail refers to, so that programs show them together. */
const maxReferences = 10;

/** What a row keeps once it is about to be sent: every attempt sends these messages, under the same Message-ID. */
const claim = z.object({ messages: z.array(z.string()).optional() });

/** The messages that a mail of the outbox carries; empty before it is about to be sent. */
export function claimedMessages({ payload }: Pick<EffectRow, 'payload'>): readonly string[] {
  return claim.parse(JSON.parse(payload)).messages ?? [];
}

/** The messages of a mail that is about to be sent. */
interface Claimed {
  readonly facts: MailFacts;
  readonly address: string;
  readonly ids: readonly string[];
  readonly messages: readonly MessageWithSender[];
  /** What the visitor wrote last: for its language, and to answer under it. */
  readonly lastOfVisitor: MessageWithSender | undefined;
  /** Ids of our earlier mails, oldest first. */
  readonly earlier: readonly string[];
  /** What the member whose answer is the last stands by their name with; empty: nothing. */
  readonly ownSignature: string;
}

/** Composes the mails of answers. */
export function createReplyComposer(service: Service, covered: CoveredConversations): MailComposer {
  return async (row, route) => {
    const conversationId = row.conversation_id ?? '';
    covered.open(conversationId);
    const chosen = await chooseMessages(service, row);
    // Until it is stored that this row has nothing to send, it seems to wait for what is written now.
    if ('state' in chosen && chosen.state === 'skipped') return withRest(service, row, chosen);
    covered.close(conversationId);
    return 'state' in chosen ? chosen : composeReply(service, row, route, chosen);
  };
}

async function chooseMessages(service: Service, row: EffectRow): Promise<Claimed | EffectOutcome> {
  return (await checkLimits(service, row)) ?? claimMessages(service, row);
}

/** A row that ends without a mail: what was written while it seemed to wait gets one. */
function withRest(service: Service, row: EffectRow, outcome: EffectOutcome): EffectOutcome {
  const { organization_id: organization, conversation_id: id } = row;
  if (id === null) return outcome;
  return {
    ...outcome,
    also: {
      scope: { organization, part: `conversation:${id}` },
      work: (tx) => planRest(tx, service, row),
    },
  };
}

/**
 * Plans a mail for what is unread in the conversation of a row that has ended or chosen, and is in none. Those who write
 * there wait for this transaction, or find in the next that the row takes nothing along any more.
 */
async function planRest(tx: Tx, service: Service, row: EffectRow): Promise<void> {
  const facts = row.conversation_id === null ? null : await readMailFacts(tx, row.conversation_id);
  if (facts === null || facts.address === null) return;
  const [first] = (await unmailedAnswers(tx, facts.conversation)).filter(({ id }) => id !== row.message_id);
  if (first !== undefined) await storeEffect(tx, service, replyEffect(facts, first));
}

const skipped = (why: string): EffectOutcome => ({ state: 'skipped', why });
const wasRead = 'it was read before the mail went';

/** What is counted before the first attempt, and before the first of each sending once more. @returns null: it may go */
async function checkLimits(service: Service, row: EffectRow): Promise<EffectOutcome | null> {
  const { store } = service.engine;
  if (claim.parse(JSON.parse(row.payload)).messages !== undefined && !isSentAgain(row)) return null;
  // Asked first, so that what has nothing to send uses nothing up.
  const state = await store.read(async (tx) => {
    const selected = await selectMessages(tx, service, row);
    return 'state' in selected ? selected : mailLimits(tx, service, row.organization_id, selected.address);
  });
  if ('state' in state) return state;
  const limits: readonly MailLimit[] = [
    {
      check: { key: `mail:conversation:${row.conversation_id}`, windows: [conversationWindow] },
      cause: 'per_visitor',
      why: 'one mail of a conversation goes in ten minutes',
    },
    ...state,
  ];
  return takeMailLimits(service, limits);
}

type Selected = Omit<Claimed, 'lastOfVisitor' | 'earlier' | 'ownSignature'>;

/** What is unread and goes by no other mail. */
async function selectMessages(
  tx: ReadTx,
  service: Service,
  row: EffectRow,
): Promise<Selected | EffectOutcome> {
  const facts = row.conversation_id === null ? null : await readMailFacts(tx, row.conversation_id);
  if (facts === null) return skipped('the conversation is not there any more');
  const { conversation, address } = facts;
  if (address === null) return skipped('the visitor has no address');
  const why = whyNotMailed(facts);
  if (why !== null) return skipped(why);
  const refused = await refusesMail(tx, service, conversation.organization_id, address);
  if (refused !== null) return skipped(refused);
  const earlier = claim.parse(JSON.parse(row.payload)).messages;
  if (earlier !== undefined) {
    const messages = await unreadOf(tx, conversation, earlier);
    return messages.length === 0 ? skipped(wasRead) : { facts, address, ids: earlier, messages };
  }
  const messages = await unmailedAnswers(tx, conversation);
  const [next] = messages;
  const isUnread = (await unreadOf(tx, conversation, [row.message_id ?? ''])).length > 0;
  if (next === undefined) return skipped(isUnread ? 'an earlier mail took it along' : wasRead);
  if (!isUnread) {
    // What came later has a while of its own.
    const at = next.created_at + replyDelayMs(facts);
    if (at > service.engine.clock.now()) return { state: 'later', at, why: 'the first answer was read' };
  }
  return { facts, address, ids: messages.map(({ id }) => id), messages };
}

/** How far the visitor has read. */
async function readUpTo(
  { repositories: { participants } }: ReadTx,
  { id, visitor_id: visitor }: ConversationWithVisitor,
): Promise<number> {
  return (await participants.get(id, visitor))?.last_read_seq ?? 0;
}

/** What staff have written since the visitor last read and no mail carries, as much as one mail holds. */
async function unmailedAnswers(
  tx: ReadTx,
  conversation: ConversationWithVisitor,
): Promise<readonly MessageWithSender[]> {
  const seq = await readUpTo(tx, conversation);
  return tx.repositories.messages.unmailedAnswers(conversation.id, seq, maxMessages);
}

/** Those of these answers that are still there and the visitor has not read. */
async function unreadOf(
  tx: ReadTx,
  conversation: ConversationWithVisitor,
  ids: readonly string[],
): Promise<readonly MessageWithSender[]> {
  const seq = await readUpTo(tx, conversation);
  const unread: MessageWithSender[] = [];
  for (const id of ids) {
    const message = await tx.repositories.messages.byId(id);
    if (message !== undefined && message.deleted_at === null && message.seq > seq) unread.push(message);
  }
  return unread;
}

/** Marks what the mail carries, so that no other mail carries it too and every attempt carries the same. */
function claimMessages(service: Service, row: EffectRow): Promise<Claimed | EffectOutcome> {
  const scope = { organization: row.organization_id, part: `conversation:${row.conversation_id}` } as const;
  return service.engine.store.write(scope, async (tx) => {
    const selected = await selectMessages(tx, service, row);
    if ('state' in selected) return selected;
    const { facts, address, ids } = selected;
    const { effects, members, messages } = tx.repositories;
    if ((await effects.setClaim(row.id, JSON.stringify({ messages: ids }), address)) === 0)
      return skipped('it was withdrawn');
    for (const message of selected.messages)
      if (message.emailed === null) await setEmailed(tx, service, facts.conversation, message.id, 'queued');
    // More than one mail holds.
    await planRest(tx, service, row);
    const recent = await messages.page({
      conversationId: facts.conversation.id,
      notes: false,
      order: 'desc',
      limit: 100,
      offset: 0,
    });
    return {
      ...selected,
      lastOfVisitor: recent.find(({ sender_role: role }) => role === 'visitor'),
      earlier: recent
        .filter((one) => one.emailed !== null && !ids.includes(one.id))
        .map(({ id }) => id)
        .toReversed(),
      ownSignature: (await members.byId(selected.messages.at(-1)?.sender_id ?? ''))?.signature ?? '',
    };
  });
}

/** Records how the mail of a message stands, and tells staff in its room. */
export async function setEmailed(
  tx: Tx,
  { engine: { clock } }: Service,
  conversation: ConversationWithVisitor,
  messageId: string,
  state: EmailedState,
): Promise<void> {
  if ((await tx.repositories.messages.setEmailed(messageId, state, clock.now())) === 0) return;
  await tx.emit({
    ...conversationEvent(conversation, conversation.application_id),
    type: 'message:emailed',
    audience: 'room_staff',
    message_id: messageId,
    payload: { conversationId: conversation.id, messageId, state },
  });
}

/** The Message-ID of the mail that begins with this message: each goes in one mail only, so every attempt has the same. */
export function messageIdOf(id: string, domain: string): string {
  return `m.${id}@${domain}`;
}

async function composeReply(
  service: Service,
  row: EffectRow,
  route: MailRoute,
  { facts, address, ids, messages, lastOfVisitor, earlier, ownSignature }: Claimed,
): Promise<ComposedMail> {
  const { conversation, settings, applicationName } = facts;
  const team = headerText(settings.email.fromName ?? applicationName);
  const { words, language } = mailWords(
    settings.locale,
    lastOfVisitor?.content_text ?? lastOfVisitor?.content ?? '',
  );
  const answers = await receivesMail(service, conversation.organization_id);
  const files = await service.engine.store.read((tx) => fileNames(tx, messages));
  const stopUrl = stopAddress(service, conversation, address);
  const page: MailPage = {
    language,
    words,
    answers,
    messages: messages.map((message) =>
      makeMessage(shownMessage(message, files.get(message.id) ?? [], { words, team }), { language, words }),
    ),
    signature: [ownSignature, settings.email.signature].filter(Boolean).join('\n\n') || null,
    reason: conversation.channel === 'email' ? null : words.reason(team),
    stopUrl,
  };
  const domain = domainOf(route.address);
  const replyTo = replyAddress(route.address, makeToken(service, 'reply', conversation));
  const references = earlier.map((id) => messageIdOf(id, domain)).slice(-maxReferences);
  const mailOfVisitor = lastOfVisitor?.mail_id ?? null;
  const record = (state: EmailedState) => ({
    scope: scopeOfConversation(conversation),
    work: async (tx: Tx): Promise<void> => {
      for (const { id } of messages) await setEmailed(tx, service, conversation, id, state);
      await planRest(tx, service, row);
    },
  });
  const bounced = record('bounced');
  return {
    mail: {
      from: { name: team, address: senderAddress(route, settings) },
      to: address,
      ...(answers
        ? { replyTo: { name: team, address: replyTo }, returnPath: returnPath(service, row, route, address) }
        : {}),
      subject: subjectOf(conversation, isOwnAddress(service, facts), words.subject(team)),
      text: mailText(page),
      html: mailHtml(page),
      attachments: await mailAttachments(service, [...files.values()].flat()),
      messageId: messageIdOf(ids[0] ?? '', domain),
      ...(mailOfVisitor === null ? {} : { inReplyTo: mailOfVisitor }),
      references: [...references, ...(mailOfVisitor === null ? [] : [mailOfVisitor])],
      headers: { ...automaticHeaders, ...unsubscribeHeaders(stopUrl) },
    },
    onDelivered: record('sent'),
    onFailed: bounced,
    onAddressRefused: {
      scope: { organization: conversation.organization_id },
      work: async (tx) => {
        await markAddress(tx, service, conversation.organization_id, address, 'bounced');
        await bounced.work(tx);
      },
    },
  };
}

/** Where reports on a mail go: an address that proves which mail they are about, and to whom it went. */
export function returnPath(service: Service, row: EffectRow, route: MailRoute, recipient: string): string {
  return replyAddress(route.address, makeReportToken(service, row, recipient));
}

/** An address that was not proven may be a stranger's: a subject that the visitor chose does not go there. */
function subjectOf({ subject }: ConversationWithVisitor, ownAddress: boolean, fallback: string): string {
  if (subject === null || !ownAddress) return fallback;
  const line = headerText(subject);
  return line === '' ? fallback : /^re:/i.test(line) ? line : `Re: ${line}`;
}

/** Where the reader at an address says that no more mails should come; null while the service does not know its address. */
export function stopAddress(
  service: Service,
  conversation: ConversationWithVisitor,
  address: string,
): string | null {
  const base = service.settings.baseUrl();
  return base === null ? null : `${base}/mail/stop/${makeToken(service, 'stop', conversation, address)}`;
}

/** A mail program may ask for no more mails by one request (RFC 8058). */
export function unsubscribeHeaders(stopUrl: string | null): Record<string, string> {
  return stopUrl === null
    ? {}
    : {
        'List-Unsubscribe': `<${stopUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      };
}

/** A message as a mail shows it. @param team stands for a member who is not there any more */
export function shownMessage(
  message: MessageWithSender,
  files: readonly Pick<FileRow, 'name'>[],
  { words, team }: { readonly words: MailWords; readonly team: string },
): ShownMessage {
  return {
    name: headerText(nameInMail(message, words, team)),
    text: message.content_html === null ? message.content : storedHtmlToText(message.content_html),
    html: message.content_html,
    files: files.map(({ name }) => headerText(name)),
  };
}

/** The sender's name, and in the language of the mail what stands for none. */
function nameInMail(message: MessageWithSender, { visitor }: MailWords, team: string): string {
  switch (message.sender_role) {
    case 'visitor':
      return message.visitor_name ?? visitor;
    case 'operator':
      return message.member_name ?? team;
    case 'assistant':
    case 'system':
      return senderName(message);
  }
}

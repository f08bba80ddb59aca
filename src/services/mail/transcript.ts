// A conversation as a mail: what visitor and staff wrote, without notes. A visitor gets it at their own address only.
import type { EffectRow, MessageWithSender } from '../../engine/rows.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { accessConversation } from '../core/access.ts';
import type { MemberActor, VisitorActor } from '../core/actor.ts';
import { rateLimited, ServiceError } from '../core/errors.ts';
import { addEffect, isSentAgain, noteCounted, type EffectOutcome } from '../outbox/effects.ts';
import { readSlice } from '../core/slices.ts';
import type { MemberCall, ParticipantCall, Reader, ReadTx, Service, Tx } from '../service.ts';
import { headerText } from './header-text.ts';
import { refusesMail } from './mail-addresses.ts';
import { automaticHeaders, type MailComposer } from './mail-effects.ts';
import { fileNames } from './mail-files.ts';
import { mailHtml, mailText, makeMessage, type MadeMessage, type MailPage } from './mail-html.ts';
import { domainOf, mailRoute, noMailServer, receivesMail, senderAddress } from './mail-server.ts';
import { isOwnAddress, readMailFacts, whyNotMailed, type MailFacts } from './mail-facts.ts';
import { mailLimits, takeMailLimits, type MailLimit } from './mail-limits.ts';
import { mailWords } from './mail-words.ts';
import { returnPath, shownMessage, stopAddress, unsubscribeHeaders } from './reply-mail.ts';
import { makeToken, replyAddress } from './reply-token.ts';

/** Messages of a transcript; of a longer conversation the newest. */
const maxMessages = 500;
/** UTF-16 units of a transcript, text and HTML together, from which on it takes no more: few servers take larger mails. */
const manyUnits = 2 * 1_048_576;
/** Messages that are read at once: each may be some 50 KB, and others are served in between. */
const readAtOnce = 10;
const window = { limit: 5, windowMs: 3_600_000 };

/**
 * Counts a transcript against its conversation, and as every mail against its address and organization. One that is
 * refused counts nowhere.
 * @returns the address that it was counted against
 * @throws ServiceError not_found, conflict, rate_limit_exceeded
 */
export async function countTranscript(
  { actor, ...reader }: ParticipantCall,
  { conversationId }: { conversationId: string },
): Promise<string> {
  const { service } = reader;
  const facts = await service.engine.store.read((tx) => findFacts(tx, service, actor, conversationId));
  const withVisitors = isOwnAddress(service, facts);
  const isShown = (message: MessageWithSender): boolean => withVisitors || !isVisitors(message);
  if ((await findNewest(reader, facts.conversation, isShown)) === undefined)
    throw refusal('there is nothing in it that may go to this address');
  const { address } = facts;
  const limits = await service.engine.store.read((tx) => transcriptLimits(tx, service, facts));
  const verdict = await service.engine.limiter.take(limits.map(({ check }) => check));
  if (verdict.ok) return address;
  const reached = limits[verdict.failed];
  throw rateLimited(
    reached?.cause ?? 'per_visitor',
    reached?.check.windows ?? [window],
    verdict.window,
    verdict.retryAfterMs,
    'Too many mails',
  );
}

/** What a transcript counts against. */
async function transcriptLimits(
  tx: ReadTx,
  service: Service,
  { conversation, address }: AddressedFacts,
): Promise<readonly MailLimit[]> {
  return [
    {
      check: { key: `transcript:${conversation.id}`, windows: [window] },
      cause: 'per_visitor',
      why: `${window.limit} transcripts of a conversation go in an hour`,
    },
    ...(await mailLimits(tx, service, conversation.organization_id, address)),
  ];
}

/**
 * Has a conversation sent to its visitor. What a visitor wrote goes to an address that was proven only: who typed one
 * need not own it.
 * @param counted the address that it was counted against
 * @throws ServiceError not_found, conflict
 */
export async function requestTranscript(
  tx: Tx,
  { service, actor }: ParticipantCall,
  { conversationId }: Input<'conversations.transcript'>,
  counted: string,
): Promise<{ success: true }> {
  const { conversation, address } = await findFacts(tx, service, actor, conversationId);
  if (address !== counted) throw new ServiceError('conflict', 'The address was changed just now: ask again.');
  await addEffect(tx, service, {
    kind: 'mail',
    key: `transcript:${service.engine.clock.newId()}`,
    about: 'transcript',
    organizationId: conversation.organization_id,
    conversationId,
    recipient: address,
    retryForMs: 3_600_000,
  });
  return { success: true };
}

type FilesOfMessages = Awaited<ReturnType<typeof fileNames>>;
type AddressedFacts = MailFacts & { readonly address: string };

const refusal = (why: string): ServiceError => new ServiceError('conflict', `It can't be sent: ${why}.`);

/** What a transcript that may be sent depends on. @throws ServiceError not_found, conflict */
async function findFacts(
  tx: ReadTx,
  service: Service,
  actor: VisitorActor | MemberActor,
  conversationId: string,
): Promise<AddressedFacts> {
  const { organization_id: organizationId } = await accessConversation(tx, actor, conversationId);
  const facts = await readMailFacts(tx, conversationId);
  if (facts === null || facts.address === null)
    throw new ServiceError('conflict', 'The visitor has no e-mail address: give one first.');
  const { address, addressVerified } = facts;
  if ((await mailRoute(service, tx, organizationId)) === null) throw refusal(noMailServer);
  const why = whyNotMailed(facts, actor.kind === 'visitor' && addressVerified);
  if (why !== null) throw refusal(why);
  if ((await refusesMail(tx, service, organizationId, address)) !== null)
    throw new ServiceError('conflict', 'This address takes no mails.');
  return { ...facts, address };
}

const isVisitors = ({ sender_role: role }: MessageWithSender): boolean => role === 'visitor';

/**
 * Goes through the newest messages of a conversation, the newest first, in slices.
 * @param look is given some of them with the files of each, and says whether it wants more
 */
async function eachNewest(
  reader: Reader,
  { id: conversationId, organization_id: organizationId }: MailFacts['conversation'],
  most: number,
  look: (messages: readonly MessageWithSender[], files: FilesOfMessages) => boolean,
): Promise<void> {
  let looked = 0;
  let beforeSeq: number | undefined;
  const lookAtSome = async (tx: ReadTx): Promise<boolean> => {
    const limit = Math.min(readAtOnce, most - looked);
    const some = await tx.repositories.messages.page({
      conversationId,
      notes: false,
      order: 'desc',
      beforeSeq,
      limit,
      offset: 0,
    });
    const files = await fileNames(tx, some);
    looked += some.length;
    beforeSeq = some.at(-1)?.seq;
    return look(some, files) && some.length === limit && looked < most;
  };
  let wantsMore = true;
  while (wantsMore)
    wantsMore = await readSlice(reader, organizationId, async (tx, full) => {
      while (await lookAtSome(tx)) if (full(readAtOnce)) return true;
      return false;
    });
}

/** The newest message of a kind among those that a transcript may have. */
async function findNewest(
  reader: Reader,
  conversation: MailFacts['conversation'],
  isWanted: (message: MessageWithSender) => boolean,
): Promise<MessageWithSender | undefined> {
  let found: MessageWithSender | undefined;
  await eachNewest(reader, conversation, maxMessages, (messages) => {
    found = messages.find(isWanted);
    return found === undefined;
  });
  return found;
}

/** A conversation as text and HTML. @throws ServiceError not_found */
export async function getTranscript(
  { actor, ...reader }: MemberCall,
  { conversationId }: Input<'staff.conversations.transcript'>,
): Promise<Output<'staff.conversations.transcript'>> {
  const facts = await reader.service.engine.store.read(async (tx) => {
    await accessConversation(tx, actor, conversationId);
    return readMailFacts(tx, conversationId);
  });
  if (facts === null) throw new ServiceError('not_found', 'No such conversation.');
  const { page, subject } = await readPage(reader, facts, { withVisitors: true, answers: false });
  return { subject, text: mailText(page), html: mailHtml(page) };
}

interface PageOptions {
  /** Whether the visitor's own messages are in it. */
  readonly withVisitors: boolean;
  readonly answers: boolean;
}

async function readPage(
  reader: Reader,
  { conversation, settings, applicationName, address }: MailFacts,
  { withVisitors, answers }: PageOptions,
): Promise<{ page: MailPage; subject: string; team: string }> {
  const { service } = reader;
  const last = await findNewest(reader, conversation, isVisitors);
  const team = headerText(settings.email.fromName ?? applicationName);
  const { words, language } = mailWords(settings.locale, last?.content_text ?? last?.content ?? '');
  const time = new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: settings.behavior.timezone,
  });
  const make = (message: MessageWithSender, files: FilesOfMessages): MadeMessage => {
    const shown = shownMessage(message, files.get(message.id) ?? [], { words, team });
    const name = isVisitors(message) && answers ? words.you : shown.name;
    return makeMessage({ ...shown, name, at: time.format(message.created_at) }, { language, words });
  };
  const made: MadeMessage[] = [];
  let units = 0;
  let looked = 0;
  let ownLeftOut = false;
  let olderLeftOut = false;
  await eachNewest(reader, conversation, maxMessages + 1, (messages, files) => {
    for (const message of messages) {
      olderLeftOut = looked === maxMessages || units >= manyUnits;
      if (olderLeftOut) return false;
      looked += 1;
      if (withVisitors || !isVisitors(message)) {
        const one = make(message, files);
        made.push(one);
        units += one.text.length + one.html.length;
      } else ownLeftOut = true;
    }
    return true;
  });
  return {
    team,
    subject: words.transcript(team),
    page: {
      language,
      words,
      answers,
      remarks: [
        ...(ownLeftOut ? [words.ownLeftOut] : []),
        ...(olderLeftOut ? [words.olderLeftOut(looked)] : []),
      ],
      messages: made.toReversed(),
      signature: settings.email.signature,
      reason: null,
      stopUrl: answers || !withVisitors ? stopAddress(service, conversation, address ?? '') : null,
    },
  };
}

/** Composes transcripts. */
export function createTranscriptComposer(service: Service): MailComposer {
  return async (row, route) => {
    const facts = await service.engine.store.read((tx) => findFactsAgain(tx, service, row));
    if ('state' in facts) return facts;
    const held = await countAgain(service, row, facts);
    if (held !== null) return held;
    const { conversation, settings, address } = facts;
    const answers = await receivesMail(service, conversation.organization_id);
    const { page, subject, team } = await readPage({ service }, facts, {
      withVisitors: isOwnAddress(service, facts),
      answers,
    });
    const replyTo = replyAddress(route.address, makeToken(service, 'reply', conversation));
    return {
      mail: {
        from: { name: team, address: senderAddress(route, settings) },
        to: address,
        ...(answers
          ? {
              replyTo: { name: team, address: replyTo },
              returnPath: returnPath(service, row, route, address),
            }
          : {}),
        subject,
        text: mailText(page),
        html: mailHtml(page),
        messageId: `t.${row.id}@${domainOf(route.address)}`,
        headers: { ...automaticHeaders, ...unsubscribeHeaders(page.stopUrl) },
      },
    };
  };
}

/** The first time it was counted when it was asked for. @returns null: it may go */
async function countAgain(
  service: Service,
  row: EffectRow,
  facts: AddressedFacts,
): Promise<EffectOutcome | null> {
  if (!isSentAgain(row)) return null;
  const limits = await service.engine.store.read((tx) => transcriptLimits(tx, service, facts));
  const held = await takeMailLimits(service, limits);
  if (held === null) await noteCounted(service, row);
  return held;
}

/** What a planned transcript depends on, unless it may not go any more. */
async function findFactsAgain(
  tx: ReadTx,
  service: Service,
  row: EffectRow,
): Promise<AddressedFacts | EffectOutcome> {
  const skipped = (why: string): EffectOutcome => ({ state: 'skipped', why });
  const facts = row.conversation_id === null ? null : await readMailFacts(tx, row.conversation_id);
  // An address that was changed since is another person's.
  if (facts === null || facts.address === null || facts.address !== row.recipient)
    return skipped('the visitor has another address now');
  const { mail_stopped_at: stoppedAt } = facts.conversation;
  // A stop that was there before was weighed when it was asked for.
  const why = whyNotMailed(facts, stoppedAt !== null && stoppedAt < row.created_at);
  const refused = why ?? (await refusesMail(tx, service, row.organization_id, facts.address));
  return refused === null ? { ...facts, address: facts.address } : skipped(refused);
}

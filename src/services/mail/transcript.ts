// A conversation as a mail: what visitor and staff wrote, without notes. A visitor gets it at their own address only.
import type { MessageWithSender } from '../../engine/rows.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { accessConversation, findVisitor } from '../core/access.ts';
import { rateLimited, ServiceError } from '../core/errors.ts';
import { addEffect } from '../outbox/effects.ts';
import type { MemberCall, ParticipantCall, ReadTx, Service, Tx, VisitorCall } from '../service.ts';
import { headerText } from './header-text.ts';
import { refusesMail } from './mail-addresses.ts';
import { automaticHeaders, type MailComposer } from './mail-effects.ts';
import { fileNames } from './mail-files.ts';
import { mailHtml, mailText, type MailPage } from './mail-html.ts';
import { domainOf, mailRoute, noMailServer, receivesMail, senderAddress } from './mail-server.ts';
import { mailWords } from './mail-words.ts';
import { readMailFacts, type MailFacts } from './mail-facts.ts';
import { returnPath, shownMessage, stopAddress, unsubscribeHeaders } from './reply-mail.ts';
import { makeToken, replyAddress } from './reply-token.ts';

/** Messages of a transcript; of a longer conversation the newest. */
const maxMessages = 500;
const windows = [{ limit: 5, windowMs: 3_600_000 }];

/** Counts a transcript against its conversation. @throws ServiceError rate_limit_exceeded */
export async function countTranscript(
  { service, actor }: ParticipantCall,
  { conversationId }: { conversationId: string },
): Promise<void> {
  await service.engine.store.read(async (tx) => accessConversation(tx, actor, conversationId));
  const verdict = await service.engine.limiter.take([{ key: `transcript:${conversationId}`, windows }]);
  if (!verdict.ok) throw rateLimited('per_visitor', windows, verdict.window, verdict.retryAfterMs);
}

/**
 * Has a conversation sent to its visitor. What a visitor wrote goes to an address that was proven only: who typed one
 * need not own it.
 * @throws ServiceError not_found, conflict
 */
export async function requestTranscript(
  tx: Tx,
  call: VisitorCall,
  { conversationId }: Input<'conversations.transcript'>,
): Promise<{ success: true }> {
  const conversation = await accessConversation(tx, call.actor, conversationId);
  const visitor = await findVisitor(tx, call.actor);
  return queueTranscript(tx, call.service, conversation.id, visitor?.email ?? null);
}

/** The same by staff. @throws ServiceError not_found, conflict */
export async function sendTranscript(
  tx: Tx,
  call: MemberCall,
  { conversationId }: Input<'staff.conversations.sendTranscript'>,
): Promise<{ success: true }> {
  await accessConversation(tx, call.actor, conversationId);
  const facts = await readMailFacts(tx, conversationId);
  return queueTranscript(tx, call.service, conversationId, facts?.address ?? null);
}

async function queueTranscript(
  tx: Tx,
  service: Service,
  conversationId: string,
  address: string | null,
): Promise<{ success: true }> {
  const facts = await readMailFacts(tx, conversationId);
  if (facts === null || address === null)
    throw new ServiceError('conflict', 'The visitor has no e-mail address: give one first.');
  const { organization_id: organizationId } = facts.conversation;
  if ((await mailRoute(service, tx, organizationId)) === null)
    throw new ServiceError('conflict', `It can't be sent: ${noMailServer}.`);
  if ((await refusesMail(tx, service, organizationId, address)) !== null)
    throw new ServiceError('conflict', 'This address takes no mails.');
  await addEffect(tx, service, {
    kind: 'mail',
    key: `transcript:${service.engine.clock.newId()}`,
    about: 'transcript',
    organizationId,
    conversationId,
    recipient: address,
    retryForMs: 3_600_000,
  });
  return { success: true };
}

/** A conversation as text and HTML. @throws ServiceError not_found */
export async function getTranscript(
  tx: ReadTx,
  { actor, service }: MemberCall,
  { conversationId }: Input<'staff.conversations.transcript'>,
): Promise<Output<'staff.conversations.transcript'>> {
  await accessConversation(tx, actor, conversationId);
  const facts = await readMailFacts(tx, conversationId);
  if (facts === null) throw new ServiceError('not_found', 'No such conversation.');
  const { page, subject } = await readPage(tx, service, facts, { quotesVisitor: true, answers: false });
  return { subject, text: mailText(page), html: mailHtml(page) };
}

interface PageOptions {
  readonly quotesVisitor: boolean;
  readonly answers: boolean;
}

async function readPage(
  tx: ReadTx,
  service: Service,
  { conversation, settings, applicationName, address }: MailFacts,
  { quotesVisitor, answers }: PageOptions,
): Promise<{ page: MailPage; subject: string; team: string }> {
  const newest = await tx.repositories.messages.page({
    conversationId: conversation.id,
    notes: false,
    order: 'desc',
    limit: maxMessages,
    offset: 0,
  });
  const files = await fileNames(tx, newest);
  const isVisitors = ({ sender_role: role }: MessageWithSender): boolean => role === 'visitor';
  const last = newest.find(isVisitors);
  const team = headerText(settings.email.fromName ?? applicationName);
  const { words, language } = mailWords(settings.locale, last?.content_text ?? last?.content ?? '');
  const time = new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: settings.behavior.timezone,
  });
  return {
    team,
    subject: words.transcript(team),
    page: {
      language,
      words,
      answers,
      messages: newest
        .toReversed()
        .filter((message) => quotesVisitor || !isVisitors(message))
        .map((message) => ({
          ...shownMessage(message, files.get(message.id)),
          ...(isVisitors(message) && answers ? { name: words.you } : {}),
          at: time.format(message.created_at),
        })),
      signature: settings.email.signature,
      reason: null,
      stopUrl: answers || !quotesVisitor ? stopAddress(service, conversation, address ?? '') : null,
    },
  };
}

/** Composes transcripts. */
export function createTranscriptComposer(service: Service): MailComposer {
  return async (row, route) => {
    const facts = await service.engine.store.read(async (tx) => {
      const found = row.conversation_id === null ? null : await readMailFacts(tx, row.conversation_id);
      // An address that was changed since is another person's.
      return found === null || found.address !== row.recipient ? null : found;
    });
    if (facts === null || facts.address === null)
      return { state: 'skipped', why: 'the visitor has another address now' };
    const { conversation, settings, address, addressVerified } = facts;
    const answers = await receivesMail(service, conversation.organization_id);
    const { page, subject, team } = await service.engine.store.read((tx) =>
      readPage(tx, service, facts, {
        // A conversation that was begun by mail was begun from this address.
        quotesVisitor: addressVerified || conversation.channel === 'email',
        answers,
      }),
    );
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

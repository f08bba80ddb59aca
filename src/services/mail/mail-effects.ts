// Mails as rows of the outbox: how one is planned, and the handler that composes and sends each.
import { z } from 'zod';
import type { EffectRow } from '../../engine/rows.ts';
import type { OutgoingMail, SendMail } from '../../net/smtp-client.ts';
import type { EffectHandler, EffectOutcome } from '../outbox/effects.ts';
import { addEffect, openEffect } from '../outbox/effects.ts';
import type { Service, Tx } from '../service.ts';
import { headerText } from './header-text.ts';
import { domainOf, mailRoute, noMailServer, type MailRoute } from './mail-server.ts';

/** Attempts at once of one organization. */
const maxConcurrent = 2;

/** A mail whose words are known when it is planned, as a link to a new password. */
export interface ReadyMail {
  readonly organizationId: string;
  /** Once per organization: a second mail under the same key is not stored. */
  readonly key: string;
  /** What it is, for the list that admins see: `password-reset`. */
  readonly about: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string | undefined;
  /** The sender's name; left out: the organization's. */
  readonly fromName?: string | undefined;
  /** Whom or what it concerns: it goes with the member, or with the conversation. */
  readonly memberId?: string | undefined;
  readonly conversationId?: string | undefined;
  readonly dueAt?: number | undefined;
  readonly retryForMs?: number | undefined;
}

/**
 * Stores a mail with the transaction that causes it; the outbox sends it. Its words lie sealed until it was sent.
 * @returns false where one of this key is there already
 */
export function queueMail(tx: Tx, service: Service, mail: ReadyMail): Promise<boolean> {
  return addEffect(tx, service, readyMailEffect(mail));
}

/** The same as an effect, for a planner. */
export function readyMailEffect({ to, subject, text, html, fromName, ...effect }: ReadyMail) {
  return {
    ...effect,
    kind: 'mail' as const,
    recipient: to,
    sealed: JSON.stringify({ subject, text, html, fromName }),
  };
}

/** A mail that is about to be sent, and what is written once it was taken or refused. */
export interface ComposedMail {
  readonly mail: OutgoingMail;
  readonly onDelivered?: EffectOutcome['also'];
  readonly onFailed?: EffectOutcome['also'];
  /** In the place of `onFailed` where the receiver's server says that the address takes no mail at all. */
  readonly onAddressRefused?: EffectOutcome['also'];
}

/**
 * Makes a mail of a row, or says why there is none to send now. Called for every attempt: what was handed over before a
 * crash must come out with the same Message-ID.
 */
export type MailComposer = (row: EffectRow, route: MailRoute) => Promise<ComposedMail | EffectOutcome>;

/**
 * Sends the mails of the outbox.
 * @param composers by what the mail is about; a row that carries its words needs none
 */
export function createMailHandler(
  service: Service,
  send: SendMail,
  composers: Readonly<Record<string, MailComposer>> = {},
): EffectHandler {
  return {
    kind: 'mail',
    maxConcurrent,
    perform: async (row, signal) => {
      const route = await service.engine.store.read((tx) => mailRoute(service, tx, row.organization_id));
      if (route === null) return { state: 'failed', why: noMailServer };
      const compose = Object.hasOwn(composers, row.about) ? composers[row.about] : undefined;
      const composed =
        compose === undefined ? await composeReady(service, row, route) : await compose(row, route);
      if ('state' in composed) return composed;
      const result = await send(route.server, composed.mail, signal);
      if (result.ok) return { state: 'delivered', also: composed.onDelivered };
      const { onFailed, onAddressRefused = onFailed } = composed;
      return result.permanent
        ? { state: 'failed', why: result.error, also: result.refusesAddress ? onAddressRefused : onFailed }
        : { state: 'retry', why: result.error, also: onFailed };
    },
  };
}

const readyWords = z.object({
  subject: z.string(),
  text: z.string(),
  html: z.string().optional(),
  fromName: z.string().optional(),
});

async function composeReady(
  service: Service,
  row: EffectRow,
  route: MailRoute,
): Promise<ComposedMail | EffectOutcome> {
  if (row.recipient === null || row.sealed === null)
    return { state: 'failed', why: 'the mail carries its words no more: it was sent before' };
  const words = readyWords.parse(JSON.parse(openEffect(service, row)));
  const organization = await service.engine.store.read(({ repositories }) =>
    repositories.organizations.byId(row.organization_id),
  );
  return {
    mail: {
      from: {
        name: headerText(words.fromName ?? organization?.name ?? 'Deskbell'),
        address: route.address,
      },
      to: row.recipient,
      subject: headerText(words.subject),
      text: words.text,
      html: words.html,
      messageId: `${row.id}@${domainOf(route.address)}`,
      headers: automaticHeaders,
    },
  };
}

/** What a program's mail says of itself, so that no other program answers it. */
export const automaticHeaders: Readonly<Record<string, string>> = {
  'Auto-Submitted': 'auto-generated',
  'X-Auto-Response-Suppress': 'All',
};

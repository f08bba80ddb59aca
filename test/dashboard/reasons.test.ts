// What the server says of what it sent stands in the reader's language: each of its sentences is known. That the pages show it
// is in refusals.test.ts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { knownReason } from '../../src/dashboard/settings/reasons.tsx';

const source = (file: string): string => readFileSync(join(import.meta.dirname, '../../src', file), 'utf8');

/** Where a sentence arises that says why something was not sent. */
const files = [
  'net/network-errors.ts',
  'net/push-client.ts',
  'net/smtp-client.ts',
  'net/webhook-client.ts',
  'services/mail/mail-addresses.ts',
  'services/mail/mail-effects.ts',
  'services/mail/mail-facts.ts',
  'services/mail/mail-limits.ts',
  'services/mail/mail-server.ts',
  'services/mail/reply-mail.ts',
  'services/mail/transcript.ts',
  'services/notifications/member-mails.ts',
  'services/notifications/notice-limits.ts',
  'services/notifications/push-handler.ts',
  'services/notifications/test.ts',
  'services/outbox/outbox.ts',
  'services/webhooks/attempts.ts',
];

/** What reads like a reason and is shown on none of these pages. */
const others = [
  // Of a website that is read, which asks for encodings.
  'its encoding is broken',
  'it speaks another protocol than was asked for',
  // Of a mail server that the command line tries.
  'it did not answer in time',
  // Said to who asks for a transcript.
  'there is nothing in it that may go to this address',
  // What stands before a reason, and for a limit without a name: there is none.
  'the mail server did not take the mail: 7',
  'a limit of mails',
  'a limit of notices',
];

/** The sentences of a file: texts of several words that begin in lower case, with a number for what is filled in. */
const sentencesOf = (file: string): string[] =>
  [
    ...source(file)
      .replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
      .matchAll(/'([^'\n]*)'|`([^`\n]*)`/g),
  ]
    .map(([, plain, filled]) => (plain ?? filled ?? '').replaceAll(/\$\{[^}]*\}/g, '7'))
    .filter((text) => /^(?:[a-z]+ ){2}/.test(text) && !others.includes(text));

test('every reason that the server gives is known', () => {
  const said = files.flatMap(sentencesOf);
  expect(said.length).toBeGreaterThan(50);
  expect(said.filter((one) => knownReason(one) === null)).toEqual([]);
});

// Owns which text stands for what the server says of what it did: why something was not sent, and what to know of a domain.
// What is not known here stands in the server's own words.
import type { JSX } from 'preact';
import { find, type Known, type Sentences } from './field-problems.ts';
import { locale } from '../words.ts';
import { s, type SettingsWord } from './words.ts';

const sentences: Sentences<SettingsWord> = [
  [/^failed inside the server/, 'whyInside'],
  [/^no mail server is configured/, 'whyNoServer'],
  [/^the mail carries its words no more/, 'whyWordsGone'],
  [/^test data is not mailed/, 'whyTestData'],
  [/^mail is switched off/, 'whyMailOff'],
  [/wants no mails\b/, 'whyUnwanted'],
  [/^mails to this address came back/, 'whyBounced'],
  [/^(?:.* has had )?(\d+) .*\bin an hour$/, 'whyManyHour'],
  [/^the organization has sent its (\d+) mails/, 'whyManyDay'],
  [/^one mail of a conversation goes in ten minutes/, 'whyTenMinutes'],
  [/^(?:it|the first answer) was read\b|^the member has read it/, 'whyRead'],
  [
    /^(?:the conversation|what it was about) is not there any more|^the message was deleted|^it was withdrawn/,
    'whyGone',
  ],
  [/^the visitor has no address/, 'whyNoAddress'],
  [/^the visitor has another address/, 'whyOtherAddress'],
  [/^an earlier mail took it along/, 'whyTaken'],
  [/^the conversation does not wait any more/, 'whyNotWaiting'],
  [/^it is in quiet hours/, 'whyQuiet'],
  [/^(?:a dashboard or console of the member is connected|the member has it before their eyes)/, 'whyThere'],
  [
    /^(?:the browser is sent no pushes any more|the member is not signed in there|the browser has ended its)/,
    'whyNoBrowser',
  ],
  [/^(?:the member is disabled|the member may not see it|it concerns the member no more)/, 'whyNotTheirs'],
  [/^the name is unknown/, 'whyUnknownName'],
  [/^the name could not be looked up/, 'whyNoLookup'],
  [/^the connection was refused/, 'whyRefused'],
  [/^(?:the connection was cut off|the mail server ended the connection)/, 'whyCut'],
  [/^the (?:host|network) could not be reached/, 'whyUnreached'],
  [/^the connection took too long|\bdid not answer within \d+ s/, 'whySlow'],
  [/^its certificate is over/, 'whyCertOver'],
  [/^its certificate is not signed/, 'whyCertUnknown'],
  [/^its certificate is for another name/, 'whyCertName'],
  [/\banswer(?:s|ed) without end$/, 'whyEndless'],
  [/^the (?:address|mail server) is (?:at a )?private or local/, 'whyPrivate'],
  [/^the address does not begin with https/, 'whyHttps'],
  [/^was not sent: the server stops/, 'whyStops'],
  [/\bcould not be (?:sent|handed over) \((?<list>.+)\)$/, 'whyCode'],
  [/^answered (\d+): redirects/, 'whyRedirect'],
  [/^answered 410: /, 'whyWantsNone'],
  [/^(?:the mail server )?answered (?<list>\d.*)$/, 'whyAnswered'],
  [/^the mail server refused the user name/, 'whyPassword'],
  [/^the mail server offers no encrypted connection/, 'whyNoTls'],
  [/^the address is not one that a mail can go to/, 'whyBadAddress'],
  [/^what answers there is no mail server/, 'whyNoMailServer'],
  [/^no encrypted connection came about/, 'whyPort'],
  [/^the address of the mail server is not valid/, 'whyMailUrl'],
  [/^the address is none of a known push service/, 'whyPushHost'],
  [/^the push service asks to send less/, 'whyPushLess'],
  [/^the push service failed \((\d+)\)/, 'whyPushFailed'],
  [/^the push service does not take this server's key \((\d+)\)/, 'whyPushKey'],
  [/^the push service refused/, 'whyPushRefused'],
  [/^no browser of yours is sent pushes/, 'whyNoDevice'],
  [/^the key that the browser was given is not there/, 'doPushAgain'],
  [/^no dashboard or console of yours is connected/, 'whyNoBell'],
  [/^the dashboard is reached over plain http/, 'whyPlainHttp'],
  [/^(?<list>\S+) is a suffix under which anybody can have a name/, 'domainShared'],
  [/ is stored as (?<list>\S+), the form that browsers send/, 'domainStored'],
];

/** What the server adds of what to do about it, and the text that stands for that. */
const advice: Sentences<SettingsWord> = [
  [/: (?:[^:]* )?press "Push in this browser"[^:]*$/, 'doPushAgain'],
  [/: the server must reach the push service on port 443$/, 'doPort443'],
  [/: it is not this server's fault; try again later$/, 'doLater'],
];

/** What stands before why a mail of a test was not taken. */
const ofTheTest = /^the mail server did not take the mail: /;

/** Which text stands for what the server says; null: there is none. */
export function knownReason(sentence: string): Known<SettingsWord> {
  return find(sentences, sentence.replace(ofTheTest, ''));
}

/** What the server says, in the reader's language where it is known in it. */
export function Reason({ of }: { readonly of: string }): JSX.Element {
  const known = knownReason(of);
  // In English the server's own say more.
  if (known === null || locale.language === 'en') return <bdi lang="en">{of}</bdi>;
  const done = find(advice, of);
  const text = s(known.word, { n: known.n, list: known.list });
  return <bdi>{done === null ? text : `${text}: ${s(done.word)}`}</bdi>;
}

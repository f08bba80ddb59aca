// What `deskbell doctor` finds out about mail: whether the mail server takes us, and whether the DNS says what others look
// for before they take a mail of ours or send one back. Sends no mail.
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Config } from '../config.ts';
import { MailboxError, openMailbox } from '../net/imap-client.ts';
import { readMailboxUrl, readMailServerUrl } from '../net/mail-server-url.ts';
import { probeMailServer } from '../net/smtp-client.ts';
import type { Finding } from './finding.ts';

/** What is asked of the DNS; an empty answer where there is no such record. Rejects where the DNS gives no answer. */
export interface DnsQuestions {
  txt(name: string): Promise<readonly string[]>;
  mx(name: string): Promise<readonly string[]>;
  addresses(name: string): Promise<readonly string[]>;
  names(address: string): Promise<readonly string[]>;
}

export interface MailCheckOptions {
  readonly dns?: DnsQuestions;
  /** Under which name the key is published with which the mail host signs; undefined: the usual names are tried. */
  readonly dkimSelector?: string | undefined;
}

/** What mail hosts publish their keys under unless they are told otherwise. */
const usualSelectors = [
  'default',
  'mail',
  'dkim',
  'deskbell',
  'google',
  'selector1',
  'selector2',
  's1',
  's2',
  'k1',
  'k2',
  'mx',
  'smtp',
  'key1',
  'fm1',
  'protonmail',
  'zmail',
  'pm',
];

const serverTimeoutMs = 10_000;

type State = Finding['state'];
const finding =
  (about: string) =>
  (state: State, found: string, fix: string | null = null): Finding => ({ about, state, found, fix });

/** The questions to the resolvers that this machine uses. */
export function systemDns(): DnsQuestions {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const orNone = async <T>(answer: Promise<readonly T[]>): Promise<readonly T[]> => {
    try {
      return await answer;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : '';
      if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
      throw error;
    }
  };
  return {
    txt: async (name) => (await orNone(resolver.resolveTxt(name))).map((parts) => parts.join('')),
    mx: async (name) =>
      (await orNone(resolver.resolveMx(name)))
        .toSorted((one, other) => one.priority - other.priority)
        .map(({ exchange }) => exchange),
    addresses: async (name) => [
      ...(await orNone(resolver.resolve4(name))),
      ...(await orNone(resolver.resolve6(name))),
    ],
    names: (address) => orNone(resolver.reverse(address)),
  };
}

/** Nothing but a note where no mail server is configured. */
export async function checkMail(
  config: Pick<Config, 'smtpUrl' | 'imapUrl' | 'mailAddress' | 'mailListen'>,
  { dns = systemDns(), dkimSelector }: MailCheckOptions = {},
): Promise<Finding[]> {
  const say = finding('mail');
  const { smtpUrl, mailAddress } = config;
  if (smtpUrl === null || mailAddress === null)
    return [
      ...(await mailbox(config.imapUrl)),
      say(
        'note',
        'no mail server: visitors who have left get no mail, and no one can replace a forgotten password',
        'Set DESKBELL_SMTP_URL and DESKBELL_MAIL_ADDRESS',
      ),
    ];
  const url = smtpUrl.reveal();
  const domain = mailAddress.slice(mailAddress.lastIndexOf('@') + 1).toLowerCase();
  const problem = await probeMailServer(url, AbortSignal.timeout(serverTimeoutMs));
  const host = readMailServerUrl(url)?.host ?? '';
  const server =
    problem === null
      ? say('ok', `${host} takes mails from ${mailAddress}`)
      : say('wrong', `${host}: ${problem}`, 'Correct DESKBELL_SMTP_URL, or ask the mail host');
  const servers = [server, ...(await mailbox(config.imapUrl))];
  if (!domain.includes('.') || isIP(domain) !== 0)
    return [...servers, say('note', `${domain} is no name that other mail hosts know`)];
  const questions: readonly (readonly [string, () => Promise<Finding[]>])[] = [
    ['SPF', () => spf(dns, domain)],
    ['DKIM', () => dkim(dns, domain, dkimSelector)],
    ['DMARC', () => dmarc(dns, domain)],
    ['MX', () => mx(dns, domain, config.mailListen !== null)],
  ];
  const answers = await Promise.all(
    questions.map(([about, ask]) =>
      ask().catch((error: unknown) => [
        finding(about)(
          'note',
          `the DNS gives no answer about ${domain}: ${error instanceof Error ? error.message : String(error)}`,
        ),
      ]),
    ),
  );
  return [...servers, ...answers.flat()];
}

/** A large mailbox is not looked through to its end. */
const maxLooks = 20;

async function mailbox(imapUrl: Config['imapUrl']): Promise<Finding[]> {
  if (imapUrl === null) return [];
  const say = finding('mailbox');
  const url = imapUrl.reveal();
  const host = readMailboxUrl(url)?.host ?? '';
  try {
    const opened = await openMailbox({
      url,
      clock: {
        after: (ms, run) => {
          const timer = setTimeout(run, ms);
          return () => clearTimeout(timer);
        },
      },
      signal: AbortSignal.timeout(serverTimeoutMs),
      // No mail is fetched; what the server says of itself may come counted.
      maxMailBytes: 65_536,
    });
    try {
      let unread = 0;
      let looks = 0;
      for await (const some of opened.unread()) {
        unread += some.length;
        looks += 1;
        if (looks === maxLooks) break;
      }
      return [say('ok', `${host} opens it: ${looks === maxLooks ? 'at least ' : ''}${unread} unread`)];
    } finally {
      opened.close();
    }
  } catch (error) {
    if (!(error instanceof MailboxError)) throw error;
    return [say('wrong', `${host}: ${error.message}`, 'Correct DESKBELL_IMAP_URL, or ask the mail host')];
  }
}

async function spf(dns: DnsQuestions, domain: string): Promise<Finding[]> {
  const say = finding('SPF');
  const records = (await dns.txt(domain)).filter((text) => /^v=spf1(?: |$)/i.test(text));
  const [record, ...others] = records;
  if (record === undefined)
    return [
      say(
        'wrong',
        `${domain} does not say who sends its mails: others take them for forged`,
        `Publish a TXT record of ${domain} as your mail host names it, such as "v=spf1 mx include:… -all"`,
      ),
    ];
  if (others.length > 0)
    return [say('wrong', `${domain} has ${records.length} records, and none counts`, 'Keep one of them')];
  if (/(?:^| )\+?all(?: |$)/i.test(record))
    return [say('wrong', `anybody may send as ${domain}: ${record}`, 'Replace "+all" by "-all"')];
  return [say('ok', record)];
}

async function dkim(dns: DnsQuestions, domain: string, selector: string | undefined): Promise<Finding[]> {
  const say = finding('DKIM');
  const selectors = selector === undefined ? usualSelectors : [selector];
  const found = await Promise.all(
    selectors.map(async (name) => {
      const texts = await dns.txt(`${name}._domainkey.${domain}`);
      const key = texts
        .map((text) => /(?:^|;)\s*p=([^;]*)/i.exec(text)?.[1]?.trim())
        .find((one) => one !== undefined);
      return key === undefined ? null : { name, revoked: key === '' };
    }),
  );
  const known = found.filter((one) => one !== null);
  const valid = known.filter(({ revoked }) => !revoked).map(({ name }) => name);
  if (valid.length > 0) return [say('ok', `a key is published as ${valid.join(', ')}`)];
  if (known.length > 0)
    return [
      say(
        'wrong',
        `the key ${known.map(({ name }) => name).join(', ')} was taken back`,
        'Publish the key with which your mail host signs now',
      ),
    ];
  return selector === undefined
    ? [
        say(
          'note',
          'no key is published under a usual name',
          'Have your mail host sign, publish its key, and name it: deskbell doctor --dkim-selector NAME',
        ),
      ]
    : [
        say(
          'wrong',
          `${selector}._domainkey.${domain} has no key`,
          'Publish the TXT record that your mail host names',
        ),
      ];
}

/** A name without a policy of its own has that of the domain above it. */
async function dmarc(dns: DnsQuestions, domain: string): Promise<Finding[]> {
  const say = finding('DMARC');
  const labels = domain.split('.');
  for (let from = 0; from < labels.length - 1; from += 1) {
    const name = `_dmarc.${labels.slice(from).join('.')}`;
    const records = (await dns.txt(name)).filter((text) => /^v=DMARC1(?:\s*;|$)/i.test(text));
    if (records.length > 1)
      return [say('wrong', `${name} has ${records.length} records, and none counts`, 'Keep one of them')];
    const [record] = records;
    if (record === undefined) continue;
    const policy = /(?:^|;)\s*p\s*=\s*(\w+)/i.exec(record)?.[1]?.toLowerCase();
    if (policy === undefined) return [say('wrong', `${name} has no policy: ${record}`, 'Add "p=quarantine"')];
    return [
      policy === 'none'
        ? say(
            'note',
            `${record}: forged mails are delivered all the same`,
            'Raise it to "p=quarantine" in time',
          )
        : say('ok', record),
    ];
  }
  return [
    say(
      'wrong',
      `${domain} has no policy, and large mail hosts refuse mails without one`,
      `Publish a TXT record of _dmarc.${domain}: "v=DMARC1; p=quarantine"`,
    ),
  ];
}

async function mx(dns: DnsQuestions, domain: string, listens: boolean): Promise<Finding[]> {
  const say = finding('MX');
  const hosts = await dns.mx(domain);
  const [first] = hosts;
  if (hosts.length === 1 && (first === '' || first === '.'))
    return [say('wrong', `${domain} says that it takes no mail`, 'Remove the null MX record')];
  const names = first === undefined ? [domain] : hosts;
  const addresses = await Promise.all(names.map((name) => dns.addresses(name)));
  if (addresses.every((some) => some.length === 0))
    return [
      say(
        listens ? 'wrong' : 'note',
        first === undefined
          ? `${domain} has no MX record: answers to mails get lost`
          : `${hosts.join(', ')}: no address is known of it, so answers to mails get lost`,
        `Publish an MX record of ${domain} that leads to ${listens ? 'this server' : 'your mail host'}`,
      ),
    ];
  const findings = [
    say('ok', first === undefined ? `none, so mails go to the address of ${domain}` : `${hosts.join(', ')}`),
  ];
  return listens ? [...findings, await reverseName(dns, addresses.flat())] : findings;
}

/** Where mails come in and go out by the same machine, its address must name it. */
async function reverseName(dns: DnsQuestions, addresses: readonly string[]): Promise<Finding> {
  const say = finding('reverse name');
  const [address] = addresses;
  if (address === undefined) return say('note', 'no address to ask about');
  for (const name of await dns.names(address))
    if ((await dns.addresses(name)).includes(address)) return say('ok', `${address} is ${name}`);
  return say(
    'note',
    `${address} has no name that leads back to it`,
    'Where this machine sends mails itself: have who rents it to you set its reverse name',
  );
}

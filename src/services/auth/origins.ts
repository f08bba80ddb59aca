// Owns what a registered domain may look like, what an Origin header may look like, and when the two match.
// It must never accept a header that a browser would not send in that form, and it stores nothing.

import { keepResults } from '../../net/keep-results.ts';

export type DomainResult =
  | { readonly ok: true; readonly domain: string; readonly warning?: string }
  | { readonly ok: false; readonly problem: string };

export interface ParsedOrigin {
  /** Serialised as browsers do: lower case, no default port, no trailing dot. */
  readonly origin: string;
  readonly scheme: 'http' | 'https';
  /** A name in punycode, an IPv4 address, or an IPv6 address in brackets. */
  readonly host: string;
  /** Always digits, the scheme's default filled in. */
  readonly port: string;
}

export type OriginResult = ({ readonly ok: true } & ParsedOrigin) | { readonly ok: false };

const defaultPorts = { http: '80', https: '443' } as const;

// Not the Public Suffix List: single labels are refused as a whole, then the usual second levels under a two-letter
// country code, then these places where anybody gets a name. A suffix outside all three passes.
const countrySecondLevels = new Set(
  'ac asn co com edu gen go gob gov gv id ind ltd me mil ne net nhs nom or org plc sch'.split(' '),
);
const sharedSuffixes = new Set([
  'amplifyapp.com',
  'appspot.com',
  'azurestaticapps.net',
  'azurewebsites.net',
  'blogspot.com',
  'cloudfront.net',
  'codesandbox.io',
  'deno.dev',
  'eu.org',
  'firebaseapp.com',
  'fly.dev',
  'github.dev',
  'github.io',
  'gitlab.io',
  'glitch.me',
  'herokuapp.com',
  'myshopify.com',
  'netlify.app',
  'ngrok-free.app',
  'ngrok.app',
  'ngrok.io',
  'onrender.com',
  'pages.dev',
  'railway.app',
  'repl.co',
  'replit.app',
  's3.amazonaws.com',
  'surge.sh',
  'trycloudflare.com',
  'uk.com',
  'us.com',
  'up.railway.app',
  'vercel.app',
  'web.app',
  'webflow.io',
  'weebly.com',
  'wixsite.com',
  'wordpress.com',
  'workers.dev',
]);

function isPublicSuffix(host: string): boolean {
  if (sharedSuffixes.has(host)) return true;
  const labels = host.split('.');
  if (labels.length === 1) return host !== 'localhost';
  return labels.length === 2 && labels[1]?.length === 2 && countrySecondLevels.has(labels[0] ?? '');
}

const isAddress = (host: string): boolean => host.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(host);
const isPort = (port: string): boolean => /^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65535;

function isHost(host: string): boolean {
  if (host.startsWith('[')) return true;
  return (
    host.length <= 253 &&
    host.split('.').every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))
  );
}

/** The host as the WHATWG URL rules serialise it, without one trailing dot; null when it is none. */
function normaliseHost(text: string): string | null {
  if (/[/\\?#@%]/.test(text) || (text.includes(':') && !/^\[[^\]]*\]$/.test(text))) return null;
  const url = URL.parse(`http://${text}`);
  // Compatibility characters may turn into delimiters; the parser must have seen a host and nothing else.
  if (
    !url ||
    url.port !== '' ||
    url.username !== '' ||
    url.password !== '' ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== ''
  )
    return null;
  const host = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
  return isHost(host) ? host : null;
}

const refused = (problem: string): DomainResult => ({ ok: false, problem });

function accepted(domain: string, host: string, written: string): DomainResult {
  if (isPublicSuffix(host) && !isAddress(host)) {
    return {
      ok: true,
      domain,
      warning: `${host} is a suffix under which anybody can have a name; only ${domain} itself is registered`,
    };
  }
  if (/(?:^|\.)xn--/.test(host) && !/xn--/i.test(written)) {
    return { ok: true, domain, warning: `${written} is stored as ${domain}, the form that browsers send` };
  }
  return { ok: true, domain };
}

/**
 * Reads a domain as a person writes it.
 *
 * Takes `example.com`, `*.example.com`, `localhost:3000` (any name with a dot, localhost, or an IP address, with an
 * optional port) or a full origin `https://example.com:8443`; one `/` at the end is forgiven. Returns the form to store
 * (WHATWG URL rules: lower case, punycode, no trailing dot, no default port on a full origin), perhaps with a warning
 * sentence, or a problem sentence. A wildcard under a public suffix is refused as far as a short built-in list knows
 * them: every single label, the usual second levels of country codes, some forty shared hosts. Throws nothing.
 */
export function normaliseDomain(input: string): DomainResult {
  if (input === '') return refused('the domain is empty: write for example example.com');
  if (input.length > 300) return refused('the domain is too long: a host name has at most 253 characters');
  if (/[\s\p{Cc}]/u.test(input)) return refused('a domain contains no blanks or control characters');
  if (input.toLowerCase() === 'null')
    return refused('null is what a browser sends for a page without an origin; it can never be registered');
  const text = input.endsWith('/') && !input.endsWith('//') ? input.slice(0, -1) : input;

  const full = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(text);
  if (full) {
    const scheme = full[1]?.toLowerCase();
    if (scheme !== 'http' && scheme !== 'https')
      return refused(`${scheme}:// is not the scheme of a web page: use http:// or https://`);
    return fullOrigin(scheme, full[2] ?? '', input);
  }
  if (text.includes('*')) return wildcard(text, input);

  const { name, port } = splitPort(text);
  const host = normaliseHost(name);
  if (host === null)
    return refused(
      `${JSON.stringify(input)} is not a host name: write for example example.com, *.example.com, localhost:3000 or https://example.com:8443`,
    );
  if (!host.includes('.') && !host.startsWith('[') && host !== 'localhost') {
    return refused(
      `${JSON.stringify(input)} has no dot: for a host inside your network write the full origin, for example http://${host}`,
    );
  }
  if (port === undefined) return accepted(host, host, input);
  const number = port.replace(/^0+(?=\d)/, '');
  if (!isPort(number))
    return refused(`${JSON.stringify(port)} is not a port: it is a number from 1 to 65535`);
  return accepted(`${host}:${number}`, host, input);
}

function splitPort(text: string): { name: string; port: string | undefined } {
  const colon = text.lastIndexOf(':');
  if (colon === -1 || text.endsWith(']')) return { name: text, port: undefined };
  return { name: text.slice(0, colon), port: text.slice(colon + 1) };
}

function fullOrigin(scheme: 'http' | 'https', authority: string, written: string): DomainResult {
  if (authority.includes('*')) return refused('a wildcard is written without a scheme: *.example.com');
  const { name, port } = splitPort(authority);
  const host = normaliseHost(name);
  if (host === null)
    return refused(
      `${JSON.stringify(written)} is not an origin: write the scheme, the host and the port, with nothing after them`,
    );
  if (port === undefined) return accepted(`${scheme}://${host}`, host, written);
  const number = port.replace(/^0+(?=\d)/, '');
  if (!isPort(number))
    return refused(`${JSON.stringify(port)} is not a port: it is a number from 1 to 65535`);
  return accepted(`${scheme}://${host}${number === defaultPorts[scheme] ? '' : `:${number}`}`, host, written);
}

function wildcard(text: string, written: string): DomainResult {
  if (!text.startsWith('*.') || text.includes('*', 1))
    return refused('a wildcard is *. at the very start, as in *.example.com');
  const host = normaliseHost(text.slice(2));
  if (host === null)
    return refused(
      `${JSON.stringify(written)} is not a wildcard domain: write for example *.example.com, without port or path`,
    );
  if (isAddress(host)) return refused('nothing is below an IP address: register the address itself');
  if (isPublicSuffix(host))
    return refused(`*.${host} would let in everybody who has a name under ${host}: register your own domain`);
  return accepted(`*.${host}`, host, written);
}

/**
 * Reads an Origin header.
 *
 * Takes the header's value. Returns its parts when it is the WHATWG serialisation of an http or https origin, apart
 * from letter case, the default port and one trailing dot of the host; otherwise `ok: false` (`null`, other schemes,
 * lists, paths, userinfo, escapes, raw Unicode, addresses or ports written another way). Throws nothing.
 */
export const parseOrigin = keepResults((header: string): OriginResult => {
  if (header.length > 300) return { ok: false };
  const match = /^(https?):\/\/([a-z0-9._-]+|\[[0-9a-f:]+\])(?::([1-9]\d{0,4}))?$/.exec(header.toLowerCase());
  // Lower-casing maps a few letters outside ASCII into it (the Kelvin sign): the header itself must be ASCII.
  if (!match || !/^[\x21-\x7e]+$/.test(header)) return { ok: false };
  const scheme = match[1] === 'https' ? 'https' : 'http';
  const written = match[2] ?? '';
  const host = written.endsWith('.') ? written.slice(0, -1) : written;
  const port = match[3] ?? defaultPorts[scheme];
  if (!isPort(port) || !isHost(host) || URL.parse(`${scheme}://${host}`)?.hostname !== host)
    return { ok: false };
  return {
    ok: true,
    origin: `${scheme}://${host}${port === defaultPorts[scheme] ? '' : `:${port}`}`,
    scheme,
    host,
    port,
  };
});

/** Every registered domain that would cover an origin, as {@link originMatches} says: there are as many as its host has labels. */
export function coveringDomains({ origin, scheme, host, port }: ParsedOrigin): string[] {
  const forms = [origin, `${host}:${port}`];
  if (port !== defaultPorts[scheme]) return forms;
  forms.push(host);
  if (isAddress(host)) return forms;
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1))
    forms.push(`*${host.slice(dot)}`);
  return forms;
}

/**
 * Whether a registered domain (as {@link normaliseDomain} stores it) covers an origin: a full origin exactly itself; a
 * host with a port that host and port over http or https; a bare host that host on the default port; a wildcard any
 * host below it, at any depth, on the default port, and not itself. Throws nothing.
 */
export function originMatches(domain: string, origin: ParsedOrigin): boolean {
  if (domain.includes('://')) return domain === origin.origin;
  const onDefaultPort = origin.port === defaultPorts[origin.scheme];
  if (domain.startsWith('*.'))
    return onDefaultPort && !isAddress(origin.host) && origin.host.endsWith(domain.slice(1));
  if (domain === `${origin.host}:${origin.port}`) return true;
  return onDefaultPort && domain === origin.host;
}

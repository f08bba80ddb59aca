// What settings may be: from the text of a flag or variable to its value. Each throws an Error whose message ends the
// sentence "… is not valid: ".
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = readWholeNumber(text, min, max);
    if (value === null) throw new Error(`it must be a whole number from ${min} to ${max}`);
    return value;
  };
}

/** null: unlimited. */
export function wholeNumberOrUnlimited(min: number, max: number): (text: string) => number | null {
  return (text) => {
    if (text === 'unlimited') return null;
    const value = readWholeNumber(text, min, max);
    if (value === null) throw new Error(`it must be a whole number from ${min} to ${max}, or unlimited`);
    return value;
  };
}

function readWholeNumber(text: string, min: number, max: number): number | null {
  const value = Number(text);
  return /^[0-9]{1,9}$/.test(text) && value >= min && value <= max ? value : null;
}

export function oneOf<T extends string>(values: readonly T[]): (text: string) => T {
  return (text) => {
    const value = values.find((one) => one === text);
    if (value === undefined) throw new Error(`it must be ${values.join(' or ')}`);
    return value;
  };
}

export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  )
    throw new Error('it must be like https://chat.example.com, without a path');
  return url.origin;
}

/** A base address that an OpenAI-compatible server is reached under: with /v1 where it has no path of its own. */
export function modelUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== '' ||
    url.password !== ''
  )
    throw new Error('it must be like https://api.example.com/v1 or http://localhost:11434');
  const path = url.pathname.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  return `${url.origin}${path === '' ? '/v1' : path}`;
}

export function modelName(text: string): string {
  if (!/^[!-~]{1,200}$/.test(text)) throw new Error("it must be a model's name, without blanks");
  return text;
}

/** An empty name would be the folder that the command was given in. */
export function folderName(text: string): string {
  if (text === '') throw new Error('it must name a folder');
  return resolve(text);
}

export function host(text: string): string {
  if (!/^[0-9a-zA-Z.:-]{1,255}$/.test(text)) throw new Error('it must be an address or a host name');
  return text;
}

export function mailAddress(text: string): string {
  const address = text.toLowerCase();
  // Behind it comes a plus and a token of 44 characters, and a local part has 64 at most.
  if (!/^[a-z0-9._-]{1,19}@[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(address) || address.length > 200)
    throw new Error('it must be like reply@chat.example.com, with at most 19 characters before the @');
  return address;
}

/** Names of hosts, `*.` before those of which any name below is meant, and origins as https://push.example.com:8443. */
export function pushHosts(text: string): readonly string[] {
  const hosts = text
    .toLowerCase()
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '');
  for (const host of hosts) {
    const isName = /^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host);
    const url = URL.canParse(host) ? new URL(host) : null;
    const isOrigin = url !== null && ['http:', 'https:'].includes(url.protocol) && url.origin === host;
    if (!isName && !isOrigin)
      throw new Error('it must be like push.example.com, *.push.example.com or https://10.0.0.5:8443');
  }
  return hosts;
}

/** A bucket of an S3-compatible store. */
interface Bucket {
  readonly bucket: string;
  readonly prefix: string;
  readonly endpoint: string | null;
  readonly region: string;
}

/** A bucket, or a folder that all servers share. */
export function filesPlace(text: string): Bucket | { readonly folder: string } {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'file:') return bucket(url);
  if (url.host !== '' || url.search !== '' || url.hash !== '' || url.pathname === '/')
    throw new Error('a folder must be like file:///srv/deskbell-files');
  return { folder: fileURLToPath(url) };
}

function bucket(url: URL | null): Bucket {
  const endpoint = url?.searchParams.get('endpoint') ?? null;
  const region = url?.searchParams.get('region') ?? 'us-east-1';
  const known = [...(url?.searchParams.keys() ?? [])].every(
    (name) => name === 'endpoint' || name === 'region',
  );
  const prefix = url?.pathname.replaceAll(/^\/+|\/+$/g, '') ?? '';
  if (
    url?.protocol !== 's3:' ||
    !known ||
    !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.host) ||
    !/^[\w./-]*$/.test(prefix) ||
    prefix.includes('//') ||
    !/^[a-z0-9-]{1,40}$/.test(region)
  )
    throw new Error(
      'it must be like s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1, or like file:///srv/deskbell-files for a folder that all servers share',
    );
  return { bucket: url.host, prefix, endpoint: endpoint === null ? null : baseUrl(endpoint), region };
}

/** Where a scanner listens. */
export function scannerPlace(
  text: string,
): { readonly host: string; readonly port: number } | { readonly path: string } {
  if (isAbsolute(text)) return { path: text };
  const [, name = '', port = ''] =
    /^(?:tcp:\/\/)?(\[[0-9a-f:]+\]|[0-9a-zA-Z.-]{1,255}):([0-9]{1,5})$/i.exec(text) ?? [];
  if (name === '' || Number(port) < 1 || Number(port) > 65_535)
    throw new Error('it must be like localhost:3310, or the absolute path of a socket');
  return { host: name.replaceAll(/[[\]]/g, ''), port: Number(port) };
}

/** Where mails are taken: `:25`, `0.0.0.0:25`, `[::1]:2525`. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export function listenAddress(text: string): ListenAddress {
  const [, name = '', port = ''] = /^(\[[0-9a-f:.]+\]|[0-9a-zA-Z.-]*):([0-9]{1,5})$/i.exec(text) ?? [];
  if (port === '' || Number(port) > 65_535) throw new Error('it must be like :25 or 192.0.2.1:25');
  return { host: name === '' ? '::' : name.replace(/^\[|\]$/g, ''), port: Number(port) };
}

export function pemFile(text: string): string {
  if (!/\.(?:pem|key|crt|cer)$/i.test(text))
    throw new Error('it must be a PEM file whose name ends in .pem, .key, .crt or .cer');
  return resolve(text);
}

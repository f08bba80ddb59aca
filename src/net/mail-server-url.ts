// How the address of a mail server is written. Alone in its file: the configuration reads it before anything is loaded.

/**
 * Reads the address of a mail server.
 * @returns null for what is none
 */
export function readMailServerUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') || url.hostname === '')
    return null;
  const plainPath = url.pathname === '' || url.pathname === '/';
  return plainPath && url.search === '' && url.hash === '' ? url : null;
}

/**
 * Reads the address of a mailbox: `imaps://user:password@host/INBOX`, or `imap://` with STARTTLS.
 * @returns null for what is none
 */
export function readMailboxUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'imap:' && url.protocol !== 'imaps:') || url.hostname === '')
    return null;
  try {
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part);
  } catch {
    return null;
  }
  return url.username !== '' && url.search === '' && url.hash === '' ? url : null;
}

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

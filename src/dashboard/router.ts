// Owns where in the dashboard one is: the part of the address behind "#", so that it works behind any path prefix and
// asks the server for nothing. `#/c/<conversation>`, `#/settings/<page>`; anything else is the inbox.
import { signal } from '@preact/signals';

export type Route =
  | { readonly page: 'inbox'; readonly conversation: string | null }
  | { readonly page: 'settings'; readonly section: string; readonly rest: readonly string[] };

/** Reads an address's part behind "#". */
function parseRoute(hash: string): Route {
  const [first, second, ...rest] = hash
    .replace(/^#?\/?/, '')
    .split('/')
    .map(decode);
  if (first === 'settings') return { page: 'settings', section: second ?? '', rest };
  return {
    page: 'inbox',
    conversation: first === 'c' && second !== undefined && second !== '' ? second : null,
  };
}

/** The address of a route, for links. */
export function hrefOf(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * How it is asked before a page with something unsaved is left, and `then` goes on; without it, the browser has left it
 * already. null: nothing needs to be asked.
 */
export const leaving: { ask: ((then?: () => void) => void) | null } = { ask: null };

export const route = signal<Route>(parseRoute(location.hash));
addEventListener('hashchange', () => {
  if (leaving.ask !== null) return leaving.ask();
  route.value = parseRoute(location.hash);
});

/** Goes to an address. @param replace leaves no step to go back to */
export function go(href: string, { replace = false } = {}): void {
  if (location.hash === href || (location.hash === '' && href === '#/')) return;
  if (leaving.ask !== null) return leaving.ask(() => go(href, { replace }));
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  route.value = parseRoute(href);
}

/** The address of the server, with the path prefix that it is reached behind; without a slash at its end. */
export function serverAddress(): string {
  return new URL('.', document.baseURI).href.replace(/\/+$/, '');
}

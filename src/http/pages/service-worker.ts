// The dashboard's service worker: its text, made from the names of the files that make up the shell. It keeps the shell
// only, so that the dashboard opens without a network, and shows pushes; it never sees to an answer of the API.

/** How long a file is waited for. Browsers end a worker that has one thing to do for five minutes. */
const longestWaitMs = 4 * 60_000;

/**
 * @param version another one for every build
 * @param shell paths relative to the worker's own address: the page first, then the files that it needs to start
 * @returns the worker's script
 */
export function serviceWorkerScript(version: string, shell: readonly string[]): string {
  return `const cacheName = 'deskbell-shell-${version}';
const shell = ${JSON.stringify(shell)}.map((path) => new URL(path, self.location.href).href);
const assets = new URL('assets/', self.location.href).href;
const pages = ['./', 'inbox'].map((path) => new URL(path, self.location.href).href);

self.addEventListener('install', (event) => {
  // The page is served to those who ask for one; what asks for anything gets the API's answer.
  const requests = shell.map((url) => new Request(url, { headers: { Accept: 'text/html' } }));
  event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll(requests)).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  const old = (name) => name.startsWith('deskbell-shell-') && name !== cacheName;
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

// A browser remembers, as long as its page is open, that a script could not be had, and asks no more. So the answer waits
// for the network and for a server that starts again, but not so long that the browser ends the worker.
async function whenReachable(request) {
  for (let wait = 500, waited = 0; ; wait = Math.min(wait * 2, 8000)) {
    try {
      const response = await fetch(request);
      if (![502, 503, 504].includes(response.status) || waited > ${longestWaitMs}) return response;
    } catch (error) {
      if (waited > ${longestWaitMs}) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    waited += wait;
  }
}

// A name with a hash never means anything else: what is kept of it is right for ever.
async function asset(request) {
  const cache = await caches.open(cacheName);
  const kept = await cache.match(request, { ignoreVary: true });
  if (kept) return kept;
  const response = await whenReachable(request);
  if (response.ok) await cache.put(request, response.clone());
  return response;
}

// The page itself comes from the server while that answers, so that a new version is used at once.
async function page(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(shell[0], { cacheName, ignoreVary: true });
    if (kept) return kept;
    throw error;
  }
}

// The page says what it has loaded before this worker was there.
self.addEventListener('message', ({ data }) => {
  const loaded = Array.isArray(data?.loaded) ? data.loaded.filter((url) => String(url).startsWith(assets)) : [];
  for (const url of loaded) asset(new Request(url)).catch(() => undefined);
});

// What the service tells, in words that are finished. One of the same conversation takes the place of the one before.
self.addEventListener('push', (event) => {
  let told = null;
  try {
    told = event.data.json();
  } catch {
    // A browser that is sent a push must show something.
  }
  const { title = 'Deskbell', body = '', conversationId = null, organization = '' } = told ?? {};
  const icon = new URL('icon.svg', self.location.href).href;
  const shown = self.registration.showNotification(String(title), {
    body: String(body),
    tag: conversationId ?? 'deskbell',
    renotify: true,
    icon,
    badge: icon,
    data: { conversationId, organization },
  });
  event.waitUntil(Promise.all([shown, self.navigator.setAppBadge?.().catch(() => undefined)]));
});

// Opens the conversation in a dashboard that is open, else in a new one.
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { conversationId, organization } = event.notification.data ?? {};
  const hash = conversationId ? '#/c/' + encodeURIComponent(conversationId) : '';
  const query = organization ? '?organization=' + encodeURIComponent(organization) : '';
  const open = async () => {
    const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const shown = windows.find(({ url }) => pages.includes(url.split(/[?#]/, 1)[0]));
    if (shown === undefined) return self.clients.openWindow(new URL('inbox' + query + hash, self.location.href).href);
    shown.postMessage({ open: conversationId });
    return shown.focus();
  };
  event.waitUntil(open());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET') return;
  const address = request.url.split(/[?#]/, 1)[0];
  if (address.startsWith(assets)) event.respondWith(asset(request));
  else if (request.mode === 'navigate' && pages.includes(address)) event.respondWith(page(request));
});
`;
}

// The page on which the dashboard shows the real widget with settings that are not saved. It stands in a sandboxed
// frame: without an origin of its own it has no cookie, no storage and no credential, and its policy lets nothing out,
// so that whatever is done in it makes no visitor and no conversation. What the widget would ask the service is answered
// by the page itself.
import { createHash } from 'node:crypto';

const style = `
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100vh; background: #fff; }
body::before { content: ''; position: fixed; inset: 24px; background: repeating-linear-gradient(#e8ebef 0 12px, transparent 12px 32px); opacity: .55; }
@media (prefers-color-scheme: dark) { body { background: #16191d; } body::before { background: repeating-linear-gradient(#2a3037 0 12px, transparent 12px 32px); } }
`;

/** Nothing leads out of it, and only the server's own pages may frame it. */
export const widgetPreviewPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "img-src 'self' https: data:",
  "connect-src 'none'",
  "frame-ancestors 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  'sandbox allow-scripts',
].join('; ');

export const widgetPreviewPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Preview of the widget</title>
<style>${style}</style>
</head>
<body>
<script src="widget.js"></script>
<script src="widget-preview.js"></script>
</body>
</html>
`;

/**
 * Takes `{type: 'deskbell:preview', config, theme?, locale?, open?}` from the page that frames it, as often as it comes,
 * and shows the widget so. `config` is what `applications.preview` answers. Says `{type: 'deskbell:preview-ready'}` when it
 * listens, and `{type: 'deskbell:preview-failed', message}` when it could not show it.
 */
export const widgetPreviewScript = `'use strict';
(() => {
  const time = () => new Date(performance.timeOrigin + performance.now()).toISOString();
  const id = () => crypto.randomUUID();
  const answer = (status, body) => ({ ok: status < 300, status, text: () => Promise.resolve(JSON.stringify(body)) });

  /** What the service would answer, from nothing but this page. */
  function service() {
    const visitor = id();
    const conversations = [];
    const routes = [
      ['GET', /\\/widget\\/config$/, () => [200, { application: shown.config }]],
      ['POST', /\\/widget\\/ws-token$/, () => [200, { token: 'preview' }]],
      ['PUT', /\\/visitor$/, ({ body }) => [200, { visitor: { id: visitor, verified: false, attributes: {}, ...body, createdAt: time() } }]],
      ['POST', /\\/conversations$/, ({ body }) => {
        const conversation = { id: id(), status: 'pending', ...body, participants: [], createdAt: time(), updatedAt: time() };
        conversations.unshift(conversation);
        return [201, { conversation }];
      }],
      ['GET', /\\/conversations$/, () => [200, { conversations, total: conversations.length, limit: 20, offset: 0 }]],
      ['GET', /\\/unread$/, () => [200, { unreadCount: 0 }]],
      ['GET', /\\/messages$/, () => [200, { messages: [], limit: 20, offset: 0 }]],
      ['POST', /\\/messages$/, ({ body, path }) => [201, { message: {
        id: id(), conversationId: path.split('/').at(-2), senderId: visitor, senderName: 'Visitor', senderRole: 'visitor',
        type: 'text', content: body.content, contentFormat: body.contentFormat ?? 'plain', contentHtml: null, createdAt: time(),
      } }]],
      ['POST', /\\/read$/, () => [200, { success: true }]],
      ['GET', /\\/conversations\\/[^/]+$/, ({ path }) => [200, { conversation: conversations.find((one) => one.id === path.split('/').at(-1)) }]],
    ];
    return (url, { method, body }) => {
      const path = new URL(url, location.href).pathname;
      const route = routes.find(([asked, pattern]) => asked === method && pattern.test(path));
      const [status, found] = route?.[2]({ path, body: body === undefined ? {} : JSON.parse(body) })
        ?? [404, { error: 'not_found', message: 'The preview does not do this.' }];
      return Promise.resolve(answer(status, found));
    };
  }

  function socket() {
    const one = { onopen: null, onmessage: null, onclose: null, onerror: null, close: () => undefined, send };
    const say = (type, payload) => queueMicrotask(() => one.onmessage?.({ data: JSON.stringify({ type, payload }) }));
    function send(data) {
      const { type, payload } = JSON.parse(data);
      if (type === 'ping') say('pong');
      if (type === 'room:join') say('room:joined', { conversationId: payload.conversationId, status: 'pending', lastMessageId: null });
      if (type === 'message:send') say('message:ack', { clientMessageId: payload.clientMessageId, serverMessageId: id(), createdAt: time() });
    }
    setTimeout(() => one.onopen?.({}));
    return one;
  }

  // The panel takes the focus when it opens. Here it opens with every change of the form beside it, where one goes on writing:
  // the focus is moved only where it is in this page already.
  const { focus } = HTMLElement.prototype;
  HTMLElement.prototype.focus = function (options) {
    if (document.hasFocus()) focus.call(this, options);
  };

  const tell = (message) => window.parent.postMessage(message, location.origin);
  let shown = null;
  let latest = Promise.resolve();

  async function show(wanted) {
    if (shown !== null) await window.deskbell('destroy');
    shown = wanted;
    const { config, theme, locale, open } = wanted;
    await window.deskbell('init', {
      appId: config.appId,
      config,
      storage: 'none',
      ...(theme === 'light' || theme === 'dark' || theme === 'auto' ? { theme } : {}),
      ...(typeof locale === 'string' ? { locale } : {}),
      environment: { fetch: service(), openSocket: socket, storage: () => null, locks: null, openChannel: null },
    });
    if (open === true) await window.deskbell('open');
  }

  addEventListener('message', ({ source, data }) => {
    if (source !== window.parent || data?.type !== 'deskbell:preview' || typeof data.config?.appId !== 'string') return;
    latest = latest.then(() => show(data)).catch((error) => tell({ type: 'deskbell:preview-failed', message: String(error) }));
  });
  tell({ type: 'deskbell:preview-ready' });
})();
`;

// The page under /about: what this is and where to go, for a person who opens the server's address in a browser. Names no
// tenant and asks the service nothing.
import { iconSvg } from './icon.ts';
import { pageHtml } from './page-frame.ts';

/** @param demo whether the shop's page of `deskbell demo` is served */
export function startPage(demo: boolean): string {
  const entries: readonly (readonly [string, string])[] = [
    ['<a href="/docs">Documentation</a>', 'Setting up, the widget, the console, operations.'],
    [
      '<a href="/docs#api-reference">API reference</a>',
      'Every route, field, error and event; for programs as <a href="/openapi.json">OpenAPI</a>.',
    ],
    [
      'Put the widget on a website',
      '<code>deskbell snippet --app APP_ID</code> prints the lines. <a href="/docs/widget">More about the widget</a>',
    ],
    ['<a href="/">Dashboard</a>', 'Answer visitors and change settings, in a browser.'],
    [
      'Answer visitors in a terminal',
      '<code>deskbell console</code> opens the console in a terminal. <a href="/docs/console">More about the console</a>',
    ],
    demo
      ? ['<a href="/demo">Demo shop</a>', 'A page with the widget on it: write as a visitor.']
      : [
          'Try it',
          '<code>deskbell demo</code> serves a shop’s page with the widget on it. Everything in it is removed at the end.',
        ],
    [
      '<a href="/security">Sign-in security</a>',
      'For members: passkeys, authenticator, recovery codes, sessions.',
    ],
    ['<a href="/readyz">Health</a>', '<code>/readyz</code> answers 200 while the server can store messages.'],
  ];
  const main = `${iconSvg.replace('<svg ', '<svg class="mark" aria-hidden="true" ')}
<h1>Deskbell</h1>
<p>This server runs Deskbell, customer-support chat. Visitors write from a website, operators answer, both see it live.</p>
<dl>
${entries.map(([term, about]) => `<dt>${term}</dt>\n<dd>${about}</dd>`).join('\n')}
</dl>`;
  return pageHtml({ title: 'Deskbell', nav: null, main });
}

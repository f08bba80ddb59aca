// The lines that a customer pastes: what this build serves, and nothing that would
// be a 404. Makes text only.
import { access } from 'node:fs/promises';
import type { Application } from '../protocol/entities.ts';

export interface Snippet {
  readonly parts: readonly { readonly name: string; readonly code: string }[];
  /** The parts with their names, ready to print. */
  readonly lines: string;
  /** Whether this build serves the widget; else the parts use the API. */
  readonly widget: boolean;
}

/** The bundled widget lies in a folder beside the bundled program; a build without it serves none. */
function widgetIsBuilt(): Promise<boolean> {
  return access(new URL('web/widget.js', import.meta.url)).then(
    () => true,
    () => false,
  );
}

/** @param baseUrl the address under which visitors reach the service, without a trailing slash */
export async function snippetText({ appId }: Pick<Application, 'appId'>, baseUrl: string): Promise<Snippet> {
  const widget = await widgetIsBuilt();
  const parts = widget ? widgetParts(appId, baseUrl) : apiParts(appId, baseUrl);
  return { parts, lines: parts.map(({ name, code }) => `${name}:\n\n${indent(code)}`).join('\n\n'), widget };
}

function indent(code: string): string {
  return code.replace(/^(?=.)/gm, '  ');
}

/** The three ways to embed the widget. */
function widgetParts(appId: string, baseUrl: string): Snippet['parts'] {
  return [
    {
      name: 'Before </body>, calls are kept until the script is there',
      code: `<script>
window.deskbell = window.deskbell || function () { (deskbell.q = deskbell.q || []).push(arguments); };
deskbell('init', { appId: '${appId}' });
</script>
<script async src="${baseUrl}/widget.js"></script>`,
    },
    {
      name: 'Or one tag (also under Trusted Types)',
      code: `<script async src="${baseUrl}/widget.js" data-app-id="${appId}"></script>`,
    },
    {
      name: 'Or from npm (npm install @deskbell/sdk)',
      code: `import { init } from '@deskbell/sdk';\nawait init({ appId: '${appId}', apiBaseUrl: '${baseUrl}' });`,
    },
  ];
}

/** Without a widget: the same API from a page of a registered website. */
function apiParts(appId: string, baseUrl: string): Snippet['parts'] {
  return [
    {
      name: 'In a page of a registered website (opens a conversation and writes into it)',
      code: `<script type="module">
const api = '${baseUrl}/api/v1';
const headers = {
  'Content-Type': 'application/json',
  'X-App-Id': '${appId}',
  'X-Visitor-Id': (localStorage.deskbellVisitor ??= crypto.randomUUID()),
};
async function post(path, body) {
  const options = { method: 'POST', headers, body: JSON.stringify(body) };
  return (await fetch(api + path, options)).json();
}
const { conversation } = await post('/conversations', {});
const messages = '/conversations/' + conversation.id + '/messages';
await post(messages, { content: 'Is anybody there?' });
</script>`,
    },
  ];
}

// The lines that a customer pastes, for each of the three ways to embed the widget. Makes text only.
import type { Application } from '../protocol/entities.ts';

export interface Snippet {
  readonly parts: readonly { readonly name: string; readonly code: string }[];
  /** The parts with their names, ready to print. */
  readonly lines: string;
}

/** @param baseUrl the address under which visitors reach the service, without a trailing slash */
export function snippetText({ appId }: Pick<Application, 'appId'>, baseUrl: string): Snippet {
  const parts = [
    {
      name: 'Before </body>, calls are kept until the script is there',
      code: `<script>
window.deskbell = window.deskbell || function () { (deskbell.q = deskbell.q || []).push(arguments); };
deskbell('init', { appId: '${appId}' });
</script>
<script async src="${baseUrl}/widget.js"></script>`,
    },
    { name: 'Or one tag (also under Trusted Types)', code: widgetTag(appId, baseUrl) },
    {
      name: 'Or with the package @deskbell/sdk (npm run build:sdk in a checkout makes it)',
      code: `import { init } from '@deskbell/sdk';\nawait init({ appId: '${appId}', apiBaseUrl: '${baseUrl}' });`,
    },
  ];
  return { parts, lines: parts.map(({ name, code }) => `${name}:\n\n${indent(code)}`).join('\n\n') };
}

/** The one line that shows the widget. @param baseUrl as of `snippetText` */
export function widgetTag(appId: string, baseUrl: string): string {
  return `<script async src="${baseUrl}/widget.js" data-app-id="${appId}"></script>`;
}

function indent(code: string): string {
  return code.replace(/^(?=.)/gm, '  ');
}

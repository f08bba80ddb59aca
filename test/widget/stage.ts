// Owns the stage of the widget's tests: the real server with an operator, a customer's site on another origin,
// and a browser. Must not assert anything.
import type { Browser, Locator, Page } from 'playwright-core';
import { eventually } from '../helpers/eventually.ts';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { aSite, launchBrowser, type Site } from '../helpers/browser.ts';
import { aMember, anApplication, anOrganization, type TestApplication, type TestMember } from '../helpers/world.ts';

export interface Stage {
  app: TestApp;
  readonly site: Site;
  readonly browser: Browser;
  readonly application: TestApplication;
  readonly operator: TestMember;
  /** The static tag for this application. */
  tag(attributes?: string): string;
  configure(settings: Readonly<Record<string, unknown>>): Promise<void>;
  close(): Promise<void>;
}

/** Everything up and running, in real time: browsers have clocks of their own. */
export async function aStage(options: TestAppOptions = {}): Promise<Stage> {
  const app = await startApp({ realTime: true, ...options });
  const site = await aSite();
  const browser = await launchBrowser();
  await anOrganization(app, 'acme');
  const application = await anApplication(app, 'acme', site.domain);
  const operator = await aMember(app, 'acme', 'operator', 'Olivia');
  const stage: Stage = {
    app,
    site,
    browser,
    application,
    operator,
    tag: (attributes = '') => `<script async src="${stage.app.url}/widget.js" data-app-id="${application.id}" ${attributes}></script>`,
    configure: async (settings) => {
      await stage.app.local('applications.configure', {
        applicationId: application.id,
        settings: Object.entries(settings).map(([path, value]) => ({ path, value })),
      });
    },
    close: async () => {
      await browser.close();
      await site.close();
      await stage.app.stop();
    },
  };
  return stage;
}

/** The conversation that was begun last and has a message, in whatever order the operator's list is. */
export async function newest({ operator }: Stage): Promise<string> {
  return eventually(async () => {
    const { body } = await operator.call('GET', '/conversations?limit=100');
    const written = (body.conversations as { id: string; createdAt: string; lastMessage: object | null }[]).filter(
      ({ lastMessage }) => lastMessage !== null,
    );
    const found = written.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt)).at(-1);
    if (found === undefined) throw new Error('no conversation has come in');
    return found.id;
  });
}

/** The operator takes a conversation over. */
export async function accept({ operator }: Stage, id: string): Promise<void> {
  await operator.call('POST', `/conversations/${id}/accept`);
}

/** The operator writes. */
export async function answer({ operator }: Stage, id: string, content: string, contentFormat = 'plain'): Promise<void> {
  const { status, text } = await operator.call('POST', `/conversations/${id}/messages`, { content, contentFormat });
  if (status !== 201) throw new Error(text);
}

/** An ordinary page around a script. */
export function html(body: string, head = ''): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>A shop</title>${head}</head><body><main><h1>A shop</h1><p>Tea and cups.</p></main>${body}</body></html>`;
}

/** The parts of the widget, by what people see of them. */
export function widget(page: Page): {
  readonly launcher: Locator;
  readonly dialog: Locator;
  readonly field: Locator;
  readonly send: Locator;
  readonly log: Locator;
  button(name: string | RegExp): Locator;
  open(): Promise<void>;
  write(text: string): Promise<void>;
} {
  const host = page.locator('deskbell-widget');
  const field = host.getByRole('textbox').first();
  const launcher = host.locator('.launcher');
  const button = (name: string | RegExp): Locator => host.getByRole('button', { name });
  const send = button('Send');
  return {
    launcher,
    dialog: host.getByRole('dialog'),
    field,
    send,
    log: host.getByRole('log'),
    button,
    open: async () => {
      await launcher.click();
      await field.waitFor();
    },
    write: async (text) => {
      await field.click();
      await page.keyboard.type(text);
      await page.keyboard.press('Enter');
    },
  };
}

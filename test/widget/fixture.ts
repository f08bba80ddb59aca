// Owns the stage of the widget's tests: the real server with an operator, a customer's site on another origin,
// and a browser. Must not assert anything.
import type { Browser, Locator, Page } from 'playwright-core';
import { eventually } from '../helpers/eventually.ts';
import { setByPath } from '../helpers/settings.ts';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { launchBrowser, routeLoaded, startHostSite, type HostSite } from '../helpers/browser.ts';
import {
  createMember,
  createApplication,
  createOrganization,
  type TestApplication,
  type TestMember,
} from '../helpers/fixtures.ts';

export interface WidgetFixture {
  app: TestApp;
  readonly site: HostSite;
  readonly browser: Browser;
  readonly application: TestApplication;
  readonly operator: TestMember;
  /** The static tag for this application. */
  tag(attributes?: string): string;
  configure(settings: Readonly<Record<string, unknown>>): Promise<void>;
  close(): Promise<void>;
}

/** Everything up and running, in real time: browsers have clocks of their own. */
export async function createWidgetFixture(options: TestAppOptions = {}): Promise<WidgetFixture> {
  const app = await startApp({ realTime: true, ...options });
  const site = await startHostSite();
  const browser = await launchBrowser();
  await createOrganization(app, 'acme');
  const application = await createApplication(app, 'acme', site.domain);
  const operator = await createMember(app, 'acme', 'operator', 'Olivia');
  const stage: WidgetFixture = {
    app,
    site,
    browser,
    application,
    operator,
    tag: (attributes = '') =>
      `<script async src="${stage.app.url}/widget.js" data-app-id="${application.id}" ${attributes}></script>`,
    configure: async (settings) => {
      await setByPath(stage.app, application.id, settings);
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
export async function newestConversation({ operator }: WidgetFixture): Promise<string> {
  return eventually(async () => {
    const { body } = await operator.call('GET', '/conversations?limit=100');
    const written = (
      body.conversations as { id: string; createdAt: string; lastMessage: object | null }[]
    ).filter(({ lastMessage }) => lastMessage !== null);
    const found = written.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt)).at(-1);
    if (found === undefined) throw new Error('no conversation has come in');
    return found.id;
  });
}

/** The operator takes a conversation over. */
export async function acceptConversation({ operator }: WidgetFixture, id: string): Promise<void> {
  await operator.call('POST', `/conversations/${id}/accept`);
}

/** The operator writes. */
export async function sendReply(
  { operator }: WidgetFixture,
  id: string,
  content: string,
  contentFormat = 'plain',
): Promise<void> {
  const { status, text } = await operator.call('POST', `/conversations/${id}/messages`, {
    content,
    contentFormat,
  });
  if (status !== 201) throw new Error(text);
}

/** The file with the SDK and the conversation, as the build names it. */
export const conversationFile = '**/conversation-*.js';

/**
 * Holds the file with the SDK back.
 * @returns lets it through, once it has been asked for
 */
export async function holdConversationFile(page: Page): Promise<() => Promise<void>> {
  const requested = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await routeLoaded(page, conversationFile, async (route) => {
    requested.resolve();
    await released.promise;
    await route.continue();
  });
  return async () => {
    await requested.promise;
    released.resolve();
  };
}

/** An ordinary page around a script. */
export function htmlPage(body: string, head = ''): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>A shop</title>${head}</head><body><main><h1>A shop</h1><p>Tea and cups.</p></main>${body}</body></html>`;
}

/** The parts of the widget, by what people see of them. */
export function widgetLocators(page: Page): {
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

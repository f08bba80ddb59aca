// Owns the global function `deskbell`: takes over from the snippet's queue, replays it, and keeps to one widget
// however often the script is included. The first line that runs on a customer's page.
import { createWidget, type Widget } from './widget.ts';
import type { WidgetOptions } from './host.ts';

interface Global {
  (command: string, ...args: readonly unknown[]): Promise<unknown>;
  /** What the snippet collected before this script came. */
  q?: readonly ArrayLike<unknown>[];
  /** Set by this script: it is here already. */
  loaded?: true;
}

const holder = window as unknown as { deskbell?: Global };
const tag = document.currentScript instanceof HTMLScriptElement ? document.currentScript : null;
/** Where this script came from: its tag, or (included by import()) the first line of a stack. */
const source = tag?.src ?? /https?:\/\/[^\s)]+\.js/.exec(new Error().stack ?? '')?.[0] ?? location.href;
const before = holder.deskbell;

function take(): Global {
  let widget: Widget | null = null;

  /** @param options what a page gave: maybe nothing */
  async function init(options: Partial<WidgetOptions> | undefined): Promise<unknown> {
    const { appId = '' } = options ?? {};
    if (appId === '') throw new Error(`init needs the application's id: deskbell('init', { appId: '…' })`);
    if (widget === null) {
      const made = createWidget(
        { ...options, appId, apiBaseUrl: new URL(options?.apiBaseUrl ?? source, location.href).origin },
        () => {
          if (widget === made) widget = null;
        },
        warn,
      );
      widget = made;
    } else if (widget.appId !== appId) {
      throw new Error('another application is initialised on this page (already_initialised).');
    }
    return widget.ready;
  }

  /** Calls that came before `init`. */
  let early: (() => void)[] = [];
  const deskbell: Global = (command, ...args) => {
    if (command === 'init') {
      const result = init(args[0] as Partial<WidgetOptions> | undefined);
      for (const run of early.splice(0)) run();
      result.catch((error: unknown) => warn(error));
      return result;
    }
    if (widget !== null) return widget.call(command, args);
    return new Promise((resolve) => {
      early = [...early, () => resolve(deskbell(command, ...args))];
    });
  };
  deskbell.loaded = true;
  for (const [command, ...args] of (before?.q ?? []).map((call) => Array.from(call)))
    void deskbell(String(command), ...args);
  return deskbell;
}

function warn(error: unknown): void {
  // The owner of the site looks here when nothing shows; a visitor never sees it.
  globalThis.console.warn(`deskbell: ${error instanceof Error ? error.message : String(error)}`);
}

const deskbell = before?.loaded === true ? before : take();
holder.deskbell = deskbell;
const { appId, locale, theme } = tag?.dataset ?? {};
if (appId !== undefined) {
  void deskbell('init', {
    appId,
    ...(locale === undefined ? {} : { locale }),
    ...(theme === 'light' || theme === 'dark' ? { theme } : {}),
    apiBaseUrl: source,
  });
}

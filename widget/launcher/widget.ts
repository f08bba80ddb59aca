// Owns the first stage: configuration, the launcher in its shadow root, and fetching the panel when a visitor
// reaches for it. Must not store anything, make an identifier or open a connection.
import type { SdkApi, SdkConfig } from '../../src/sdk/types.ts';
import { fetchConfig, maxRetryWaitMs } from './config.ts';
import { isReturningVisitor } from './returning-visitor.ts';
import { drawLauncher, type DrawnLauncher } from './draw-launcher.ts';
import type { PanelModule, WidgetHost, WidgetOptions } from './host.ts';

export interface Widget {
  readonly appId: string;
  /** Resolves when the launcher stands; rejects when the application or the page's origin is refused. */
  readonly ready: Promise<unknown>;
  /** Runs a method of the SDK by name, once the engine is there. Calls keep their order. */
  call(name: string, args: readonly unknown[]): Promise<unknown>;
}

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls that need no engine as long as there is none: they only undo what has not happened yet. */
const idleCalls = new Set(['show', 'hide', 'close']);

/**
 * @param options with `apiBaseUrl` filled in
 * @param gone called once when the widget has been destroyed
 * @param warn tells the owner of the site
 */
export function createWidget(
  options: WidgetOptions & { readonly apiBaseUrl: string },
  gone: () => void,
  warn: (text: string) => void,
): Widget {
  const life = new AbortController();
  const { signal } = life;
  const host = document.createElement('deskbell-widget');
  const calls: Call[] = [];
  const load = createPanelLoader(options.apiBaseUrl);
  let config: SdkConfig | null = null;
  let engine: SdkApi | null = null;
  let wanted = false;
  let coming = false;
  let shell: WidgetHost | null = null;

  const ready =
    options.headless === true
      ? Promise.resolve().then(() => begin(null))
      : fetchConfig(options, signal, warn).then(draw);
  // What was refused can be asked for anew, and otherwise.
  ready.catch(destroy);

  function draw(found: SdkConfig): void {
    config = found;
    begin(
      drawLauncher(host, {
        options,
        config: found,
        signal,
        reach: () => void load().catch(() => undefined),
        click: () => {
          // A second click while the panel is on its way must not close what is not open yet.
          if (engine !== null || !opensFirst(calls)) void call('toggle', []);
        },
      }),
    );
    whenIdle(() => {
      if (isReturningVisitor(options)) void loadEngine();
    });
  }

  /** From here on the engine can be made: with a box to draw in, or without. */
  function begin(drawn: DrawnLauncher | null): void {
    shell = {
      options,
      config,
      box: drawn?.box ?? null,
      root: drawn?.root ?? null,
      launcher: drawn?.launcher ?? null,
      signal,
      setUnread: (count, label) => {
        drawn?.badge.replaceChildren(count === 0 ? '' : count > 99 ? '99+' : String(count));
        drawn?.launcher.setAttribute('aria-label', label);
      },
      setOpen: (open) => drawn?.launcher.setAttribute('aria-expanded', String(open)),
      setVisible: (visible) => host.toggleAttribute('hidden', !visible),
      setLanguage: (tag, rightToLeft) => {
        host.lang = tag;
        host.dir = rightToLeft ? 'rtl' : 'ltr';
      },
      setTheme: (theme) => drawn?.paint(theme),
      call,
    };
    if (wanted || options.headless === true) void loadEngine();
  }

  async function loadEngine(): Promise<void> {
    wanted = true;
    if (shell === null || coming) return;
    coming = true;
    shell.launcher?.setAttribute('aria-busy', 'true');
    // What was asked for is not lost when a file can't be had: it waits for the next try.
    for (
      let waitMs = 1_000;
      engine === null && !signal.aborted;
      waitMs = Math.min(waitMs * 2, maxRetryWaitMs)
    ) {
      try {
        const panel = await load();
        if (signal.aborted) return;
        engine = await panel.start(shell, opensFirst(calls) && host.hidden === false);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
    shell.launcher?.removeAttribute('aria-busy');
    if (engine !== null) for (const one of calls.splice(0)) run(engine, one);
  }

  function call(name: string, args: readonly unknown[]): Promise<unknown> {
    const result = new Promise((resolve, reject) => {
      const one = { name, args, resolve, reject };
      if (name === 'destroy') {
        destroy();
        resolve(undefined);
        return;
      }
      if (engine !== null) {
        run(engine, one);
        return;
      }
      if (name === 'show' || name === 'hide') host.toggleAttribute('hidden', name === 'hide');
      calls.push(one);
      if (!idleCalls.has(name)) void loadEngine();
    });
    // The page may ignore it; failures are events too.
    result.catch(() => undefined);
    return result;
  }

  function destroy(): void {
    life.abort();
    host.remove();
    gone();
    for (const { reject } of calls.splice(0)) reject(new Error('The widget was destroyed.'));
  }

  return { appId: options.appId, ready, call };
}

/** Fetches the panel's file, once, and again after it could not be had. @param base the service's address */
function createPanelLoader(base: string): () => Promise<PanelModule> {
  let loading: Promise<PanelModule> | null = null;
  let attempt = 0;
  const load = (): Promise<PanelModule> => {
    // A release of the service replaces the panel's file: an older launcher then finds the new one by its stable name.
    const file = attempt === 0 ? PANEL_FILE : `panel.js?${attempt}`;
    loading ??= (import(`${base}/${file}`) as Promise<PanelModule>).catch((error: unknown) => {
      loading = null;
      attempt++;
      if (attempt === 1) return load();
      throw error;
    });
    return loading;
  };
  return load;
}

/** Whether the waiting calls end with the panel open: then it need not wait for the engine. */
function opensFirst(calls: readonly Call[]): boolean {
  return calls.reduce(
    (open, { name }) =>
      name === 'open' ? true : name === 'close' ? false : name === 'toggle' ? !open : open,
    false,
  );
}

function run(engine: SdkApi, { name, args, resolve, reject }: Call): void {
  try {
    const method: unknown = Object.hasOwn(engine, name) ? engine[name as keyof SdkApi] : undefined;
    if (typeof method !== 'function') throw new Error(`deskbell: there is no "${name}".`);
    resolve((method as (...given: readonly unknown[]) => unknown)(...args));
  } catch (error) {
    reject(error);
  }
}

function whenIdle(then: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(then);
  else setTimeout(then, 200);
}

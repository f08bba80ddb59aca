// Owns the first stage: configuration, the launcher in its shadow root, and fetching the panel when a visitor
// reaches for it. Must not store anything, make an identifier or open a connection.
import type { SdkApi, SdkConfig, Theme } from '../../src/sdk/types.ts';
import { palette } from '../shared/colours.ts';
import { h, icon, sheet } from '../shared/dom.ts';
import { launcherIcons } from '../shared/icons.ts';
import { chooseLanguage, isRightToLeft } from '../shared/languages.ts';
import { fetchConfig, maxRetryWaitMs } from './config.ts';
import { isReturningVisitor } from './returning-visitor.ts';
import css from './launcher.css';
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
/** The word for the launcher where it is not "Chat". */
const words: Readonly<Partial<Record<string, string>>> = { ar: 'الدردشة', pl: 'Czat' };

/**
 * @param options with `apiBaseUrl` filled in
 * @param gone called once when the widget has been destroyed
 */
export function createWidget(
  options: WidgetOptions & { readonly apiBaseUrl: string },
  gone: () => void,
): Widget {
  const life = new AbortController();
  const { signal } = life;
  const host = document.createElement('deskbell-widget');
  const calls: Call[] = [];
  let config: SdkConfig | null = null;
  let engine: SdkApi | null = null;
  let loading: Promise<PanelModule> | null = null;
  let wanted = false;
  let coming = false;
  let attempt = 0;
  let shell: WidgetHost | null = null;

  const ready =
    options.headless === true
      ? Promise.resolve().then(() => begin(null))
      : fetchConfig(options, signal).then(draw);

  function draw(found: SdkConfig): void {
    config = found;
    begin(attachLauncher(found));
    whenIdle(() => {
      if (isReturningVisitor(options)) void loadEngine();
    });
  }

  /** From here on the engine can be made: with a box to draw in, or without. */
  function begin(drawn: Drawn | null): void {
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

  interface Drawn {
    readonly root: ShadowRoot;
    readonly box: HTMLElement;
    readonly launcher: HTMLButtonElement;
    readonly badge: HTMLElement;
    paint(theme: Theme): void;
  }

  function attachLauncher({ appearance, locale }: SdkConfig): Drawn {
    const { language, tag } = chooseLanguage([
      options.locale,
      locale,
      document.documentElement.lang,
      navigator.language,
    ]);
    const root = host.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet(css)];
    const badge = h('span', { class: 'badge', 'aria-hidden': 'true' });
    const word = words[language] ?? 'Chat';
    const launcher = h(
      'button',
      {
        class: 'launcher',
        type: 'button',
        'aria-label': word,
        'aria-haspopup': 'dialog',
        'aria-expanded': 'false',
        pointerenter: prefetch,
        focus: prefetch,
        click: () => {
          // A second click while the panel is on its way must not close what is not open yet.
          if (engine !== null || !opensFirst()) void call('toggle', []);
        },
      },
      icon(launcherIcons[appearance.launcherIcon]),
      badge,
    );
    const box = h(
      'section',
      { class: `box ${appearance.position === 'bottom-left' ? 'left' : ''}`, 'aria-label': word },
      launcher,
    );
    const darkness = matchMedia('(prefers-color-scheme: dark)');
    let theme = options.theme ?? 'auto';
    const paint = (next: Theme): void => {
      theme = next;
      const dark = theme === 'dark' || (theme === 'auto' && darkness.matches);
      for (const [name, value] of Object.entries(palette(appearance.colors, dark)))
        box.style.setProperty(name, value);
      box.style.setProperty('color-scheme', dark ? 'dark' : 'light');
    };
    paint(theme);
    darkness.addEventListener('change', () => paint(theme), { signal });
    root.append(box);
    host.lang = tag;
    host.dir = isRightToLeft(language) ? 'rtl' : 'ltr';
    // The top layer: above every z-index, and no transform of the page's moves it.
    host.popover = 'manual';
    const attach = (): void => {
      document.documentElement.append(host);
      // Where popovers are not known, the style sheet alone keeps it in place.
      if ('showPopover' in host) host.showPopover();
    };
    attach();
    // Single-page sites swap what they did not put there themselves.
    const watch = new MutationObserver(() => {
      if (!host.isConnected) attach();
    });
    watch.observe(document.documentElement, { childList: true });
    signal.addEventListener('abort', () => watch.disconnect());
    return { root, box, launcher, badge, paint };
  }

  function prefetch(): void {
    load().catch(() => undefined);
  }

  function load(): Promise<PanelModule> {
    // A release of the service replaces the panel's file: an older launcher then finds the new one by its stable name.
    const file = attempt === 0 ? PANEL_FILE : `panel.js?${attempt}`;
    loading ??= (import(`${options.apiBaseUrl}/${file}`) as Promise<PanelModule>).catch((error: unknown) => {
      loading = null;
      attempt++;
      if (attempt === 1) return load();
      throw error;
    });
    return loading;
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
        engine = await panel.start(shell, opensFirst());
      } catch {
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
    shell.launcher?.removeAttribute('aria-busy');
    if (engine !== null) for (const one of calls.splice(0)) run(engine, one);
  }

  /** Whether the waiting calls end with the panel open: then it need not wait for the engine. */
  function opensFirst(): boolean {
    return calls.reduce(
      (open, { name }) =>
        name === 'open' ? true : name === 'close' ? false : name === 'toggle' ? !open : open,
      false,
    );
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

// Owns the launcher as it is drawn: button, badge, colours, and staying above the page.
// Must not know what a click leads to.
import type { SdkConfig, Theme } from '../../src/sdk/types.ts';
import { palette } from '../shared/colours.ts';
import { h, icon, sheet } from '../shared/dom.ts';
import { launcherIcons } from '../shared/icons.ts';
import { chooseLanguage, isRightToLeft } from '../shared/languages.ts';
import type { WidgetOptions } from './host.ts';
import css from './launcher.css';

/** What is drawn before anything else is loaded. */
export interface DrawnLauncher {
  readonly root: ShadowRoot;
  readonly box: HTMLElement;
  readonly launcher: HTMLButtonElement;
  readonly badge: HTMLElement;
  paint(theme: Theme): void;
}

export interface LauncherOptions {
  readonly options: WidgetOptions;
  readonly config: SdkConfig;
  readonly signal: AbortSignal;
  /** A pointer or the focus is on it: it may be pressed next. */
  reach(): void;
  click(): void;
}

/** The word for the launcher where it is not "Chat". */
const words: Readonly<Partial<Record<string, string>>> = { ar: 'الدردشة', pl: 'Czat' };

/** Draws the launcher in a shadow root of its own, and keeps it on the page until the signal. */
export function drawLauncher(
  host: HTMLElement,
  { options, config: { appearance, locale }, signal, reach, click }: LauncherOptions,
): DrawnLauncher {
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
      pointerenter: reach,
      focus: reach,
      click,
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
  stayOnPage(host, signal);
  return { root, box, launcher, badge, paint };
}

/** Puts the widget on the page, above it, and back where a page's script takes it away. */
function stayOnPage(host: HTMLElement, signal: AbortSignal): void {
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
}

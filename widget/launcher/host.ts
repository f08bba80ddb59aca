// Owns what the launcher lends to the panel: types only, the seam between the two files that a page loads.
import type { InitOptions, SdkApi, SdkConfig, Theme } from '../../src/sdk/types.ts';
import type { Panel, PanelDraft } from '../panel/panel.ts';

/** What `deskbell('init', …)` takes: the SDK's options. */
export type WidgetOptions = InitOptions;

export interface WidgetHost {
  readonly options: WidgetOptions;
  /** Null when it could not be had, or was not asked for (headless). */
  readonly config: SdkConfig | null;
  /** The box in the shadow root to put things in; null when nothing is drawn. */
  readonly box: HTMLElement | null;
  readonly root: ShadowRoot | null;
  readonly launcher: HTMLButtonElement | null;
  /** Aborted by `destroy`. */
  readonly signal: AbortSignal;
  /** @param label what the launcher is called from now on */
  setUnread(count: number, label: string): void;
  setOpen(open: boolean): void;
  setVisible(visible: boolean): void;
  /** Sets the language's direction and tag on the widget. */
  setLanguage(tag: string, rightToLeft: boolean): void;
  /** Paints the widget's colours. */
  setTheme(theme: Theme): void;
  /** Runs a method of the engine by name, now or once it has come. */
  call(name: string, args: readonly unknown[]): Promise<unknown>;
}

/** A shell with something to see. */
export type VisibleHost = WidgetHost & {
  readonly box: HTMLElement;
  readonly root: ShadowRoot;
  readonly launcher: HTMLButtonElement;
};

/** Makes the frame in another language, with what was being written. */
export type MakePanel = (locale: string | null, draft: PanelDraft) => Promise<Panel>;

/** What the panel's file exports. */
export interface PanelModule {
  /**
   * Shows the frame, where there is a box, and sends for the engine.
   * @param open whether the panel is to be seen at once
   */
  start(shell: WidgetHost, open: boolean): Promise<SdkApi>;
}

/** What the file with engine and conversation exports. */
export interface ConversationModule {
  start(shell: WidgetHost, frame: Panel | null, makeFrame: MakePanel): SdkApi;
}

// The console's model on a fake service and a clock that a test moves by hand, and keys as
// a person presses them. Not a test itself.
import { inEnglish } from '../../src/desk/english.ts';
import type { Draft, DraftStore } from '../../src/desk/drafts.ts';
import { createEnglishKeymap } from '../../src/desk/command-texts.ts';
import { terminalTools } from '../../src/desk/terminal-tools.ts';
import type { DeskTools } from '../../src/desk/tools.ts';
import type { Keymap } from '../../src/desk/keymap.ts';
import { DeskController } from '../../src/desk/desk-controller.ts';
import { TerminalView } from '../../src/cli/console/views/terminal-view.ts';
import type { ViewState } from '../../src/cli/console/views/view-state.ts';
import type { StaffConversationListItem } from '../../src/protocol/entities.ts';
import { FakeStaff, start } from './fake-staff.ts';

export interface ModelFixture {
  readonly staff: FakeStaff;
  readonly model: DeskController;
  readonly view: TerminalView;
  readonly keymap: Keymap;
  readonly drafts: DraftStore;
  /** What the notifier was told, as `notify title|body` and `count 3`. */
  readonly notifications: string[];
  readonly copied: string[];
  /** Exit codes. */
  readonly exitCodes: number[];
  /** Answers of the sign-in that is asked for, and of the editor. */
  token: string | null;
  edited: string | null;
  state(): ViewState;
  /** Key names; a text longer than a key is typed. Waits until all answers have come. */
  press(...keys: readonly string[]): Promise<void>;
  /** Until nothing is under way any more. */
  settle(): Promise<void>;
  /** Moves the clock, and runs what is due. */
  advance(ms: number): Promise<void>;
  /** The flash's text; empty: there is none. */
  flash(): string;
}

const rounds = 12;

export interface ModelFixtureOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly role?: 'admin' | 'operator';
  readonly drafts?: ReadonlyMap<string, Draft>;
  /** The terminal's, where nothing else is said. */
  readonly tools?: DeskTools;
  /** Before the console starts. */
  readonly prepare?: (staff: FakeStaff) => void;
}

/** What the model loads on use is there: what is waited for is turns of the loop, and no file. */
async function loadLate(): Promise<void> {
  await Promise.all([
    import('../../src/desk/ai-draft.ts'),
    import('../../src/desk/canned-replies.ts'),
    import('../../src/desk/conflicts.ts'),
    import('../../src/desk/file-upload.ts'),
    import('../../src/desk/lexical-markdown.ts'),
    import('../../src/desk/message-edits.ts'),
    import('../../src/desk/outer-editor.ts'),
    import('../../src/desk/refusals.ts'),
  ]);
}

/** A console that is signed in and has loaded its queue. */
export async function createModelFixture(
  items: readonly StaffConversationListItem[],
  options: ModelFixtureOptions = {},
): Promise<ModelFixture> {
  await loadLate();
  const staff = new FakeStaff(items, options.role);
  const kept = new Map(options.drafts);
  const drafts: DraftStore = {
    get: (id) => kept.get(id) ?? null,
    set: (id, draft) => void kept.set(id, draft),
    remove: (id) => void kept.delete(id),
    ids: () => [...kept.keys()],
    flush: () => undefined,
  };
  const timers = new Set<{ at: number; run: () => void }>();
  let now = start;
  const notifications: string[] = [];
  const copied: string[] = [];
  const exitCodes: number[] = [];
  const keymap = createEnglishKeymap();
  let muted = false;
  const model = new DeskController({
    say: inEnglish,
    client: staff.client,
    drafts,
    keymap,
    tools: options.tools ?? terminalTools,
    mode: 'live',
    notifier: {
      start: () => undefined,
      stop: () => undefined,
      notify: (title, body) => void notifications.push(`notify ${title}|${body}`),
      setCount: (waiting) => void notifications.push(`count ${waiting}`),
      mute: (quiet) => {
        muted = quiet;
      },
      get muted() {
        return muted;
      },
    },
    runtime: {
      copy: (text) => void copied.push(text),
      now: () => now,
      schedule: (ms, run) => {
        const timer = { at: now + ms, run };
        timers.add(timer);
        return () => timers.delete(timer);
      },
      edit: async () => fixture.edited,
      signInAgain: async () => fixture.token,
      exit: (code) => void exitCodes.push(code),
    },
  });
  const size = { columns: options.columns ?? 120, rows: options.rows ?? 40 };
  const view = new TerminalView(model, size, () => undefined);
  const settle = async (): Promise<void> => {
    for (let round = 0; round < rounds; round += 1)
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
  };
  const fixture: ModelFixture = {
    staff,
    model,
    view,
    keymap,
    drafts,
    notifications,
    copied,
    exitCodes,
    token: null,
    edited: null,
    state: view.get,
    press: async (...keys) => {
      for (const key of keys) {
        const isKey =
          key.length === 1 ||
          /^(enter|escape|tab|up|down|left|right|pageup|pagedown|home|end|backspace|delete|(ctrl|alt|shift)\+.+)$/.test(
            key,
          );
        if (isKey) model.pressKeys([{ key: key === ' ' ? 'space' : key, text: key.length === 1 ? key : '' }]);
        else
          for (const letter of key)
            model.pressKeys([{ key: letter === ' ' ? 'space' : letter, text: letter }]);
        await settle();
      }
    },
    settle,
    advance: async (ms) => {
      const until = now + ms;
      for (;;) {
        const next = [...timers]
          .filter(({ at }) => at <= until)
          .toSorted((one, other) => one.at - other.at)[0];
        if (next === undefined) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.run();
        await settle();
      }
      now = until;
      await settle();
    },
    flash: () => model.store.get().flash?.text ?? '',
  };
  options.prepare?.(staff);
  void model.start('token');
  await settle();
  // The counts come a moment later.
  if (model.store.get().session !== null) await fixture.advance(1_000);
  return fixture;
}

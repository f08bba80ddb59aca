// Starts the console: client, model, screen; and ends it with the terminal as it was.
// Must not decide anything about conversations.
import { inEnglish } from '../../desk/english.ts';
import { readFile } from 'node:fs/promises';
import { render } from 'ink';
import { createStaffClient } from '../../sdk/staff.ts';
import { createDraftStore } from './drafts.ts';
import { createFileAccess } from './files.ts';
import { createEnglishKeymap } from '../../desk/command-texts.ts';
import { terminalTools } from '../../desk/terminal-tools.ts';
import type { Keymap } from '../../desk/keymap.ts';
import { KeymapError, parseKeyOverrides } from '../../desk/own-keys.ts';
import { DeskController } from '../../desk/desk-controller.ts';
import { createNotifier } from './notifier.ts';
import type { ConsoleOptions } from './options.ts';
import { createOutbox } from './outbox.ts';
import { clipboardBytes, createTerminalInput, editorOf, editText, stopProgram } from './terminal.ts';
import { App, type TerminalHandle } from './views/app.tsx';
import { TerminalView } from './views/terminal-view.ts';
import { startPlainMode } from './views/plain-mode.ts';

const framesPerSecond = 120;
/** What a closed terminal does to the standard input. */
const hangUps = ['end', 'close', 'error'] as const;
const endings = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

/** The operator's own keys; a file with a fault changes nothing, and says so. */
async function keymapFrom(
  file: string | null,
): Promise<{ readonly keymap: Keymap; readonly problem: string | null }> {
  if (file === null) return { keymap: createEnglishKeymap(), problem: null };
  try {
    return { keymap: createEnglishKeymap(parseKeyOverrides(await readFile(file, 'utf8'))), problem: null };
  } catch (error) {
    const why = error instanceof KeymapError ? error.message : 'it can’t be read.';
    return { keymap: createEnglishKeymap(), problem: `Your keys are not used: ${why}` };
  }
}

/**
 * Runs the console until it is left.
 * @returns the exit code: 0 when it was left, or the operator did not sign in again
 * @throws SdkError where the service refuses the very first request for another reason than the session
 */
export async function runConsole(options: ConsoleOptions): Promise<number> {
  const { stdin, stdout } = options.streams ?? { stdin: process.stdin, stdout: process.stdout };
  const { keymap, problem } = await keymapFrom(options.keysFile);
  const schedule = (ms: number, run: () => void): (() => void) => {
    // The keyboard keeps the program alive; a sentence that would vanish later must not.
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  };
  const client = createStaffClient({
    baseUrl: options.baseUrl,
    mode: options.mode,
    environment: options.clientEnvironment ?? {},
    storage: createOutbox(options.stateFolder, options.baseUrl, options.organization),
  });
  const notifier = createNotifier(options.environment, options.notifications, options.organization, (bytes) =>
    stdout.write(bytes),
  );
  let terminal: TerminalHandle | null = null;
  /** Something else has the terminal. */
  let away = false;
  let ended = false;
  let leave: (code: number) => void = () => undefined;
  const left = new Promise<number>((resolve) => {
    leave = resolve;
  });
  const handedOver = async <T,>(run: () => Promise<T>): Promise<T> => {
    drafts.flush();
    const at = terminal;
    if (at === null) return run();
    const { promise, resolve } = Promise.withResolvers<T>();
    away = true;
    try {
      await at.suspend(async () => resolve(await run()));
    } finally {
      away = false;
    }
    return promise;
  };
  const stop = async (): Promise<void> => {
    // By the system's own way: without a listener.
    process.off('SIGTSTP', onStop);
    // An editor that has the terminal stops with all of its group.
    await (away ? stopProgram() : handedOver(stopProgram));
    if (!ended) process.on('SIGTSTP', onStop);
  };
  const onStop = (): void => void stop().catch((error: unknown) => model.context.report(error));
  const drafts = createDraftStore({
    stateFolder: options.stateFolder,
    server: options.baseUrl,
    organization: options.organization,
    after: schedule,
    onProblem: (sentence) => model.context.flash(sentence, 'bad'),
  });
  const model = new DeskController({
    say: inEnglish,
    client,
    drafts,
    keymap,
    notifier,
    tools: terminalTools,
    mode: options.mode,
    runtime: {
      now: Date.now,
      schedule,
      edit: (text) =>
        handedOver(() =>
          editText(editorOf(options.environment), options.stateFolder, text, { stdin, stdout }),
        ),
      signInAgain: () =>
        options.onSignedOut === undefined ? Promise.resolve(null) : handedOver(options.onSignedOut),
      copy: (text) => stdout.write(clipboardBytes(text)),
      exit: leave,
      files: createFileAccess({ target: client.fileTarget }),
    },
  });

  notifier.start();
  if (problem !== null) model.context.flash(problem, 'bad');
  const inLines = options.screenReader || isPlain(options.environment);
  const show = inLines ? showLines : showScreen;
  const stops = !inLines && process.platform !== 'win32';
  const screen = show({
    model,
    keymap,
    stdin,
    stdout,
    onTerminal: (handle) => (terminal = handle),
    onEnd: () => drafts.flush(),
    onStop: stops ? onStop : undefined,
    leave,
  });
  // Asked to end from outside, or by Ctrl-C where the keyboard is not ours: in order, with the title as it was.
  const onEnding = (): void => leave(0);
  for (const name of endings) process.on(name, onEnding);
  for (const event of hangUps) stdin.once(event, onEnding);
  if (stops) process.on('SIGTSTP', onStop);
  try {
    const started = model.start(options.token).then((signedIn) => {
      if (!signedIn) leave(0);
    });
    // Whichever comes first: the operator leaves, the screen ends (a signal), or the service refuses for good.
    return await Promise.race([left, screen.ended, started.then(() => left)]);
  } finally {
    ended = true;
    process.off('SIGTSTP', onStop);
    for (const event of hangUps) stdin.off(event, onEnding);
    model.stop();
    drafts.flush();
    notifier.stop();
    await screen.close();
    for (const name of endings) process.off(name, onEnding);
  }
}

interface ScreenOptions {
  readonly model: DeskController;
  readonly keymap: Keymap;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  onTerminal(handle: TerminalHandle): void;
  onEnd(): void;
  /** Ctrl+Z where it is no command: the shell is to have the terminal for a while. */
  readonly onStop: (() => void) | undefined;
  leave(code: number): void;
}

interface Screen {
  /** Resolves when the screen ends without having been closed. */
  readonly ended: Promise<number>;
  close(): Promise<void>;
}

/** A terminal that knows no escape sequences. */
function isPlain(environment: ConsoleOptions['environment']): boolean {
  return ['', 'dumb'].includes(environment['TERM'] ?? '');
}

/** One column of lines. */
function showLines({ model, keymap, stdin, stdout, onEnd, leave }: ScreenOptions): Screen {
  const plain = startPlainMode({ model, keymap, input: stdin, output: stdout, onEnd: () => leave(0) });
  return {
    ended: new Promise(() => undefined),
    close: async () => {
      onEnd();
      plain.stop();
      stdin.pause();
      await Promise.resolve();
    },
  };
}

function showScreen({ model, keymap, stdin, stdout, onTerminal, onEnd, onStop }: ScreenOptions): Screen {
  let terminal: TerminalHandle | null = null;
  const size = { columns: stdout.columns, rows: stdout.rows };
  const view = new TerminalView(model, size, () => terminal?.redraw());
  const input = createTerminalInput(stdin, stdout, (focused) => model.setFocused(focused));
  const onReady = (handle: TerminalHandle): void => {
    terminal = handle;
    onTerminal(handle);
  };
  const instance = render(
    <App model={model} view={view} keymap={keymap} onTerminal={onReady} onEnd={onEnd} onStop={onStop} />,
    {
      stdin: input.stream,
      stdout,
      exitOnCtrlC: false,
      patchConsole: false,
      maxFps: framesPerSecond,
      incrementalRendering: true,
      alternateScreen: true,
      interactive: true,
      isScreenReaderEnabled: false,
    },
  );
  const ended = instance.waitUntilExit().then(() => 0);
  return {
    ended,
    close: async () => {
      instance.unmount();
      await ended.catch(() => undefined);
      input.end();
    },
  };
}

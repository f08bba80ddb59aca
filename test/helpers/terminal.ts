// Owns a real terminal for tests: the built program on a pty, its screen as rows of text,
// keys typed into it. Two drivers, one interface: a pty with an emulator, and tmux.
// Must not know what a test is about, nor leave a program running.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { access, constants, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { spawn, type IPty } from '@lydell/node-pty';
import headless from '@xterm/headless';
import { cleanEnvironment, repository } from './command.ts';
import { eventually } from './eventually.ts';

const bin = join(repository, 'bin/deskbell.js');

export interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  /** On top of a clean environment with TERM=xterm-256color and a UTF-8 locale. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Another program than the built one: its path and arguments. */
  readonly program?: readonly [string, ...string[]];
}

/** A program on a terminal. */
export interface Terminal {
  readonly driver: 'pty' | 'tmux';
  /** Types text as it stands; a newline is Enter. */
  type(text: string): Promise<void>;
  /** Presses keys by name: `enter`, `esc`, `tab`, `up`, `pageup`, `ctrl+k`, `alt+a`, `f4`, or one character. */
  press(...keys: readonly string[]): Promise<void>;
  /** What the terminal's own paste does: bracketed where the program asked for it. */
  paste(text: string): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** The rows as a person sees them, without blanks at their ends. */
  screen(): Promise<readonly string[]>;
  /** Waits until the screen shows it. @returns the screen; @throws Error with the screen */
  waitFor(what: string | RegExp, timeoutMs?: number): Promise<string>;
  /** Waits until the screen does not show it any more. */
  waitForNo(what: string | RegExp, timeoutMs?: number): Promise<string>;
  /** Every byte that the program wrote to its terminal, as Latin-1: one character a byte. */
  raw(): Promise<string>;
  /** Where the cursor is, from 0, and whether it shows; null where the driver can't tell. */
  cursor(): Promise<{ readonly column: number; readonly row: number; readonly visible: boolean } | null>;
  /** Whether the alternate screen is shown. */
  alternate(): Promise<boolean>;
  /** The window's title as the program set it last. */
  title(): Promise<string>;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Waits for the program's end. @returns its exit code; null when a signal ended it */
  ended(timeoutMs?: number): Promise<number | null>;
  /** Ends what still runs, and frees everything. Twice is once. */
  close(): Promise<void>;
}

const bytesOf: Readonly<Record<string, string>> = {
  enter: '\r',
  esc: '\u001b',
  tab: '\t',
  'shift+tab': '\u001b[Z',
  backspace: '\u007f',
  delete: '\u001b[3~',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  home: '\u001b[H',
  end: '\u001b[F',
  pageup: '\u001b[5~',
  pagedown: '\u001b[6~',
  f1: '\u001bOP',
  f2: '\u001bOQ',
  f3: '\u001bOR',
  f4: '\u001bOS',
  space: ' ',
};

/** What a keyboard sends for a key. */
function keyBytes(key: string): string {
  const known = bytesOf[key];
  if (known !== undefined) return known;
  if (key.startsWith('alt+')) return `\u001b${keyBytes(key.slice(4))}`;
  const letter = /^ctrl\+([a-z])$/.exec(key)?.[1];
  if (letter !== undefined) return String.fromCharCode(letter.charCodeAt(0) - 96);
  if (Array.from(key).length !== 1) throw new Error(`no such key: ${key}`);
  return key;
}

function environmentOf({ environment = {} }: TerminalOptions): Record<string, string> {
  const inherited = cleanEnvironment({ TERM: 'xterm-256color', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' });
  // Of the terminal that the tests themselves run in, nothing may be seen.
  for (const name of [
    'TMUX',
    'STY',
    'NO_COLOR',
    'FORCE_COLOR',
    'CI',
    'TERM_PROGRAM',
    'COLORTERM',
    'EDITOR',
    'VISUAL',
  ])
    delete inherited[name];
  return { ...inherited, ...environment };
}

function programOf(args: readonly string[], { program }: TerminalOptions): readonly [string, ...string[]] {
  return program ?? [process.execPath, bin, ...args];
}

/** No keyboard is faster, and ESC with a letter in one go would be Alt and that letter. */
function asFastAsFingers(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 60));
}

/** The parts that both drivers share. @param screen is asked again and again */
function waiting(screen: () => Promise<readonly string[]>): Pick<Terminal, 'waitFor' | 'waitForNo'> {
  const until = (what: string | RegExp, wanted: boolean, timeoutMs = 120_000): Promise<string> =>
    eventually(async () => {
      const text = (await screen()).join('\n');
      const found = typeof what === 'string' ? text.includes(what) : what.test(text);
      if (found !== wanted)
        throw new Error(`the screen ${wanted ? 'does not show' : 'still shows'} ${String(what)}:\n${text}`);
      return text;
    }, timeoutMs);
  return {
    waitFor: (what, timeoutMs) => until(what, true, timeoutMs),
    waitForNo: (what, timeoutMs) => until(what, false, timeoutMs),
  };
}

/** A pty also tells of every piece of output as it comes. */
export interface PtyTerminal extends Terminal {
  onOutput(listener: (bytes: Uint8Array) => void): void;
}

/** The program on a pty, its output shown by an emulator that answers as a terminal does. */
export async function openPty(args: readonly string[], options: TerminalOptions): Promise<PtyTerminal> {
  const [file, ...rest] = programOf(args, options);
  const emulator = new headless.Terminal({
    cols: options.columns,
    rows: options.rows,
    allowProposedApi: true,
    scrollback: 2_000,
  });
  const pty: IPty = spawn(file, rest, {
    cols: options.columns,
    rows: options.rows,
    env: environmentOf(options),
    encoding: null,
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });
  const chunks: Buffer[] = [];
  const listeners: ((bytes: Uint8Array) => void)[] = [];
  let title = '';
  let drawn = Promise.resolve();
  let exit: { readonly code: number | null } | null = null;
  // Without an encoding the bytes come as they are, whatever the types say.
  pty.onData((data) => {
    const bytes = Buffer.from(data as unknown as Uint8Array);
    chunks.push(bytes);
    for (const listener of listeners) listener(bytes);
    drawn = new Promise((resolve) => emulator.write(bytes, resolve));
  });
  emulator.onData((answer) => pty.write(answer));
  emulator.onTitleChange((text) => (title = text));
  pty.onExit(
    ({ exitCode, signal }) => (exit = { code: signal === undefined || signal === 0 ? exitCode : null }),
  );

  const screen = async (): Promise<readonly string[]> => {
    await drawn;
    const { active } = emulator.buffer;
    return Array.from(
      { length: emulator.rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? '',
    );
  };
  const write = async (text: string): Promise<void> => {
    if (exit === null) pty.write(text);
  };
  const ended = (timeoutMs?: number): Promise<number | null> =>
    eventually(async () => {
      if (exit === null) throw new Error(`the program still runs:\n${(await screen()).join('\n')}`);
      return exit.code;
    }, timeoutMs);
  return {
    driver: 'pty',
    onOutput: (listener) => listeners.push(listener),
    type: (text) => write(text.replaceAll('\n', '\r')),
    press: async (...keys) => {
      for (const key of keys) {
        await write(keyBytes(key));
        await asFastAsFingers();
      }
    },
    paste: (text) =>
      write(
        emulator.modes.bracketedPasteMode
          ? `\u001b[200~${text.replaceAll('\n', '\r')}\u001b[201~`
          : text.replaceAll('\n', '\r'),
      ),
    resize: async (columns, rows) => {
      emulator.resize(columns, rows);
      pty.resize(columns, rows);
    },
    screen,
    ...waiting(screen),
    raw: async () => {
      await drawn;
      return Buffer.concat(chunks).toString('latin1');
    },
    cursor: async () => {
      await drawn;
      const { active } = emulator.buffer;
      const shown = Buffer.concat(chunks).toString('latin1');
      return {
        column: active.cursorX,
        row: active.cursorY,
        visible: shown.lastIndexOf('\u001b[?25h') >= shown.lastIndexOf('\u001b[?25l'),
      };
    },
    alternate: async () => {
      await drawn;
      return emulator.buffer.active.type === 'alternate';
    },
    title: async () => {
      await drawn;
      return title;
    },
    kill: async (signal) => {
      if (exit === null) pty.kill(signal);
    },
    ended,
    close: async () => {
      if (exit === null) pty.kill('SIGKILL');
      await ended();
      await drawn;
      emulator.dispose();
    },
  };
}

const tmuxKeys: Readonly<Record<string, string>> = {
  enter: 'Enter',
  esc: 'Escape',
  tab: 'Tab',
  'shift+tab': 'BTab',
  backspace: 'BSpace',
  delete: 'DC',
  up: 'Up',
  down: 'Down',
  right: 'Right',
  left: 'Left',
  home: 'Home',
  end: 'End',
  pageup: 'PPage',
  pagedown: 'NPage',
  space: 'Space',
};

function tmuxKey(key: string): string {
  if (key.startsWith('alt+')) return `M-${tmuxKey(key.slice(4))}`;
  if (key.startsWith('ctrl+')) return `C-${key.slice(5)}`;
  return tmuxKeys[key] ?? (/^f[1-9][0-2]?$/.test(key) ? key.toUpperCase() : key);
}

/** The program inside tmux, on a server of its own without anybody's settings. */
export async function openTmux(args: readonly string[], options: TerminalOptions): Promise<Terminal> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-tmux-'));
  const socket = join(folder, 'socket');
  const output = join(folder, 'output');
  const target = randomUUID();
  const run = async (...words: readonly string[]): Promise<string> =>
    (
      await promisify(execFile)('tmux', ['-S', socket, '-f', '/dev/null', ...words], {
        env: environmentOf({ ...options, environment: {} }),
      })
    ).stdout;
  const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;
  // tmux says which terminal it is; everything else comes from the test.
  const { TERM: _outer, ...environment } = environmentOf(options);
  const variables = Object.entries(environment).map(([name, value]) => quoted(`${name}=${value}`));
  const [pidFile, statusFile] = [join(folder, 'pid'), join(folder, 'status')];
  const program = `env -i TERM="$TERM" TMUX="$TMUX" ${variables.join(' ')} ${programOf(args, options).map(quoted).join(' ')}`;
  // tmux does not always learn how a program ended, so the shell around it writes that down.
  const command = `trap : INT; sh -c ${quoted(`echo $$ > ${quoted(pidFile)}; exec ${program}`)}; echo $? > ${quoted(statusFile)}`;
  const size = ['-x', String(options.columns), '-y', String(options.rows)];
  // The pane waits for the pipe, so that not one byte is missed.
  await run(
    'new-session',
    '-d',
    '-s',
    target,
    ...size,
    ...(options.cwd === undefined ? [] : ['-c', options.cwd]),
    `read -r go; ${command}`,
  );
  await run('set-option', '-g', 'status', 'off');
  await run('set-option', '-g', 'remain-on-exit', 'on');
  await run('set-option', '-s', 'escape-time', '0');
  await run('set-option', '-g', 'window-size', 'manual');
  await run('set-option', '-g', 'allow-passthrough', 'on');
  await run('resize-window', '-t', target, ...size);
  await run('pipe-pane', '-t', target, '-o', `cat > ${quoted(output)}`);
  await run('send-keys', '-t', target, 'Enter');

  // A question to tmux is a process. Tests ask a hundred times a second, and what tmux answers changes only with the
  // program's output, which lies in the file once tmux has drawn it: until it grows, the last answer stands.
  let drawn = -1;
  const answers = new Map<string, string>();
  const ask = async (command: string, ...words: readonly string[]): Promise<string> => {
    const { size } = await stat(output).catch(() => ({ size: -1 }));
    if (size !== drawn) answers.clear();
    drawn = size;
    const question = [command, ...words].join(' ');
    const known = answers.get(question);
    if (known !== undefined) return known;
    const answer = (await run(command, '-t', target, ...words)).replace(/\n$/, '');
    if (size !== drawn) return answer;
    answers.set(question, answer);
    // Nor for long: a resize shows also where the program writes nothing.
    setTimeout(() => answers.delete(question), 200).unref();
    return answer;
  };
  const asked = (format: string): Promise<string> => ask('display-message', '-p', format);
  const screen = async (): Promise<readonly string[]> =>
    (await ask('capture-pane', '-p')).split('\n').map((row) => row.trimEnd());
  const ended = (timeoutMs?: number): Promise<number | null> =>
    eventually(async () => {
      const status = (await readFile(statusFile, 'utf8').catch(() => '')).trim();
      if (status === '') throw new Error(`the program still runs:\n${(await screen()).join('\n')}`);
      // How a shell tells of a signal.
      return Number(status) > 128 ? null : Number(status);
    }, timeoutMs);
  const send = async (...words: readonly string[]): Promise<void> => {
    await run('send-keys', '-t', target, ...words);
  };
  let closing: Promise<void> | null = null;
  return {
    driver: 'tmux',
    type: async (text) => {
      for (const [index, line] of text.split('\n').entries()) {
        if (index > 0) await send('Enter');
        if (line !== '') await send('-l', '--', line);
      }
    },
    press: async (...keys) => {
      for (const key of keys) {
        await send(tmuxKey(key));
        await asFastAsFingers();
      }
    },
    paste: async (text) => {
      await run('set-buffer', '--', text);
      await run('paste-buffer', '-p', '-t', target);
    },
    resize: async (columns, rows) => {
      await run('resize-window', '-t', target, '-x', String(columns), '-y', String(rows));
    },
    screen,
    ...waiting(screen),
    raw: () => readFile(output, 'latin1'),
    cursor: async () => {
      const [column = '', row = '', flag = ''] = (
        await asked('#{cursor_x} #{cursor_y} #{cursor_flag}')
      ).split(' ');
      return { column: Number(column), row: Number(row), visible: flag === '1' };
    },
    alternate: async () => (await asked('#{alternate_on}')) === '1',
    title: () => asked('#{pane_title}'),
    kill: async (signal) => {
      process.kill(Number(await readFile(pidFile, 'utf8')), signal);
    },
    ended,
    close: () =>
      (closing ??= (async () => {
        await run('kill-server').catch(() => undefined);
        await rm(folder, { recursive: true, force: true });
      })()),
  };
}

async function onPath(name: string): Promise<boolean> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = await Promise.all(
    folders.map((folder) =>
      access(join(folder, name), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

/** tmux where this machine has it, else the pty: the same journeys run either way. */
export async function openTerminal(args: readonly string[], options: TerminalOptions): Promise<Terminal> {
  return (await onPath('tmux')) ? openTmux(args, options) : openPty(args, options);
}

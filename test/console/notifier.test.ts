// Attacks the ways of calling for attention: the right bytes for each terminal, and none of a stranger's.
// Must not test when an operator is notified.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countTitle,
  createNotifier,
  notificationBytes,
  popTitle,
  pushTitle,
  terminalKind,
  titleBytes,
} from '../../src/cli/console/notifier.ts';
import { strangeText } from './text/strange-text.ts';

const ALL = { bell: true, desktop: true, title: true };
const ESC = '\u001b';
const BEL = '\u0007';
const matching = (source: string): RegExp => new RegExp(`^${source}$`, 'u');
const count = (text: string, part: string): number => text.split(part).length - 1;
const XTERM = { TERM: 'xterm-256color' };

describe('terminalKind', () => {
  it.each<[Record<string, string>, string, string | null]>([
    [{ TERM: 'xterm-256color' }, 'osc777', null],
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' }, 'osc9', null],
    [{ TERM: 'xterm-256color', LC_TERMINAL: 'iTerm2' }, 'osc9', null],
    [{ TERM: 'xterm-256color', ConEmuPID: '7' }, 'osc9', null],
    [{ TERM: 'xterm-kitty', KITTY_WINDOW_ID: '1' }, 'osc777', null],
    [{ TERM: 'xterm-ghostty', TERM_PROGRAM: 'ghostty' }, 'osc777', null],
    [{ TERM: 'rxvt-unicode-256color' }, 'osc777', null],
    [{ TERM: 'foot' }, 'osc777', null],
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'WezTerm' }, 'osc777', null],
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'Apple_Terminal' }, 'none', null],
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'vscode' }, 'none', null],
    [{ TERM: 'xterm-256color', WT_SESSION: 'guid' }, 'none', null],
    [{ TERM: 'alacritty' }, 'none', null],
    [{ TERM: 'tmux-256color', TMUX: 'socket,1,0', TERM_PROGRAM: 'tmux' }, 'osc777', 'tmux'],
    [{ TERM: 'screen-256color', TMUX: 'socket,1,0' }, 'osc777', 'tmux'],
    [{ TERM: 'screen-256color', TMUX: 'socket,1,0', LC_TERMINAL: 'iTerm2' }, 'osc9', 'tmux'],
    [{ TERM: 'screen', STY: '1.pts' }, 'osc777', 'screen'],
    [{ TERM: 'xterm', WT_SESSION: 'guid', DESKBELL_NOTIFY: 'osc777' }, 'osc777', null],
    [{ TERM: 'xterm', DESKBELL_NOTIFY: ' OSC9 ' }, 'osc9', null],
    [{ TERM: 'xterm', DESKBELL_NOTIFY: 'bell' }, 'none', null],
    [{ TERM: 'xterm', DESKBELL_NOTIFY: 'nonsense' }, 'osc777', null],
    [{ TERM: 'xterm', TMUX: '' }, 'osc777', null],
  ])('%j takes %s', (environment, desktop, multiplexer) => {
    expect(terminalKind(environment)).toEqual({ desktop, multiplexer, title: true, bell: true });
  });

  it('asks nothing of a terminal that knows no sequences, whatever is wished', () => {
    expect(terminalKind({ TERM: 'dumb', DESKBELL_NOTIFY: 'osc9' })).toEqual({
      desktop: 'none',
      multiplexer: null,
      title: false,
      bell: false,
    });
    expect(terminalKind({})).toEqual({ desktop: 'none', multiplexer: null, title: false, bell: false });
    expect(terminalKind({ TERM: 'linux' })).toEqual({
      desktop: 'none',
      multiplexer: null,
      title: false,
      bell: true,
    });
  });
});

describe('notificationBytes', () => {
  const bytes = (environment: Record<string, string>, options: Partial<typeof ALL> = {}): string =>
    notificationBytes(terminalKind(environment), { ...ALL, ...options }, 'Ann', 'Hello; are you there?');

  it('are those of the terminal', () => {
    expect(bytes(XTERM)).toBe(`${ESC}]777;notify;Ann;Hello, are you there?${ESC}\\\u0007`);
    expect(bytes({ ...XTERM, LC_TERMINAL: 'iTerm2' })).toBe(
      `${ESC}]9;Deskbell: Ann: Hello; are you there?${ESC}\\\u0007`,
    );
    expect(bytes({ ...XTERM, WT_SESSION: 'x' })).toBe('\u0007');
  });

  it('are wrapped for the multiplexer, so that the terminal behind it gets them', () => {
    expect(bytes({ TERM: 'tmux', TMUX: 'x' })).toBe(
      `${ESC}Ptmux;${ESC}${ESC}]777;notify;Ann;Hello, are you there?\u0007${ESC}\\\u0007`,
    );
    expect(bytes({ TERM: 'screen', STY: 'x' })).toBe(
      `${ESC}P${ESC}]777;notify;Ann;Hello, are you there?\u0007${ESC}\\\u0007`,
    );
    const long = notificationBytes(
      terminalKind({ TERM: 'screen' }),
      { ...ALL, bell: false },
      'A'.repeat(60),
      'b'.repeat(160),
    );
    const pieces = long.split(`${ESC}\\`).slice(0, -1);
    expect(pieces.length).toBeGreaterThan(1);
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(202);
    expect(pieces.map((piece) => piece.replace(`${ESC}P`, '')).join('')).toBe(
      `${ESC}]777;notify;${'A'.repeat(60)};${'b'.repeat(160)}\u0007`,
    );
  });

  it('can each be turned off', () => {
    expect(count(bytes(XTERM, { bell: false }), BEL)).toBe(0);
    expect(bytes(XTERM, { desktop: false })).toBe('\u0007');
    expect(bytes(XTERM, { bell: false, desktop: false })).toBe('');
    expect(bytes({ TERM: 'dumb' })).toBe('');
  });

  it('never begin with a stranger’s word where a number would be a command', () => {
    const said = notificationBytes(terminalKind({ ...XTERM, ConEmuPID: '1' }), ALL, '4;1;50', '');
    expect(said.startsWith(`${ESC}]9;Deskbell: 4;1;50`)).toBe(true);
  });

  it('hold nothing of a stranger’s that a terminal obeys, and are short', () => {
    fc.assert(
      fc.property(
        strangeText,
        strangeText,
        fc.constantFrom<Record<string, string>>(XTERM, { TERM: 'xterm', LC_TERMINAL: 'iTerm2' }),
        (title, body, environment) => {
          const said = notificationBytes(terminalKind(environment), { ...ALL, bell: false }, title, body);
          const parts = matching(
            String.raw`${ESC}\](?:777;notify;([^;]*);([^;]*)|9;Deskbell: (.*))${ESC}\\`,
          ).exec(said);
          expect(parts, JSON.stringify(said)).not.toBeNull();
          for (const part of parts?.slice(1) ?? []) {
            expect(part ?? '').not.toMatch(/\p{Cc}|\p{Cf}|[\u2028\u2029]|\p{Cs}/u);
            expect((part ?? '').length).toBeLessThanOrEqual(230);
          }
          for (const multiplexer of [
            { TERM: 'tmux', TMUX: 'x' },
            { TERM: 'screen', STY: 'x' },
          ]) {
            // Inside a wrapper: our sequences alone, each ended.
            const wrapped = notificationBytes(
              terminalKind(multiplexer),
              { ...ALL, bell: false },
              title,
              body,
            );
            expect(count(wrapped, `${ESC}\\`)).toBe(count(wrapped, `${ESC}P`));
            expect(count(wrapped, BEL)).toBe(1);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('the title', () => {
  it('says how many wait', () => {
    expect([countTitle(0, 'Acme'), countTitle(3, 'Acme'), countTitle(5000, 'Acme')]).toEqual([
      'Acme',
      '(3) Acme',
      '(999+) Acme',
    ]);
  });

  it('can’t be used to send anything else', () => {
    expect(titleBytes(terminalKind(XTERM), `x${ESC}]52;c;aGk=\u0007${ESC}[2J\u009c\n`)).toBe(
      `${ESC}]0;x␛]52;c;aGk=␇␛[2J\ufffd${ESC}\\`,
    );
    expect(titleBytes(terminalKind({ TERM: 'screen', STY: 'x' }), 'x')).toBe(`${ESC}]0;x\u0007`);
    expect(titleBytes(terminalKind({ TERM: 'dumb' }), 'x')).toBe('');
    fc.assert(
      fc.property(strangeText, (text) => {
        expect(titleBytes(terminalKind(XTERM), text)).toMatch(
          matching(String.raw`${ESC}\]0;[^\p{Cc}\p{Cf}\p{Cs}]*${ESC}\\`),
        );
      }),
    );
  });
});

describe('a notifier', () => {
  function start(options: Partial<typeof ALL> = {}, environment: Record<string, string> = XTERM) {
    const written: string[] = [];
    return {
      written,
      notifier: createNotifier(environment, { ...ALL, ...options }, 'Acme', (bytes) => written.push(bytes)),
    };
  }

  it('puts the old title aside, writes the count when it changes, and brings the old title back', () => {
    const { written, notifier } = start();
    notifier.start();
    notifier.setCount(0);
    notifier.setCount(2);
    notifier.setCount(2);
    notifier.setCount(0);
    notifier.stop();
    notifier.setCount(5);
    notifier.notify('a', 'b');
    notifier.stop();
    const title = (text: string): string => `${ESC}]0;${text}${ESC}\\`;
    expect(written).toEqual([pushTitle, title('Acme'), title('(2) Acme'), title('Acme'), popTitle]);
  });

  it('can be muted, and sound again', () => {
    const { written, notifier } = start({ title: false });
    notifier.start();
    notifier.mute(true);
    notifier.notify('a', 'b');
    expect([notifier.muted, written]).toEqual([true, []]);
    notifier.mute(false);
    notifier.notify('a', 'b');
    expect(written).toEqual([`${ESC}]777;notify;a;b${ESC}\\\u0007`]);
  });

  it('writes nothing before it begins, nothing without options, and nothing to a dumb terminal', () => {
    const silent = start({ bell: false, desktop: false, title: false });
    const dumb = start({}, { TERM: 'dumb' });
    const early = start();
    early.notifier.notify('a', 'b');
    for (const { notifier } of [silent, dumb]) {
      notifier.start();
      notifier.notify('a', 'b');
      notifier.setCount(3);
      notifier.stop();
    }
    expect([silent.written, dumb.written, early.written]).toEqual([[], [], []]);
  });
});

// The console in one column of lines, without a screen: what is typed and ended with Enter
// is an answer or a command, and what happens is said as a line. For screen readers and
// terminals that know no escape sequences: none is ever written here.
import { createInterface } from 'node:readline';
import { fittingReplies, hasText } from '../state/composer.ts';
import { targetConversation } from '../state/available-commands.ts';
import type { ConsoleController } from '../state/console-controller.ts';
import { shownRows, tabs, type Tab } from '../state/queue.ts';
import type { ShownMessage } from '../state/message-lines.ts';
import { shownMessages } from '../state/conversation-controller.ts';
import { sanitizeLine } from '../state/sanitize-line.ts';
import type { ViewState } from '../state/view-state.ts';
import type { CommandName, Keymap } from '../keys.ts';
import { textOf } from '../text/wrap.ts';
import { conversationText, messageText } from './plain-mode-text.ts';
import { visitorLines } from './visitor-lines.ts';

export interface PlainModeOptions {
  readonly model: ConsoleController;
  readonly keymap: Keymap;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream & { readonly columns?: number };
  onEnd(): void;
}

export interface PlainMode {
  stop(): void;
}

interface Command {
  readonly usage: string;
  readonly about: string;
  run(words: string): void;
}

/** Changes whenever there is something new to say about a message. */
const stampOf = ({ key, editedAt, state, gone }: ShownMessage): string =>
  `${key} ${editedAt ?? ''} ${state} ${gone === true ? 'gone' : ''}`;

const listedMost = 20;
const shownAtFirst = 10;

/** Begins to read commands and to say what happens. */
export function runPlainMode({ model, keymap, input, output, onEnd }: PlainModeOptions): PlainMode {
  const { store, parts } = model;
  const { core, lists, room, acts, writing } = parts;
  const state = store.get;
  const say = (...lines: readonly string[]): void => {
    // The marks that keep cells apart on the screen mean nothing here.
    for (const line of lines) output.write(`${line.replaceAll('\u200b', '')}\n`);
  };
  const columns = (): number =>
    Math.max(20, output.columns === undefined || output.columns === 0 ? 80 : output.columns);
  const rows = () => shownRows(state().queue, core.memberId()).slice(0, listedMost);

  let numbered: readonly string[] = [];
  let before: ViewState = state();
  let continuing = false;
  let told = new Set<string>();
  let listed = false;
  const wanted: { list: boolean; open: string | null } = { list: true, open: null };

  function sayList(): void {
    const { queue } = state();
    const all = rows();
    numbered = all.map(({ id }) => id);
    const total = queue.search === null ? queue.lists[queue.tab].total : queue.search.total;
    say(
      `${queue.search === null ? queue.tab : `Found for "${sanitizeLine(queue.search.text)}"`}: ${total ?? all.length} ${total === 1 ? 'conversation' : 'conversations'}.`,
    );
    all.forEach((item, index) => say(conversationText(item, index + 1, state())));
  }

  function chosen(words: string): string | null {
    if (words === '') return targetConversation(state())?.id ?? null;
    const number = Number(words);
    if (Number.isInteger(number)) return numbered[number - 1] ?? null;
    const found = rows().find((item) =>
      sanitizeLine(item.visitor.name ?? '')
        .toLowerCase()
        .includes(words.toLowerCase()),
    );
    return found?.id ?? null;
  }

  function open(id: string): void {
    wanted.open = id;
    told = new Set();
    model.open(id);
    sayOpened();
  }

  function sayOpened(): void {
    const { open: now, composer } = state();
    if (now === null || now.id !== wanted.open || now.room === null) return;
    wanted.open = null;
    const item = core.item(now.id);
    if (item !== undefined)
      say(
        `Open: ${conversationText(item, Math.max(1, numbered.indexOf(now.id) + 1), state()).replace(/^\d+\. /, '')}`,
      );
    const messages = shownMessages(now);
    told = new Set(messages.map(stampOf));
    if (messages.length > shownAtFirst) say(`${messages.length - shownAtFirst} earlier messages: /older`);
    for (const message of messages.slice(-shownAtFirst)) say(...messageText(message, state(), columns()));
    if (composer !== null && hasText(composer))
      say(
        `Your ${composer.note ? 'note' : 'draft'}: ${sanitizeLine(composer.buffer.text)}`,
        'Type /send to send it, or /discard.',
      );
  }

  function send(text: string, note: boolean): void {
    const { open: now, composer } = state();
    if (now === null || composer === null)
      return say('Open a conversation first: /list, then /open and its number.');
    if (!continuing && hasText(composer))
      return say('There is a draft here: /send sends it, /discard drops it.');
    if (!continuing) writing.setNote(note);
    if (text.endsWith('\\')) {
      continuing = true;
      return writing.paste(`${text.slice(0, -1)}\n`);
    }
    continuing = false;
    writing.paste(text);
    writing.run('send');
    return undefined;
  }

  function answer(action: 'yes' | 'no'): void {
    if (state().dialog?.kind !== 'confirm') return say('Nothing was asked.');
    const key = keymap.keysOf(action, 'confirm')[0];
    if (key !== undefined) model.pressKeys([{ key, text: '' }]);
    return undefined;
  }

  const perform = (action: CommandName) => (): void => model.run(action);
  const onOpen =
    (run: (id: string) => void) =>
    (words: string): void => {
      const id = chosen(words);
      if (id === null) say('There is no such conversation. /list shows them.');
      else run(id);
    };

  const commands: Readonly<Record<string, Command>> = {
    list: {
      usage: '/list [pending|mine|all|closed]',
      about: 'the conversations',
      run: (words) => {
        const tab = tabs.find((one): one is Tab => one === words);
        if (words !== '' && tab === undefined) return say('There are pending, mine, all and closed.');
        lists.showTab(tab ?? state().queue.tab);
        wanted.list = true;
        return tell();
      },
    },
    search: {
      usage: '/search WORDS',
      about: 'in messages, subjects and names',
      run: (words) => {
        lists.beginSearch();
        lists.setSearch(words);
        wanted.list = true;
      },
    },
    open: { usage: '/open N', about: 'a conversation of the list', run: onOpen(open) },
    next: { usage: '/next', about: 'the next one with something unread', run: () => nextUnread() },
    accept: {
      usage: '/accept [N]',
      about: 'take a waiting conversation',
      run: onOpen(
        (id) => void acts.accept(id).then((done) => (done && state().open?.id !== id ? open(id) : undefined)),
      ),
    },
    note: {
      usage: '/note TEXT',
      about: 'for colleagues only',
      run: (words) => (words === '' ? say('Write the note behind /note.') : send(words, true)),
    },
    send: { usage: '/send', about: 'the draft', run: () => void writing.run('send') },
    discard: {
      usage: '/discard',
      about: 'the draft, or a message that is not sent',
      run: () => {
        continuing = false;
        const { composer } = state();
        if (composer === null || !hasText(composer)) return model.run('discard');
        writing.run('textEnd');
        while (hasText(state().composer)) writing.run('killToStart');
        return say('The draft is gone.');
      },
    },
    canned: {
      usage: '/canned WORD',
      about: 'a canned reply as a draft',
      run: (words) =>
        void writing.loadCannedReplies().then(() => {
          const [reply] = fittingReplies(state().cannedReplies, words.toLowerCase());
          if (reply === undefined || state().open === null)
            return say(reply === undefined ? 'No canned reply fits.' : 'Open a conversation first.');
          writing.insertReply(reply);
          return say(
            `Draft: ${sanitizeLine(state().composer?.buffer.text ?? '')}`,
            'Type /send to send it, or /discard.',
          );
        }),
    },
    draft: { usage: '/draft', about: 'by the assistant', run: perform('aiDraft') },
    editor: {
      usage: '/editor',
      about: 'write the draft in your editor',
      run: () => void writing.run('editor'),
    },
    resolve: { usage: '/resolve', about: 'close the conversation', run: perform('resolve') },
    release: { usage: '/release', about: 'give it back to the queue', run: perform('release') },
    transfer: {
      usage: '/transfer NAME',
      about: 'hand it to a colleague',
      run: (words) =>
        void acts.loadColleagues().then(() => {
          const found = (state().colleagues ?? []).filter(
            ({ id, name }) => id !== core.memberId() && name.toLowerCase().includes(words.toLowerCase()),
          );
          const item = targetConversation(state());
          if (words === '' || found[0] === undefined || found.length > 1 || item === undefined)
            return say(
              `Colleagues: ${(state().colleagues ?? [])
                .filter(({ id }) => id !== core.memberId())
                .map(({ name, online }) => `${sanitizeLine(name)}${online ? '' : ' (away)'}`)
                .join(', ')}.`,
            );
          return void acts.transfer(item.id, found[0]);
        }, core.report),
    },
    edit: {
      usage: '/edit TEXT',
      about: 'change your last message',
      run: (words) => {
        model.run('edit');
        if ((state().composer?.editing ?? null) === null) return;
        if (words === '') {
          say(`It says: ${sanitizeLine(state().composer?.buffer.text ?? '')}`);
          writing.cancelEdit();
          return;
        }
        writing.run('textEnd');
        while (hasText(state().composer)) writing.run('killToStart');
        writing.paste(words);
        writing.run('send');
      },
    },
    delete: { usage: '/delete', about: 'your last message', run: perform('remove') },
    retry: { usage: '/retry', about: 'send again what failed', run: perform('retry') },
    older: {
      usage: '/older',
      about: 'earlier messages',
      run: () => {
        const now = state().open;
        if (now === null) return say('Open a conversation first.');
        void core.client.loadHistory(now.id).then(({ messages }) => {
          if (messages.length === 0)
            say(
              'This is the beginning.',
              ...shownMessages(state().open ?? now).flatMap((one) => messageText(one, state(), columns())),
            );
          else for (const one of messages) say(...messageText(one, state(), columns()));
          for (const one of messages) told.add(stampOf(one));
        }, core.report);
        return undefined;
      },
    },
    visitor: {
      usage: '/visitor',
      about: 'what is known about the visitor',
      run: () => {
        room.loadEarlierConversations();
        say(
          ...visitorLines(state(), columns())
            .map((line) => textOf(line).trimEnd())
            .filter((line) => line !== ''),
        );
      },
    },
    yes: { usage: '/yes', about: 'to what was asked', run: () => answer('yes') },
    no: { usage: '/no', about: 'to what was asked', run: () => answer('no') },
    sound: { usage: '/sound', about: 'notifications on or off', run: perform('sound') },
    help: {
      usage: '/help',
      about: 'this list',
      run: () =>
        say(
          'A line of text is an answer; one that ends in \\ goes on in the next.',
          ...Object.values(commands).map(({ usage, about }) => `${usage}: ${about}`),
        ),
    },
    quit: { usage: '/quit', about: 'leave', run: perform('quit') },
  };

  function nextUnread(): void {
    const id = state().open?.id;
    model.run('nextUnread');
    const next = state().open?.id;
    if (next === undefined || next === id) return;
    wanted.open = next;
    sayOpened();
  }

  function hear(line: string): void {
    const text = line.trim();
    if (text === '' && !continuing) return undefined;
    const [, name, words = ''] = /^\/(\w+)\s*(.*)$/.exec(text) ?? [];
    if (name === undefined || continuing) return send(line, false);
    const command = commands[name] ?? Object.entries(commands).find(([one]) => one.startsWith(name))?.[1];
    if (command === undefined) return say(`There is no /${sanitizeLine(name)}. /help lists the commands.`);
    return command.run(words.trim());
  }

  /** Says what has changed since the last time. */
  function tell(): void {
    const now = state();
    const { queue, open: shown, flash, dialog, connection } = now;
    if (
      connection !== before.connection &&
      (connection === 'offline' || (connection === 'online' && before.connection !== 'idle'))
    )
      say(
        connection === 'online'
          ? 'Connected.'
          : 'Offline. What you send goes out when the connection is back.',
      );
    if (flash !== null && flash !== before.flash) say(flash.tone === 'bad' ? `! ${flash.text}` : flash.text);
    if (dialog !== before.dialog && dialog?.kind === 'confirm')
      say(`${sanitizeLine(dialog.question)} /yes or /no`);
    const list = queue.search ?? queue.lists[queue.tab];
    const ready = queue.search === null ? queue.lists[queue.tab].horizon !== null : queue.search.ids !== null;
    if (wanted.list && ready && !list.loading) {
      wanted.list = false;
      listed = true;
      sayList();
    } else if (queue.items !== before.queue.items) {
      const known = new Set(before.queue.items.map(({ id }) => id));
      for (const item of queue.items) {
        if (!known.has(item.id) && item.status === 'pending' && listed)
          say(`Waiting: ${conversationText(item, 0, now).replace(/^0\. /, '')}`);
      }
    }
    if (wanted.open !== null) sayOpened();
    else if (shown !== null && shown.room !== null && shown !== before.open) {
      for (const message of shownMessages(shown).slice(-50)) {
        const stamp = stampOf(message);
        if (told.has(stamp) || message.state === 'sending') continue;
        told.add(stamp);
        if (shown.room.loaded) say(...messageText(message, now, columns()));
      }
    }
    if (shown !== null && shown.problem !== null && shown.problem !== before.open?.problem)
      say(shown.problem);
    before = now;
  }

  const unsubscribe = store.subscribe(tell);
  const lines = createInterface({ input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on('line', hear);
  lines.on('close', onEnd);
  say('Deskbell console. /help lists the commands.');
  return {
    stop: () => {
      unsubscribe();
      lines.close();
    },
  };
}

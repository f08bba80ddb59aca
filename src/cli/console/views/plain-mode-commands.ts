// The commands of plain mode: what a line that begins with a slash does. Writes its answers through the reporter.
import { createConversationActs } from '../../../desk/conversation-acts.ts';
import { targetConversation, targetFiles } from '../../../desk/available-commands.ts';
import { fittingReplies, hasText } from '../../../desk/composer.ts';
import type { DeskController } from '../../../desk/desk-controller.ts';
import type { DeskState } from '../../../desk/desk-state.ts';
import type { CommandName, Keymap } from '../../../desk/keymap.ts';
import { tabs } from '../../../desk/queue.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import { shownMessages } from '../../../desk/shown-messages.ts';
import { textOf } from '../text/wrap.ts';
import type { PlainReporter } from './plain-mode-reporter.ts';
import { visitorLines } from './visitor-lines.ts';

interface PlainCommand {
  readonly name: string;
  /** What is typed after the name, in capitals what varies. */
  readonly args?: string;
  readonly about: string;
  run(words: string): void;
}

export class PlainCommands {
  readonly #model: DeskController;
  readonly #keymap: Keymap;
  readonly #reporter: PlainReporter;
  readonly #commands: readonly PlainCommand[];
  /** The line before ended in a backslash. */
  #isContinuing = false;

  constructor(model: DeskController, keymap: Keymap, reporter: PlainReporter) {
    this.#model = model;
    this.#keymap = keymap;
    this.#reporter = reporter;
    const run = (command: CommandName) => (): void => model.run(command);
    this.#commands = [
      {
        name: 'list',
        args: '[pending|mine|all|closed]',
        about: 'the conversations',
        run: (words) => this.#list(words),
      },
      {
        name: 'search',
        args: 'WORDS',
        about: 'in messages, subjects and names',
        run: (words) => this.#search(words),
      },
      { name: 'open', args: 'N', about: 'a conversation of the list', run: (words) => this.#open(words) },
      { name: 'next', about: 'the next one with something unread', run: () => this.#next() },
      {
        name: 'accept',
        args: '[N]',
        about: 'accept a pending conversation',
        run: (words) => this.#accept(words),
      },
      { name: 'note', args: 'TEXT', about: 'for colleagues only', run: (words) => this.#note(words) },
      { name: 'send', about: 'the draft', run: () => void model.composer.run('send') },
      { name: 'discard', about: 'the draft, or a message that is not sent', run: () => this.#discard() },
      {
        name: 'canned',
        args: 'WORD',
        about: 'a canned reply as a draft',
        run: (words) => void this.#canned(words),
      },
      { name: 'draft', about: 'by the assistant', run: run('aiDraft') },
      {
        name: 'editor',
        about: 'write the draft in your editor',
        run: () => void model.composer.run('editor'),
      },
      {
        name: 'attach',
        args: 'PATH',
        about: 'a file to go with the next answer or /send',
        run: (words) => this.#attach(words),
      },
      {
        name: 'detach',
        about: 'the files that were attached',
        run: () => {
          for (const { key } of this.#state.composer?.files ?? []) model.composer.removeFile(key);
        },
      },
      {
        name: 'save',
        args: '[PATH]',
        about: 'the newest file of the conversation',
        run: (words) => this.#save(words),
      },
      { name: 'resolve', about: 'close the conversation', run: run('resolve') },
      { name: 'release', about: 'give it back to the queue', run: run('release') },
      {
        name: 'transfer',
        args: 'NAME',
        about: 'give it to a colleague',
        run: (words) => void this.#transfer(words).catch(model.context.report),
      },
      { name: 'edit', args: 'TEXT', about: 'change your last message', run: (words) => this.#edit(words) },
      { name: 'delete', about: 'your last message', run: run('remove') },
      { name: 'retry', about: 'send again what failed', run: run('retry') },
      { name: 'older', about: 'earlier messages', run: () => void this.#older().catch(model.context.report) },
      { name: 'visitor', about: 'what is known about the visitor', run: () => this.#visitor() },
      { name: 'block', about: 'the visitor', run: run('block') },
      { name: 'unblock', about: 'the visitor', run: run('unblock') },
      { name: 'yes', about: 'to what was asked', run: () => this.#answer('yes') },
      { name: 'no', about: 'to what was asked', run: () => this.#answer('no') },
      { name: 'sound', about: 'notifications on or off', run: run('sound') },
      { name: 'help', about: 'this list', run: () => this.#help() },
      { name: 'quit', about: 'leave', run: run('quit') },
    ];
  }

  /** Runs a line that was typed. */
  read(line: string): void {
    const text = line.trim();
    if (this.#isContinuing) return this.#send(line, false);
    if (text === '') return undefined;
    const [, name, words = ''] = /^\/(\w+)\s*(.*)$/.exec(text) ?? [];
    if (name === undefined) return this.#send(line, false);
    const command =
      this.#commands.find((one) => one.name === name) ??
      this.#commands.find((one) => one.name.startsWith(name));
    if (command === undefined)
      return this.#reporter.write(`There is no /${sanitizeLine(name)}. /help lists the commands.`);
    return command.run(words.trim());
  }

  get #state(): DeskState {
    return this.#model.store.get();
  }

  /** The conversation that is meant: a number or a name, else the open one. Says when there is none. */
  #chosen(words: string): string | null {
    const id = words === '' ? (targetConversation(this.#state)?.id ?? null) : this.#reporter.find(words);
    if (id === null) this.#reporter.write('There is no such conversation. /list shows them.');
    return id;
  }

  #list(words: string): void {
    const tab = tabs.find((one) => one === words);
    if (words !== '' && tab === undefined)
      return this.#reporter.write('There are pending, mine, all and closed.');
    this.#model.queue.showTab(tab ?? this.#state.queue.tab);
    this.#reporter.wantList();
    return this.#reporter.report();
  }

  #search(words: string): void {
    this.#model.queue.search.begin();
    this.#model.queue.search.setText(words);
    this.#reporter.wantList();
  }

  #open(words: string): void {
    const id = this.#chosen(words);
    if (id !== null) this.#openConversation(id);
  }

  #openConversation(id: string): void {
    this.#model.open(id);
    this.#reporter.wantOpened(id);
  }

  #next(): void {
    const before = this.#state.open?.id;
    this.#model.run('nextUnread');
    const id = this.#state.open?.id;
    if (id !== undefined && id !== before) this.#reporter.wantOpened(id);
  }

  #accept(words: string): void {
    const id = this.#chosen(words);
    if (id === null) return;
    void this.#model.commands.accept(id).then((accepted) => {
      if (accepted && this.#state.open?.id !== id) this.#openConversation(id);
    });
  }

  #note(words: string): void {
    if (words === '') this.#reporter.write('Write the note after /note.');
    else this.#send(words, true);
  }

  #send(text: string, note: boolean): void {
    const { composer } = this.#model;
    const { open, composer: now } = this.#state;
    if (open === null || now === null)
      return this.#reporter.write('Open a conversation first: /list, then /open and its number.');
    if (!this.#isContinuing) {
      if (hasText(now))
        return this.#reporter.write('There is a draft here: /send sends it, /discard discards it.');
      composer.setNote(note);
    }
    this.#isContinuing = text.endsWith('\\');
    if (this.#isContinuing) return composer.paste(`${text.slice(0, -1)}\n`);
    composer.paste(text);
    composer.run('send');
    return undefined;
  }

  #attach(path: string): void {
    if (this.#state.composer === null) return this.#reporter.write('Open a conversation first.');
    if (path === '') return this.#reporter.write('Write the path of a file after /attach.');
    return void this.#model.files.attachPath(path);
  }

  /** The newest file, to the path or to where it would be put; what came of it is reported. */
  #save(path: string): void {
    const file = targetFiles(this.#state).at(-1);
    const files = this.#model.context.runtime.files;
    if (file === undefined || files === undefined) return this.#reporter.write('There is no file here.');
    return void this.#model.files.saveTo(file.id, path === '' ? files.suggestedPath(file.name) : path);
  }

  #discard(): void {
    this.#isContinuing = false;
    if (!hasText(this.#state.composer)) return this.#model.run('discard');
    this.#model.composer.clear();
    return this.#reporter.write('The draft is discarded.');
  }

  async #canned(words: string): Promise<void> {
    const { suggestions } = this.#model.composer;
    await suggestions.loadCannedReplies();
    const [reply] = fittingReplies(this.#state.cannedReplies, words.toLowerCase());
    if (reply === undefined) return this.#reporter.write('No canned reply fits.');
    if (this.#state.open === null) return this.#reporter.write('Open a conversation first.');
    suggestions.insertReply(reply);
    return this.#reporter.write(
      `Draft: ${sanitizeLine(this.#state.composer?.buffer.text ?? '')}`,
      'Type /send to send it, or /discard.',
    );
  }

  async #transfer(words: string): Promise<void> {
    const { commands, context } = this.#model;
    await commands.loadColleagues();
    const colleagues = (this.#state.colleagues ?? []).filter(({ id }) => id !== context.memberId);
    const found = colleagues.filter(({ name }) => name.toLowerCase().includes(words.toLowerCase()));
    const item = targetConversation(this.#state);
    if (item !== undefined && words !== '' && found[0] !== undefined && found.length === 1)
      return createConversationActs(context).transfer(item.id, found[0]);
    const names = colleagues.map(({ name, online }) => `${sanitizeLine(name)}${online ? '' : ' (offline)'}`);
    return this.#reporter.write(
      names.length === 0 ? 'There is no other member.' : `Colleagues: ${names.join(', ')}.`,
    );
  }

  #edit(words: string): void {
    const { composer } = this.#model;
    this.#model.run('edit');
    if ((this.#state.composer?.editing ?? null) === null) return;
    if (words === '') {
      this.#reporter.write(`It says: ${sanitizeLine(this.#state.composer?.buffer.text ?? '')}`);
      composer.cancelEdit();
      return;
    }
    composer.clear();
    composer.paste(words);
    composer.run('send');
  }

  async #older(): Promise<void> {
    const { open } = this.#state;
    if (open === null) return this.#reporter.write('Open a conversation first.');
    const { messages } = await this.#model.context.client.loadHistory(open.id);
    if (messages.length > 0) return this.#reporter.messages(messages);
    this.#reporter.write('This is the beginning.');
    return this.#reporter.messages(shownMessages(this.#state.open ?? open));
  }

  #visitor(): void {
    this.#model.conversation.loadEarlierConversations();
    const lines = visitorLines(this.#state, this.#reporter.columns).map((line) => textOf(line).trimEnd());
    this.#reporter.write(...lines.filter((line) => line !== ''));
  }

  #answer(command: 'yes' | 'no'): void {
    if (this.#state.dialog?.kind !== 'confirm') return this.#reporter.write('Nothing was asked.');
    const [key] = this.#keymap.keysOf(command, 'confirm');
    if (key !== undefined) this.#model.pressKeys([{ key, text: '' }]);
    return undefined;
  }

  #help(): void {
    this.#reporter.write(
      'A line of text is an answer. End a line with \\ to go on in the next one.',
      ...this.#commands.map(
        ({ name, args, about }) => `/${name}${args === undefined ? '' : ` ${args}`}: ${about}`,
      ),
    );
  }
}

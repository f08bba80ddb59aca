// What is done with files besides sending them: attached by path, saved, opened. A face without a file system has its own
// ways, and offers none of these.
import type { SdkAttachment } from '../sdk/types.ts';
import { newestPage, attachmentIn } from '../sdk/shown-files.ts';
import { targetFiles } from './available-commands.ts';
import type { ComposerController } from './composer-controller.ts';
import type { DeskContext } from './desk-context.ts';
import type { DeskState, ShownMessage } from './desk-state.ts';
import type { Navigation } from './navigation.ts';
import { sanitizeLine } from './sanitize-line.ts';
import { shownMessages } from './shown-messages.ts';

/** The message that has a file; undefined: it is not loaded. */
function messageWith(state: DeskState, fileId: string): ShownMessage | undefined {
  if (state.open === null) return undefined;
  return shownMessages(state.open).find(({ attachments = [] }) =>
    attachments.some(({ id }) => id === fileId),
  );
}

export class FileCommands {
  readonly #context: DeskContext;
  readonly #composer: ComposerController;
  readonly #navigation: Navigation;

  constructor(context: DeskContext, composer: ComposerController, navigation: Navigation) {
    this.#context = context;
    this.#composer = composer;
    this.#navigation = navigation;
  }

  /** Asks for a file to go with what is written. */
  attach(): void {
    const { face, runtime, state } = this.#context;
    if (state.open === null) return;
    this.#navigation.setFocus('composer');
    if (face.chooseFiles !== undefined) face.chooseFiles();
    else if (runtime.files !== undefined) this.#navigation.openMenu('attachPath');
  }

  /** Attaches a file of this machine. */
  async attachPath(path: string): Promise<void> {
    const { runtime, report, state } = this.#context;
    if (runtime.files === undefined) return;
    const id = state.open?.id;
    try {
      const source = await runtime.files.read(path);
      if (this.#context.state.open?.id === id) this.#composer.attach([source]);
    } catch (error) {
      report(error);
    }
  }

  /** @param act `out:` or `retry:` with the key of a file in the composer */
  changeAttached(act: string): void {
    const [what, key = ''] = act.split(':');
    if (what === 'retry') this.#composer.retryFile(key);
    else this.#composer.removeFile(key);
  }

  /** Asks where a file is to be saved, or first which one. */
  save(): void {
    this.#choose('saveFile', ({ id }) => this.askPath(id));
  }

  /** Opens a file with another program, or first asks which one. */
  open(): void {
    this.#choose('openFile', ({ id }) => void this.openFile(id));
  }

  askPath(fileId: string): void {
    const { runtime, state } = this.#context;
    const file = messageWith(state, fileId)?.attachments?.find(({ id }) => id === fileId);
    if (file === undefined || runtime.files === undefined) return;
    this.#navigation.openMenu('savePath', { about: fileId, filter: runtime.files.suggestedPath(file.name) });
  }

  async saveTo(fileId: string, path: string): Promise<void> {
    const { runtime, report, say } = this.#context;
    try {
      const file = await this.#fresh(fileId);
      if (file === null) return this.#context.flash(say('fileGone'), 'bad');
      const name = await runtime.files?.save(file.url, path);
      if (name !== undefined) this.#context.flash(say('fileSaved', { name: sanitizeLine(name) }), 'good');
    } catch (error) {
      report(error);
    }
    return undefined;
  }

  async openFile(fileId: string): Promise<void> {
    const { runtime, report, say } = this.#context;
    try {
      const file = await this.#fresh(fileId);
      if (file === null) return this.#context.flash(say('fileGone'), 'bad');
      await runtime.files?.open(file.url);
      this.#context.flash(say('fileOpens', { name: sanitizeLine(file.name) }), 'good');
    } catch (error) {
      report(error);
    }
    return undefined;
  }

  #choose(menu: 'saveFile' | 'openFile', act: (file: SdkAttachment) => void): void {
    const { state, say, runtime } = this.#context;
    if (runtime.files === undefined) return;
    const [first, ...others] = targetFiles(state);
    if (first === undefined) return this.#context.flash(say('noFileHere'), 'bad');
    return others.length === 0 ? act(first) : this.#navigation.openMenu(menu);
  }

  async #fresh(fileId: string): Promise<SdkAttachment | null> {
    const message = messageWith(this.#context.state, fileId);
    return message === undefined ? null : freshFile(this.#context, message, fileId);
  }
}

/** A file with an address that holds for another while; null: it is not there any more, or can't be asked for. */
export async function freshFile(
  { state, client }: Pick<DeskContext, 'state' | 'client'>,
  message: ShownMessage,
  fileId: string,
): Promise<SdkAttachment | null> {
  const path = newestPage(message.conversationId, state.open?.room?.messages ?? [], message.id);
  return client.call<unknown>('GET', path).then(
    (page) => {
      const file = attachmentIn(page, message.id, fileId);
      // A service without a public address names its files by their paths.
      return file === null ? null : { ...file, url: new URL(file.url, client.fileTarget().address).href };
    },
    () => null,
  );
}

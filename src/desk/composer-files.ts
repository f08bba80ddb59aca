// The files that go with what is written, for each conversation: uploaded one after another, taken out, tried again. Where a
// file comes from and how it is uploaded is the face's business.
import { blockedFileEndings, fileLimits } from '../protocol/codes.ts';
import { newKey, refusalOf, type FileRefusal, type FileRules } from '../sdk/attachments.ts';
import type { SdkFile } from '../sdk/types.ts';
import { errorMessage, type DeskContext } from './desk-context.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { DeskText, Say } from './texts.ts';

/** What a member may send, as far as it is known before the service is asked. */
const staffFileRules: FileRules = {
  maxBytes: fileLimits.staffBytes,
  maxFiles: fileLimits.perMessage,
  blockedEndings: blockedFileEndings,
};

/** A file as a face hands it over. */
export interface FileSource {
  readonly name: string;
  /** Bytes. Null: known once it is uploaded, because it becomes smaller before. */
  readonly size: number | null;
  upload(options: {
    /** The same for each try: it is stored once. */
    readonly key: string;
    readonly signal: AbortSignal;
    /** @param share from 0 to 1 */
    onProgress(share: number): void;
  }): Promise<SdkFile>;
}

/** A file in the composer. */
export interface ComposerFile {
  readonly key: string;
  readonly name: string;
  readonly size: number | null;
  readonly source: FileSource;
  /** From 0 to 1. */
  readonly progress: number;
  /** As the service has it; null: it is on its way. */
  readonly uploaded: SdkFile | null;
  /** Why it was not uploaded; null: nothing went wrong. */
  readonly problem: string | null;
  /** Another try may help. */
  readonly mayRetry: boolean;
}

/** `failed` where something can't be sent, even while others are on their way. */
export type FilesState = 'none' | 'busy' | 'failed' | 'ready';

export function filesStateOf(files: readonly ComposerFile[]): FilesState {
  if (files.length === 0) return 'none';
  if (files.some(({ problem }) => problem !== null)) return 'failed';
  return files.some(({ uploaded }) => uploaded === null) ? 'busy' : 'ready';
}

const refusalTexts: Readonly<Record<FileRefusal, DeskText>> = {
  tooLarge: 'fileTooLarge',
  tooMany: 'filesTooMany',
  blockedKind: 'fileBlocked',
  empty: 'fileEmpty',
};
const none: readonly ComposerFile[] = [];

export class ComposerFiles {
  readonly #context: DeskContext;
  readonly #changed: (conversationId: string) => void;
  readonly #files = new Map<string, readonly ComposerFile[]>();
  readonly #lives = new Map<string, AbortController>();
  #busy = false;

  /** @param changed called after each change of a conversation's files */
  constructor(context: DeskContext, changed: (conversationId: string) => void) {
    this.#context = context;
    this.#changed = changed;
  }

  of(conversationId: string): readonly ComposerFile[] {
    return this.#files.get(conversationId) ?? none;
  }

  /** Adds files, and uploads them. What can't be sent is said, and left out. */
  add(conversationId: string, sources: readonly FileSource[]): void {
    const refused = new Set<string>();
    for (const source of sources) {
      const files = this.of(conversationId);
      const why = refusalOf({ name: source.name, size: source.size ?? 1 }, files.length, staffFileRules);
      if (why === null) this.#files.set(conversationId, [...files, this.#fileOf(source)]);
      else refused.add(refusalText(why, source.name, this.#context.say));
    }
    if (refused.size > 0) this.#context.flash([...refused].join(' '), 'bad');
    this.#changed(conversationId);
    void this.#pump();
  }

  /** Takes one out; what is on its way of it ends. */
  remove(conversationId: string, key: string): void {
    this.#lives.get(key)?.abort();
    this.#lives.delete(key);
    this.#set(
      conversationId,
      this.of(conversationId).filter((one) => one.key !== key),
    );
  }

  retry(conversationId: string, key: string): void {
    this.#patch(conversationId, key, { problem: null, progress: 0 });
    void this.#pump();
  }

  /** Takes all out, to be sent. */
  take(conversationId: string): readonly ComposerFile[] {
    const files = this.of(conversationId);
    for (const { key } of files) this.#lives.delete(key);
    this.#set(conversationId, none);
    return files;
  }

  /** What could not be sent stands before what was added since. */
  giveBack(conversationId: string, files: readonly ComposerFile[]): void {
    if (files.length > 0) this.#set(conversationId, [...files, ...this.of(conversationId)]);
  }

  #fileOf(source: FileSource): ComposerFile {
    const key = newKey();
    this.#lives.set(key, new AbortController());
    const { name, size } = source;
    return { key, name, size, source, progress: 0, uploaded: null, problem: null, mayRetry: false };
  }

  #set(conversationId: string, files: readonly ComposerFile[]): void {
    if (files.length === 0) this.#files.delete(conversationId);
    else this.#files.set(conversationId, files);
    this.#changed(conversationId);
  }

  #patch(conversationId: string, key: string, patch: Partial<ComposerFile>): void {
    if (!this.of(conversationId).some((one) => one.key === key)) return;
    this.#set(
      conversationId,
      this.of(conversationId).map((one) => (one.key === key ? { ...one, ...patch } : one)),
    );
  }

  /** One at a time: each is sooner there, and a slow line is not shared. */
  async #pump(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (;;) {
      const next = [...this.#files].flatMap(([id, files]) =>
        files.filter((one) => one.uploaded === null && one.problem === null).map((file) => ({ id, file })),
      )[0];
      if (next === undefined) break;
      await this.#upload(next.id, next.file);
    }
    this.#busy = false;
  }

  /** What uploads is loaded with the first file. */
  async #upload(conversationId: string, file: ComposerFile): Promise<void> {
    const { signal } = this.#lives.get(file.key) ?? new AbortController();
    const patch = (values: Partial<ComposerFile>): void => this.#patch(conversationId, file.key, values);
    try {
      const { uploadFile } = await import('./file-upload.ts');
      await uploadFile(file, signal, patch, this.#context.say);
    } catch (error) {
      patch({ problem: errorMessage(error, this.#context.say), mayRetry: true });
    }
  }
}

/** Why a file can't be sent, as a sentence. */
export function refusalText(why: FileRefusal, name: string, say: Say): string {
  const n = why === 'tooMany' ? staffFileRules.maxFiles : Math.floor(staffFileRules.maxBytes / 1_048_576);
  return say(refusalTexts[why], { name: sanitizeLine(name), n });
}

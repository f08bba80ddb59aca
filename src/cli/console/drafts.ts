// Owns the texts that are written and not yet sent: kept on disk, so that neither a crash nor a lost line takes them.
// Must not know what a composer is. One private file for each conversation, so that two consoles don't overwrite each
// other's; nothing of a draft is ever readable by another user of the machine.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Draft, DraftStore } from '../../desk/drafts.ts';

export interface DraftStoreOptions {
  /** The console's private folder; it is made when it is not there. */
  readonly stateFolder: string;
  /** The service's address. */
  readonly server: string;
  /** The organization's slug. */
  readonly organization: string;
  /** Runs once after so many milliseconds; answers how to cancel it. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Told, once for each kind and never during a call, what stands in the way of keeping drafts, as a sentence. */
  readonly onProblem?: (sentence: string) => void;
}

/** The longest that a change waits for the disk, in ms: what a crash can take is what was typed in this time. */
export const draftDelayMs = 400;

const fileName = /^(?<id>[\w-]{1,100})\.json$/;
const leftoverMs = 60_000;
const maxBytes = 1_000_000;
const privateFolder = 0o700;
const privateFile = 0o600;

/** What stands in the way, by what was tried, and what comes of it. */
const failures = {
  kept: (reason: string) => `Drafts can't be kept on disk (${reason}); they last only until you quit.`,
  removed: (reason: string) =>
    `Drafts can't be removed from the disk (${reason}); what was sent or discarded may come back as a draft.`,
  'set aside': (reason: string) => `A draft could not be read, and its file can't be set aside (${reason}).`,
} as const;

/** Drafts of one organization on one server. Everything on disk is done synchronously: files are small, and nothing may be half done. */
export function createDraftStore(options: DraftStoreOptions): DraftStore {
  return new DraftFolder(options);
}

class DraftFolder implements DraftStore {
  readonly #folder: string;
  readonly #options: DraftStoreOptions;
  /** What is written here, by conversation; null: nothing. */
  readonly #known = new Map<string, Draft | null>();
  /** The text that this console knows to be in the file; anything else there is another console's. */
  readonly #seen = new Map<string, string>();
  readonly #waiting = new Set<string>();
  readonly #reported = new Set<string>();
  #cancel: (() => void) | undefined;
  #written = 0;

  constructor(options: DraftStoreOptions) {
    this.#options = options;
    const place = createHash('sha256')
      .update(`${options.server}\n${options.organization}`)
      .digest('hex')
      .slice(0, 24);
    this.#folder = join(options.stateFolder, 'drafts', place);
    this.#open();
  }

  get(conversationId: string): Draft | null {
    if (!this.#waiting.has(conversationId)) this.#read(conversationId);
    return this.#known.get(conversationId) ?? null;
  }

  set(conversationId: string, draft: Draft): void {
    if (draft.text.trim() === '') return this.remove(conversationId);
    const { text, note } = draft;
    this.#known.set(conversationId, { text, note });
    this.#waiting.add(conversationId);
    // Not put off by further changes: who types without a pause must not lose all of it.
    this.#cancel ??= this.#options.after(draftDelayMs, () => {
      this.#cancel = undefined;
      this.#writeWaiting();
    });
  }

  remove(conversationId: string): void {
    this.#waiting.delete(conversationId);
    this.#known.set(conversationId, null);
    const file = this.#file(conversationId);
    const onDisk = this.#parse(file);
    const seen = this.#seen.get(conversationId);
    // Another console has written something else there since: that was not sent.
    if (onDisk === null || (seen !== undefined && onDisk.text !== seen)) return;
    this.#seen.delete(conversationId);
    this.#attempt('removed', () => unlinkSync(file));
  }

  ids(): readonly string[] {
    const found = new Set<string>();
    for (const name of this.#names()) {
      const id = fileName.exec(name)?.groups?.['id'];
      if (id !== undefined) found.add(id);
    }
    for (const [id, draft] of this.#known) {
      if (this.#waiting.has(id) && draft !== null) found.add(id);
    }
    return [...found].toSorted();
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#writeWaiting();
  }

  #open(): void {
    this.#attempt('kept', () => {
      mkdirSync(this.#folder, { recursive: true, mode: privateFolder });
      // The folders may be older than this rule, or have been copied.
      chmodSync(join(this.#options.stateFolder, 'drafts'), privateFolder);
      chmodSync(this.#folder, privateFolder);
    });
    for (const name of this.#names()) {
      if (name.endsWith('.tmp')) this.#sweep(join(this.#folder, name));
    }
  }

  // What a console left behind that was killed while it wrote; a younger one may be another console's at this moment.
  #sweep(path: string): void {
    try {
      if (statSync(path).mtimeMs < Date.now() - leftoverMs) unlinkSync(path);
    } catch {
      // Another console has removed it already.
    }
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.#folder);
    } catch {
      return [];
    }
  }

  #file(conversationId: string): string {
    const plain = fileName.test(`${conversationId}.json`);
    return join(
      this.#folder,
      `${plain ? conversationId : createHash('sha256').update(conversationId).digest('hex')}.json`,
    );
  }

  #read(conversationId: string): void {
    const draft = this.#parse(this.#file(conversationId));
    // A disk that can't be written must not take away what is in memory.
    if (draft === null && this.#reported.has('kept')) return;
    this.#known.set(conversationId, draft);
    if (draft !== null) this.#seen.set(conversationId, draft.text);
  }

  #parse(file: string): Draft | null {
    let source: string;
    try {
      if (statSync(file).size > maxBytes) return this.#setAside(file);
      source = readFileSync(file, 'utf8');
    } catch {
      return null;
    }
    try {
      const value: unknown = JSON.parse(source);
      if (typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string') {
        return { text: value.text, note: 'note' in value && value.note === true };
      }
    } catch {
      // Handled like any other content that is no draft.
    }
    return this.#setAside(file);
  }

  #setAside(file: string): null {
    if (this.#attempt('set aside', () => renameSync(file, `${file}.damaged`)))
      this.#tell('damaged', `A draft could not be read. Its file is kept as ${file}.damaged.`);
    return null;
  }

  #writeWaiting(): void {
    for (const id of this.#waiting) {
      const draft = this.#known.get(id);
      if (draft === undefined || draft === null) {
        this.#waiting.delete(id);
        continue;
      }
      const file = this.#file(id);
      const incoming = `${file}.${process.pid}-${this.#written++}.tmp`;
      const done = this.#attempt('kept', () => {
        mkdirSync(this.#folder, { recursive: true, mode: privateFolder });
        writeFileSync(incoming, JSON.stringify(draft), { flag: 'wx', mode: privateFile });
        renameSync(incoming, file);
      });
      // What could not be written waits for the next change, and stays in memory.
      if (!done) continue;
      this.#waiting.delete(id);
      this.#seen.set(id, draft.text);
    }
  }

  #attempt(what: keyof typeof failures, run: () => void): boolean {
    try {
      run();
      return true;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT' && what !== 'kept')
        return true;
      const reason = error instanceof Error ? error.message : String(error);
      this.#tell(what, failures[what](reason));
      return false;
    }
  }

  #tell(kind: string, sentence: string): void {
    if (this.#reported.has(kind)) return;
    this.#reported.add(kind);
    // Not inside the call that found it: the listener may not be ready yet, or read drafts again.
    queueMicrotask(() => this.#options.onProblem?.(sentence));
  }
}

// Where the bytes of files lie, and who looks for viruses in them, as interfaces. Which there are is src/files.

/** A file that lies complete on this machine's disk, ready to be taken over. */
export interface SpooledFile {
  readonly path: string;
  readonly size: number;
  /** SHA-256 in hex. */
  readonly digest: string;
}

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** An object that is there, as a list of the store names it. */
export interface ListedObject {
  readonly object: string;
  /** ms since the epoch. */
  readonly modifiedAt: number;
}

export interface FileStore {
  /** `folder` or `s3`. */
  readonly kind: 'folder' | 's3';
  /** Where it is, without a secret. */
  readonly place: string;
  /** Takes a file over: once it resolves, the object survives the loss of power. The spooled file may be moved away. */
  put(object: string, file: SpooledFile): Promise<void>;
  /**
   * The bytes of an object, as they come; null: it is not there.
   * @param range left out: all
   */
  open(object: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | null>;
  /** Removes an object; one that is not there is removed. Resolves once it is told done. */
  remove(object: string): Promise<void>;
  /** Everything that is there, and what uploads that were cut off have left. */
  list(): AsyncIterable<ListedObject>;
  /** @throws Error that says what is wrong with it */
  check(): Promise<void>;
}

/** What a scanner says of a file. */
export type ScanVerdict = { readonly clean: true } | { readonly clean: false; readonly found: string };

export interface Scanner {
  /** Where it is. */
  readonly place: string;
  /**
   * Looks at bytes.
   * @throws Error where the scanner can't be reached or does not answer
   */
  scan(bytes: AsyncIterable<Uint8Array>): Promise<ScanVerdict>;
  /** @throws Error that says what is wrong with it */
  check(): Promise<void>;
}

/** How many files are stored, and what waits. */
export interface FilesOverview {
  readonly files: number;
  readonly bytes: number;
  /** Wait for the scanner. */
  readonly scanning: number;
  /** Bytes that are to go; of them, those that could not be removed yet. */
  readonly removals: number;
  readonly failing: number;
}

/** What the service knows of files. */
export interface Files {
  readonly store: FileStore;
  /** null: none is configured, and what is uploaded is ready at once. */
  readonly scanner: Scanner | null;
  /** Where uploads lie until they are complete. */
  readonly incomingFolder: string;
  /** The host that serves files, without a trailing slash; null: the service's own. */
  readonly publicUrl: string | null;
  /** Removes what no later process could know of. */
  close(): Promise<void>;
}

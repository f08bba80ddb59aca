// A mail as far as anything here looks at it: plain data, so that it can come out of a thread.

/** The largest mail that is taken, bytes. */
export const maxMailBytes = 25 * 1024 * 1024;
/** Parts of a mail that are kept as files; what is beyond is left out. */
export const maxMailParts = 50;
/** Characters of text that are looked at. */
export const maxMailText = 100_000;

const oneAddress = /^[^\s@",;:<>()[\]\\]{1,64}@[^\s@",;:<>()[\]\\]{1,189}$/;

/** Whether a text is the address of one sender, to whom an answer goes: a list would send answers to all of them. */
export const isOneAddress = (text: string): boolean => oneAddress.test(text);

/** Bytes that lie in a file, until what they came with is used. */
export interface StoredBytes {
  readonly path: string;
  readonly size: number;
}

export interface MailFile {
  readonly name: string;
  readonly type: string;
  /** Few bytes; more of them lie in a file beside the mail. */
  readonly bytes: Uint8Array | StoredBytes;
}

export interface ParsedMail {
  /** Lower case; null: the mail names no sender. */
  readonly from: string | null;
  readonly fromName: string;
  /** Without angle brackets; null: it has none that could be one. */
  readonly messageId: string | null;
  /** What tells it from other mails: a digest of its Message-ID, or of the mail itself. */
  readonly key: string;
  readonly subject: string;
  /** What was written, without what was quoted. */
  readonly text: string;
  /** Addresses that it says it went to, in lower case: for ways in that know no envelope. */
  readonly recipients: readonly string[];
  /** A program sent it, or a list: it is never answered and opens nothing. */
  readonly automatic: boolean;
  /** It reports that a mail could not be delivered, for good. */
  readonly bounce: boolean;
  readonly files: readonly MailFile[];
  /** Files that it has beyond those. */
  readonly filesLeftOut: number;
}

/** `started` comes first: what fails before it says nothing about the mail. */
export type MailWorkerReply =
  | { readonly started: true }
  | { readonly mail: ParsedMail }
  | { readonly problem: string };

// What a check of `deskbell doctor` has found.

/** One finding: what it is about, how it stands, and what to do. */
export interface Finding {
  readonly about: string;
  /** `note`: not wrong, but worth knowing. */
  readonly state: 'ok' | 'note' | 'wrong';
  readonly found: string;
  /** What to do. */
  readonly fix: string | null;
}

/** All is well. */
export const ok = (about: string, found: string): Finding => ({ about, state: 'ok', found, fix: null });
/** Not wrong, but worth knowing. */
export const note = (about: string, found: string, fix: string | null = null): Finding => ({
  about,
  state: 'note',
  found,
  fix,
});
/** Something to mend, and how. */
export const wrong = (about: string, found: string, fix: string): Finding => ({
  about,
  state: 'wrong',
  found,
  fix,
});

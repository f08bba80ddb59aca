// Owns what a styled line of the console is. Must not know how it is drawn or where its text comes from.

export type Color = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'gray';

export interface Style {
  readonly bold?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
  readonly strike?: boolean;
  readonly dim?: boolean;
  readonly inverse?: boolean;
  readonly color?: Color;
}

/** A piece of a line with one style. Its text holds no line end and has been through `sanitizeText`. */
export interface Span extends Style {
  readonly text: string;
}

/** One row of the screen, or a line that is still to be wrapped. */
export type Line = readonly Span[];

// Owns what may enter the text being written, from a keyboard, a clipboard or an editor. Must not know about carets.

const esc = '\u001b';
// Put together, because a literal with control characters reads as nothing.
const sequences = new RegExp(
  [
    // CSI: parameters, intermediates, final byte.
    String.raw`(?:${esc}\[|\u009b)[0-?]*[ -/]*[@-~]?`,
    // OSC, DCS and the other strings, to their end or to that of the line.
    String.raw`(?:${esc}[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007${esc}\u009c\n\r]*(?:\u0007|\u009c|${esc}\\)?`,
    // A key of the keypad, and any other escape.
    String.raw`${esc}[NO][ -~]`,
    String.raw`${esc}[ -/]*[0-~]?`,
  ].join('|'),
  'g',
);
const lineEnds = /\r\n?|[\u0085\u2028\u2029]/g;
const notText = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/gu;
const plainText = /^[\n -~]*$/;

/**
 * A text as it may stand in a message: without escape sequences, control characters and bidi
 * overrides (which make a text read as another one), every line end `\n`, well-formed.
 */
export function pastedText(text: string): string {
  if (plainText.test(text)) return text;
  return text.toWellFormed().replace(sequences, '').replace(lineEnds, '\n').replace(notText, '');
}

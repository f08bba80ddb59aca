// The lines of a file that a command has written, one JSON document each. Must not know what they say.
import { createReadStream } from 'node:fs';

/**
 * Reads a file line by line. A line ends with a line feed alone, or with a carriage return before it: Node's readline ends
 * one at U+2028 and U+2029 as well, which stand as they are in JSON and in what people write.
 */
export async function* readFileLines(file: string): AsyncGenerator<string, void> {
  let begun = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const [first = '', ...others] = String(chunk).split('\n');
    begun += first;
    for (const next of others) {
      yield withoutReturn(begun);
      begun = next;
    }
  }
  if (begun !== '') yield withoutReturn(begun);
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

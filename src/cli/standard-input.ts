// Reading all of standard input as text, up to a limit. Decides nothing about the text.
import { UsageError } from './errors.ts';

/**
 * @param maxBytes where reading ends
 * @param problems what to say when there is more, and when it is not UTF-8
 * @throws UsageError
 */
export async function readStandardInput(
  input: AsyncIterable<Buffer | string>,
  maxBytes: number,
  problems: { readonly tooLong: string; readonly notText: string },
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (size > maxBytes) throw new UsageError(problems.tooLong);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw new UsageError(problems.notText, { cause: error });
  }
}

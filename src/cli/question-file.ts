// A file of questions with what is expected of them, in YAML or JSON. Loaded by the one command that reads it.
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { CommandError, messageOf } from './errors.ts';
import { readError } from './knowledge-files.ts';

const questionFile = z.array(
  z.union([
    z.strictObject({ question: z.string().min(1), source: z.string().min(1) }),
    z.strictObject({ question: z.string().min(1), refused: z.literal(true) }),
  ]),
);
/** A question with the source that must answer it, or that none may. */
export type Expectation = z.infer<typeof questionFile>[number];

/**
 * Reads the questions of `deskbell knowledge test`.
 * @throws CommandError with what to mend
 */
export async function readQuestions(file: string): Promise<readonly Expectation[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw readError(file, 'file', error);
  });
  let value: unknown;
  try {
    // JSON is YAML, too.
    value = parse(text, { maxAliasCount: 0 });
  } catch (error) {
    throw new CommandError(`${file} can't be read as YAML or JSON: ${messageOf(error).split('\n', 1)[0]}.`);
  }
  const questions = questionFile.safeParse(value);
  if (questions.success) return questions.data;
  const at = questions.error.issues[0]?.path[0];
  throw new CommandError(
    `${file}${typeof at === 'number' ? `, entry ${at + 1}` : ''}: write a list of entries with question: and either source: or refused: true.`,
  );
}

// deskbell knowledge …: what the assistant may answer from, and what a question finds
// in it. Holds no rule.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { FoundPassage, KnowledgeDocument } from '../../protocol/assistant.ts';
import type { Output } from '../../protocol/operations.ts';
import { counted, preview } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { CommandError, UsageError, messageOf } from '../errors.ts';
import { addCommandGroup, wholeNumberOr } from '../command-builder.ts';
import { readError } from '../knowledge-files.ts';
import { runLocal, withLocal } from '../local.ts';
import { addKnowledgeAdd } from './knowledge-add.ts';
import { addKnowledgeTest } from './knowledge-test.ts';

/** @returns the group, for commands of other files */
export function addKnowledgeCommands(program: Command, act: WrapHandler): Command {
  const knowledge = addCommandGroup(
    program,
    'knowledge',
    'what the assistant may answer from: documents, passages, synonyms',
  );
  const app = (command: Command): Command =>
    command.requiredOption('--app <ID>', "the application's id (appId)");

  addKnowledgeAdd(knowledge, act);
  knowledge
    .command('list')
    .description('list the documents of an application, or of an organization')
    .option('--app <ID>', "the application's id (appId)")
    .option('--org <S>', 'the organization (slug or id)')
    .action(act<{ app?: string; org?: string }>(listDocuments));
  knowledge
    .command('show')
    .description('show a document')
    .argument('<ID>', "the document's id")
    .option('--content', 'only its content, as it was added')
    .action(act<{ content?: boolean }>(showDocument));
  knowledge
    .command('remove')
    .description('remove documents, by id or by what they were made from')
    .argument('[ID...]', "the documents' ids")
    .option('--app <ID>', "the application's id (appId), with --source")
    .option('--source <S>', 'the path or address that it was added from')
    .action(act<{ app?: string; source?: string }>(removeDocuments));
  app(knowledge.command('search').description('show the passages that a question finds, best first'))
    .argument('<WORDS...>')
    .option('--limit <N>', 'how many, at most 50', wholeNumberOr(), 5)
    .action(act<{ app: string; limit: number }>(search));
  app(
    knowledge
      .command('ask')
      .description('show what the assistant would answer, from what, and how sure it is'),
  )
    .argument('<QUESTION...>')
    .action(act<{ app: string }>(ask));
  app(knowledge.command('gaps').description('list the questions that the documents did not answer'))
    .option('--limit <N>', 'how many, at most 100', wholeNumberOr(), 20)
    .action(act<{ app: string; limit: number }>(listGaps));
  app(knowledge.command('keep').description('keep an answer to a question as a passage of its own'))
    .argument('<QUESTION>', 'the question, as its title')
    .option('--reply <TEXT>', 'the answer')
    .option('--passage <ID>', 'or the passage that answers it: the question becomes a further heading of it')
    .option('--reviewed', "names and numbers in it are no person's")
    .action(act<KeepFlags>(keep));
  addKnowledgeTest(knowledge, act);
  app(knowledge.command('synonyms').description('show or set words that mean the same'))
    .option('--set <FILE>', 'a line for each group, as: refund, money back, reimbursement')
    .action(act<{ app: string; set?: string }>(synonyms));
  return knowledge;
}

async function listDocuments(context: Context, { app, org }: { app?: string; org?: string }): Promise<void> {
  if (app === undefined && org === undefined) throw new UsageError('Give --app ID or --org S.');
  const { print } = context;
  const documents: KnowledgeDocument[] = await withLocal(context, async (local) => {
    const all: KnowledgeDocument[] = [];
    for (;;) {
      const page = await local.run('knowledge.list', {
        applicationId: app,
        organization: org,
        offset: all.length,
      });
      all.push(...page.documents);
      if (page.documents.length === 0 || all.length >= page.total) return all;
    }
  });
  if (print.json) return print.document({ items: documents });
  const empty = `No documents yet. Add some: ${context.command(`knowledge add --app ${app ?? 'ID'} PATH`)}`;
  // The id is what other commands take, so on a narrow terminal it is the others that make room.
  const room = print.columns - 36 - 8 - 4;
  if (room < 80)
    return print.table(
      ['SOURCE', 'PASSAGES', 'ID'],
      documents.map((one) => [ending(one.source, Math.max(20, room)), String(one.passages), one.id]),
      empty,
    );
  print.table(
    ['SOURCE', 'TITLE', 'PASSAGES', 'UPDATED', 'ID'],
    documents.map((one) => [one.source, one.title, String(one.passages), one.updatedAt, one.id]),
    empty,
  );
}

/** The end of a path or address, which tells more than its beginning. */
function ending(source: string, length: number): string {
  const characters = Array.from(source);
  return characters.length <= length ? source : `…${characters.slice(1 - length).join('')}`;
}

async function showDocument(
  context: Context,
  { content }: { content?: boolean },
  [documentId = '']: readonly string[],
): Promise<void> {
  const one = await runLocal(context, 'knowledge.get', { documentId });
  const { print } = context;
  if (print.json) return print.document(one);
  if (content === true) return print.block(one.content);
  print.fields([
    ['title', one.title],
    ['source', one.source],
    ['url', one.url ?? 'none'],
    ['format', one.format],
    ['passages', String(one.passages)],
    ['size', `${one.content.length.toLocaleString('en')} characters`],
    ['added', one.createdAt],
    ['updated', one.updatedAt],
    ['id', one.id],
    ['app', one.applicationId],
  ]);
}

async function removeDocuments(
  context: Context,
  { app, source }: { app?: string; source?: string },
  args: readonly string[],
): Promise<void> {
  if ((args.length === 0) === (source === undefined))
    throw new UsageError('Give either ids, or --app ID --source S.');
  if (source !== undefined && app === undefined)
    throw new UsageError('--source needs --app: several applications may have the same source.');
  const removed = await withLocal(context, async (local) => {
    const ids = [...args];
    if (source !== undefined) {
      for (let offset = 0; ids.length === 0; offset += 1_000) {
        const { documents, total } = await local.run('knowledge.list', {
          applicationId: app,
          limit: 1_000,
          offset,
        });
        ids.push(...documents.filter((one) => one.source === source).map(({ id }) => id));
        if (offset + documents.length >= total) break;
      }
      if (ids.length === 0)
        throw new CommandError(
          `There is no document from ${source}. See: ${context.command(`knowledge list --app ${app ?? ''}`)}`,
        );
    }
    for (const documentId of ids) await local.run('knowledge.remove', { documentId });
    return ids;
  });
  if (context.print.json) context.print.document({ removed });
  else context.print.line(`Removed ${counted(removed.length, 'document')}.`);
}

async function search(
  context: Context,
  { app, limit }: { app: string; limit: number },
  args: readonly string[],
): Promise<void> {
  const found = await runLocal(context, 'knowledge.search', {
    applicationId: app,
    query: args.join(' '),
    limit,
  });
  const { print } = context;
  if (print.json) return print.document(found);
  if (found.passages.length === 0) print.line('No passage fits.');
  else {
    showPassages(context, found.passages);
    showConfidence(context, found);
  }
}

async function ask(context: Context, { app }: { app: string }, args: readonly string[]): Promise<void> {
  const given = await runLocal(context, 'knowledge.ask', {
    applicationId: app,
    question: args.join(' '),
  });
  const { print } = context;
  if (print.json) return print.document(given);
  print.block(given.text);
  for (const [index, { title, url }] of given.sources.entries())
    print.line(
      ['dim', index === 0 ? '\nSource: '.trimStart() : '        '],
      title,
      url === null ? '' : ['cyan', `  ${url}`],
    );
  print.line('');
  if (given.passages.length > 0) showPassages(context, given.passages);
  showConfidence(context, given);
  print.line([
    'dim',
    given.model === null ? 'Quoted from the documents; no model was asked.' : `Written by ${given.model}.`,
  ]);
}

function showPassages({ print }: Context, passages: readonly FoundPassage[]): void {
  const room = Math.min(print.columns, 160) - 20;
  const where = Math.floor(room * 0.4);
  print.table(
    ['SCORE', 'COVERS', 'WHERE', 'PASSAGE'],
    passages.map((one) => [
      one.score.toFixed(2),
      percent(one.coverage),
      preview([one.title, one.heading ?? ''].filter((part) => part !== '').join(' › '), where),
      preview(one.text, room - where),
    ]),
    '',
  );
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function showConfidence(
  { print }: Context,
  { confidence, thresholds }: Pick<Output<'knowledge.search'>, 'confidence' | 'thresholds'>,
): void {
  const line = (what: string, probability: number, from: number, then: string): void =>
    print.line(
      what,
      [probability >= from ? 'green' : 'yellow', percent(probability)],
      ['dim', `  ${then} from ${percent(from)} on`],
    );
  line('The first passage answers:    ', confidence.answer, thresholds.answer, 'answered');
  line('One of the first three does:  ', confidence.choices, thresholds.choices, 'titles are offered');
}

async function listGaps(context: Context, { app, limit }: { app: string; limit: number }): Promise<void> {
  const { gaps } = await runLocal(context, 'knowledge.gaps', { applicationId: app, limit });
  const { print } = context;
  if (print.json) return print.document({ items: gaps });
  const room = Math.min(print.columns, 160) - 36;
  print.table(
    ['ASKED', 'LAST', 'QUESTION', 'CHOSEN'],
    gaps.map((one) => [
      String(one.count),
      one.lastAskedAt.slice(0, 16).replace('T', ' '),
      preview(one.question, Math.max(20, Math.floor(room * 0.7))),
      preview(one.chosen?.title ?? '', Math.max(10, Math.floor(room * 0.3))),
    ]),
    'No question is without an answer.',
  );
  if (gaps.length > 0) print.next(context.command(`knowledge keep --app ${app} QUESTION --reply TEXT`));
}

interface KeepFlags {
  readonly app: string;
  readonly reply?: string;
  readonly passage?: string;
  readonly reviewed?: boolean;
}

async function keep(
  context: Context,
  { app: applicationId, reply, passage: passageId, reviewed = false }: KeepFlags,
  [question = '']: readonly string[],
): Promise<void> {
  if ((reply === undefined) === (passageId === undefined))
    throw new UsageError('Say how it is answered: either --reply TEXT or --passage ID.');
  const kept = await withLocal(context, async (local) => {
    const { gaps } = await local.run('knowledge.gaps', { applicationId, limit: 100 });
    // The same words in any case are the gap that was meant.
    const settles = gaps.find((one) => one.question.toLowerCase() === question.toLowerCase())?.entries ?? [];
    return passageId === undefined
      ? local.run('knowledge.keepReply', { applicationId, question, reply: reply ?? '', reviewed, settles })
      : local.run('knowledge.keepQuestion', { applicationId, passageId, question, reviewed, settles });
  });
  if (context.print.json) context.print.document(kept);
  else context.print.line('Kept. Questions like it find the answer from now on.');
}

async function synonyms(context: Context, { app, set }: { app: string; set?: string }): Promise<void> {
  const lines = set === undefined ? null : await readSynonyms(set);
  const kept =
    lines === null
      ? await runLocal(context, 'knowledge.synonyms', { applicationId: app })
      : await runLocal(context, 'knowledge.setSynonyms', { applicationId: app, synonyms: lines });
  const { print } = context;
  if (print.json) return print.document(kept);
  if (kept.synonyms.length === 0) {
    print.line(lines === null ? 'No synonyms yet.' : 'There are no synonyms any more.');
    if (lines === null) print.next(context.command(`knowledge synonyms --app ${app} --set FILE`));
  }
  for (const line of kept.synonyms) print.line(line.join(', '));
}

/** Lines of words parted by commas, with # before remarks; or JSON, as --json prints it. */
async function readSynonyms(file: string): Promise<string[][]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw readError(file, 'file', error);
  });
  if (/^\s*[[{]/.test(text)) {
    try {
      return groupsOf(JSON.parse(text));
    } catch (error) {
      throw new CommandError(`${file} can't be read as JSON: ${messageOf(error)}.`);
    }
  }
  return text.split(/\r?\n/).flatMap((line, index) => {
    const words = line
      .replace(/(?:^|\s)#.*$/, '')
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '');
    if (words.length === 1)
      throw new UsageError(
        `Line ${index + 1} of ${file} has only one word. Write at least two, separated by commas.`,
      );
    return words.length === 0 ? [] : [words];
  });
}

/** The groups of words in what --json printed, or in a list of lists. @throws TypeError for anything else */
function groupsOf(value: unknown): string[][] {
  const groups: unknown =
    typeof value === 'object' && value !== null && 'synonyms' in value ? value.synonyms : value;
  if (!Array.isArray(groups)) throw new TypeError('it has no list of synonyms');
  return groups.map((group: unknown) => {
    if (!isTextList(group)) throw new TypeError('a group of synonyms must be a list of words');
    return group;
  });
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

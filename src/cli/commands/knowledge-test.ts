// deskbell knowledge test: the owner's own questions with the source that is expected, and real questions asked again
// after the documents have changed. For a CI: it fails below a bar. Asks as `knowledge ask` does; holds no rule.
import type { Command } from 'commander';
import type { AiLogEntry } from '../../protocol/assistant.ts';
import type { Output } from '../../protocol/operations.ts';
import { preview } from '../../text/text.ts';
import { parseDuration } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { CommandError, UsageError } from '../errors.ts';
import { withLocal, type Local } from '../local.ts';
import type { Expectation } from '../question-file.ts';

interface TestFlags {
  readonly app: string;
  readonly min?: string;
  readonly since?: number;
}

/** How a question ended, against what was expected. */
interface Tested {
  readonly question: string;
  readonly expected: string;
  readonly got: string;
  readonly passed: boolean;
}

/** @param knowledge the group that it belongs to */
export function addKnowledgeTest(knowledge: Command, act: WrapHandler): void {
  knowledge
    .command('test')
    .description('ask your own questions, or real ones again, and fail below a share of right outcomes')
    .argument('[FILE]', 'questions in YAML or JSON, each with source: or refused: true')
    .requiredOption('--app <ID>', "the application's id (appId)")
    .option('--min <SHARE>', 'the share that must be right, from 0 to 1 (default: 1)')
    .option(
      '--since <TIME>',
      'ask what visitors asked since then (30d, 24h), and compare with what they got',
      parseDuration,
    )
    .action(act<TestFlags>(testKnowledge));
}

async function testKnowledge(
  context: Context,
  { app, min = '1', since }: TestFlags,
  [file]: readonly string[],
): Promise<void> {
  const least = Number(min);
  if (min.trim() === '' || !(least >= 0 && least <= 1))
    throw new UsageError('--min must be a number from 0 to 1, as 0.9.');
  if (file === undefined && since === undefined)
    throw new UsageError('Give a FILE of questions, or --since TIME for those that visitors asked.');
  const { readQuestions } = await import('../question-file.ts');
  const expectations = file === undefined ? [] : await readQuestions(file);
  const items = await withLocal(context, async (local) => {
    const asking = await openTest(local, app);
    const own = await asking.own(expectations);
    return since === undefined ? own : [...own, ...(await asking.real(since))];
  });
  report(context, items, least);
}

function report({ print }: Context, items: readonly Tested[], least: number): void {
  const right = items.filter(({ passed }) => passed).length;
  const share = items.length === 0 ? 1 : right / items.length;
  if (print.json) print.document({ items, right, total: items.length, share, min: least });
  else {
    const room = Math.floor((Math.min(print.columns, 160) - 12) / 3);
    print.table(
      ['', 'QUESTION', 'EXPECTED', 'GOT'],
      items
        .filter(({ passed }) => !passed)
        .map((one) => [
          '✗',
          preview(one.question, room),
          preview(one.expected, room),
          preview(one.got, room),
        ]),
      items.length === 0 ? 'There was no question to ask.' : 'Every question ended as expected.',
    );
    print.line(`${right} of ${items.length} right (${Math.floor(share * 100)} %).`);
  }
  if (share < least)
    throw new CommandError(
      `Only ${right} of ${items.length} are right; --min asks for ${+(least * 100).toFixed(2)} %.`,
    );
}

type Answer = Output<'knowledge.ask'>;

/** What a question got: the documents that were quoted or offered. */
interface Outcome {
  readonly kind: 'answered' | 'offered' | 'refused';
  readonly titles: readonly string[];
  /** Everything by which the documents can be named. */
  readonly names: readonly string[];
}

interface KnowledgeTest {
  own(expectations: readonly Expectation[]): Promise<Tested[]>;
  /** @param seconds how far back */
  real(seconds: number): Promise<Tested[]>;
}

async function openTest(local: Local, applicationId: string): Promise<KnowledgeTest> {
  const sources = await sourcesById(local, applicationId);
  const ask = async (question: string): Promise<Outcome> =>
    outcomeOf(await local.run('knowledge.ask', { applicationId, question }), sources);
  return {
    own: async (expectations) => {
      const tested: Tested[] = [];
      for (const one of expectations) tested.push(compareWithFile(one, await ask(one.question)));
      return tested;
    },
    real: async (seconds) => {
      const { clock } = local.service.engine;
      const asked = await realQuestions(local, applicationId, clock.now() - seconds * 1000);
      const tested: Tested[] = [];
      for (const entry of asked) tested.push(compareWithLog(entry, await ask(entry.question)));
      return tested;
    },
  };
}

async function sourcesById(local: Local, applicationId: string): Promise<ReadonlyMap<string, string>> {
  const sources = new Map<string, string>();
  for (let seen = 0; ;) {
    const { documents, total } = await local.run('knowledge.list', { applicationId, offset: seen });
    for (const { id, source } of documents) sources.set(id, source);
    seen += documents.length;
    if (documents.length === 0 || seen >= total) return sources;
  }
}

function outcomeOf(answer: Answer, sources: ReadonlyMap<string, string>): Outcome {
  const { answered, choices, passages } = answer;
  const offered = choices ?? [];
  const found = answered
    ? answer.sources
    : passages
        .filter(({ id }) => offered.some((choice) => choice.id === id))
        .map(({ documentId, title, url }) => ({ id: documentId, title, url }));
  return {
    kind: answered ? 'answered' : offered.length > 0 ? 'offered' : 'refused',
    titles: answered ? found.map(({ title }) => title) : offered.map(({ title }) => title),
    names: found.flatMap(({ id, title, url }) => [title, url ?? '', sources.get(id) ?? '']),
  };
}

const told = ({ kind, titles }: Pick<Outcome, 'kind' | 'titles'>): string =>
  [kind, titles.join(', ')].filter((part) => part !== '').join(': ');

/** Right: quoted from the expected document, or its title offered; a refusal: not answered. */
function compareWithFile(expectation: Expectation, got: Outcome): Tested {
  const { question } = expectation;
  if (!('source' in expectation))
    return { question, expected: 'refused', got: told(got), passed: got.kind !== 'answered' };
  const wanted = expectation.source.toLowerCase();
  const passed = got.names.some((name) => name.toLowerCase() === wanted);
  return { question, expected: expectation.source, got: told(got), passed };
}

const ranks = { refused: 0, offered: 1, answered: 2 } as const;

/** Right: no less than the visitor got, and what was quoted then is still quoted or offered. */
function compareWithLog({ question, outcome, sources }: AiLogEntry, got: Outcome): Tested {
  const before = outcome === 'answered' || outcome === 'offered' ? outcome : 'refused';
  const titles = sources.map(({ title }) => title);
  const names = new Set(got.names);
  return {
    question,
    expected: told({ kind: before, titles }),
    got: told(got),
    passed:
      ranks[got.kind] >= ranks[before] &&
      (titles.length === 0 || sources.some(({ title, url }) => names.has(title) || names.has(url ?? title))),
  };
}

const pageSize = 100;

/** What visitors asked since a time, each question once, with what it got last. */
async function realQuestions(local: Local, applicationId: string, since: number): Promise<AiLogEntry[]> {
  const found = new Map<string, AiLogEntry>();
  for (let offset = 0; ; offset += pageSize) {
    const { entries } = await local.run('ai.log', { applicationId, limit: pageSize, offset });
    for (const entry of entries) {
      if (Date.parse(entry.createdAt) < since) return [...found.values()];
      if (isReal(entry) && !found.has(entry.question)) found.set(entry.question, entry);
    }
    if (entries.length < pageSize) return [...found.values()];
  }
}

/** A visitor's question with an outcome of the assistant's own. */
function isReal({ actor, outcome, question }: AiLogEntry): boolean {
  return actor.startsWith('visitor:') && question !== '' && outcome !== 'failed' && outcome !== 'dropped';
}

// Owns: what an answer of the assistant costs without a model, over 20,000 passages beside as many of another tenant,
// held against a bare FTS5 match of the same terms in the same file. It asks through the operation that the transports call.
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { readConfig } from '../src/config.ts';
import { openService } from '../src/open-service.ts';
import { sizeLimits } from '../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../src/protocol/operations.ts';
import { execute } from '../src/services/execute.ts';
import { terms } from '../src/services/assistant/knowledge/retrieval/terms.ts';
import { median } from './program.ts';

const passagesWanted = 20_000;
const sectionsPerDocument = 100;
const questionCount = 300;
const warmUp = 30;

export interface AssistantCost {
  readonly passages: number;
  /** Milliseconds. */
  readonly own: readonly number[];
  readonly bare: readonly number[];
  /** Processor time of the same, medians, in milliseconds: what a busy machine does not blur. */
  readonly ownCpu: number;
  readonly bareCpu: number;
  /** Passages put into the index in a second. */
  readonly indexedPerSecond: number;
}

/** Numbers from 0 to 1, the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const small =
  'the a of to and is in you for it on we with or your can not be are this by from at as if our when do how what'.split(
    ' ',
  );
const openings = [
  'b',
  'br',
  'c',
  'ch',
  'd',
  'f',
  'g',
  'gr',
  'h',
  'j',
  'k',
  'l',
  'm',
  'n',
  'p',
  'pl',
  'qu',
  'r',
  's',
  'st',
  't',
  'tr',
  'v',
  'w',
  'z',
];
const vowels = ['a', 'e', 'i', 'o', 'u', 'ea', 'ou', 'ai'];

function pick<T>(list: readonly T[], share: number): T {
  const found = list[Math.floor(list.length * share)];
  if (found === undefined) throw new RangeError('nothing to pick from');
  return found;
}

/** Made-up words, each used less often than the one before, as in any language. */
function vocabulary(random: () => number): readonly string[] {
  const found = new Set<string>();
  while (found.size < 8_000) {
    let word = '';
    for (let syllables = 2 + Math.floor(random() * 2); syllables > 0; syllables -= 1)
      word += pick(openings, random()) + pick(vowels, random());
    found.add(word + pick(['n', 'r', 'l', 't', 'x', 'm'], random()));
  }
  return [...found];
}

interface Corpus {
  readonly documents: readonly string[];
  readonly questions: readonly string[];
}

/** Documents of sections of 40 to 90 words, and questions of three to six words out of a section, as people ask. */
function corpus(seed: number, words: readonly string[]): Corpus {
  const random = numbers(seed);
  const word = (): string =>
    // Two words in five are small ones; the others follow Zipf's law.
    random() < 0.4 ? pick(small, random()) : pick(words, (words.length ** random() - 1) / words.length);
  const sentence = (length: number): string => Array.from({ length }, word).join(' ');
  const documents: string[] = [];
  const sections: string[] = [];
  for (let made = 0; made < passagesWanted;) {
    let text = `# ${sentence(4)}\n`;
    for (let section = 0; section < sectionsPerDocument && made < passagesWanted; section += 1, made += 1) {
      const body = Array.from({ length: 4 }, () => `${sentence(10 + Math.floor(random() * 13))}.`).join(' ');
      sections.push(body);
      text += `\n## ${sentence(3)}\n\n${body}\n`;
    }
    documents.push(text);
  }
  const questions = Array.from({ length: questionCount + warmUp }, () => {
    const from = pick(sections, random())
      .replaceAll('.', '')
      .split(' ')
      .filter((each) => !small.includes(each));
    const asked = Array.from({ length: 3 + Math.floor(random() * 4) }, () => pick(from, random()));
    return `how do you ${asked.join(' ')} with the ${pick(words, random() * 0.005)}?`;
  });
  return { documents, questions };
}

/** Measures in turn: each question once through the service, once as a bare match. @param parent where the folder is made */
export async function assistantCost(parent: string): Promise<AssistantCost> {
  const data = await mkdtemp(join(parent, 'deskbell-bench-'));
  const { service, close } = await openService(
    readConfig({ data, durability: 'normal' }, {}),
    'server',
    () => null,
  );
  const call = <N extends OperationName>(name: N, input: RawInput<N>): Promise<Output<N>> =>
    execute(
      { service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest },
      name,
      input,
    );
  try {
    const words = vocabulary(numbers(1));
    const asked = corpus(2, words);
    const startedAt = performance.now();
    const { applicationId, passages } = await fill(call, 'asked', asked.documents);
    const indexedIn = performance.now() - startedAt;
    await fill(call, 'other', corpus(3, words).documents);

    const file = new Database(join(data, 'deskbell.db'), { readonly: true, fileMustExist: true });
    const scope =
      file
        .prepare<[string], number>('select number from knowledge_scopes where application_id = ?')
        .pluck()
        .get(applicationId) ?? 0;
    const match = file.prepare(
      'select rowid from knowledge_search where knowledge_search match ? order by rank limit 20',
    );
    const own: number[] = [];
    const bare: number[] = [];
    const cpu: { own: number[]; bare: number[] } = { own: [], bare: [] };
    let found = 0;
    for (const [index, question] of asked.questions.entries()) {
      const cpuStart = cpuMs();
      const ownStart = performance.now();
      await call('knowledge.ask', { applicationId, question });
      const ownEnd = performance.now();
      const cpuBetween = cpuMs();
      found += match.all(
        [...new Set(terms(question))].map((term) => `"${scope}x${term}"`).join(' OR '),
      ).length;
      const bareEnd = performance.now();
      const cpuEnd = cpuMs();
      if (index < warmUp) continue;
      own.push(ownEnd - ownStart);
      bare.push(bareEnd - ownEnd);
      cpu.own.push(cpuBetween - cpuStart);
      cpu.bare.push(cpuEnd - cpuBetween);
    }
    file.close();
    if (found < questionCount) throw new Error('the bare match found nothing to compare with');
    return {
      passages,
      own,
      bare,
      ownCpu: median(cpu.own),
      bareCpu: median(cpu.bare),
      indexedPerSecond: passages / (indexedIn / 1_000),
    };
  } finally {
    await close();
    await rm(data, { recursive: true, force: true });
  }
}

async function fill(
  call: <N extends OperationName>(name: N, input: RawInput<N>) => Promise<Output<N>>,
  slug: string,
  documents: readonly string[],
): Promise<{ applicationId: string; passages: number }> {
  await call('organizations.create', { name: slug, slug });
  await call('organizations.update', { organization: slug, plan: 'enterprise' });
  const { id } = await call('applications.create', {
    organization: slug,
    name: slug,
    domains: [`${slug}.example`],
  });
  let passages = 0;
  for (const [index, content] of documents.entries())
    passages += (await call('knowledge.add', { applicationId: id, source: `${index}.md`, content })).passages;
  return { applicationId: id, passages };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The value below which a share of all lie. */
function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? Number.NaN;
}

export interface AssistantLine {
  readonly what: string;
  readonly deskbell: string;
  readonly ceiling: string;
  readonly ratio: string;
}

/** The lines of the report. */
export function assistantLines({
  passages,
  own,
  bare,
  ownCpu,
  bareCpu,
  indexedPerSecond,
}: AssistantCost): AssistantLine[] {
  const line = (what: string, ours: number, theirs: number): AssistantLine => ({
    what,
    deskbell: ours.toFixed(1),
    ceiling: theirs.toFixed(1),
    ratio: (ours / theirs).toFixed(2),
  });
  return [
    line(`answer from ${passages} passages, no model, median, ms`, median(own), median(bare)),
    line('  p95, ms', quantile(own, 0.95), quantile(bare, 0.95)),
    line('  CPU per answer, median, ms', ownCpu, bareCpu),
    { what: '  passages indexed per second', deskbell: indexedPerSecond.toFixed(0), ceiling: '', ratio: '' },
  ];
}

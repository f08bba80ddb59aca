// npm run fit -- FOLDER: fits the weights of ranking and confidence on two thirds of a folder's questions and on the
// choosing half of the project's own, reports on the other third, and with --write puts them into the product.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readConfig } from '../../../src/config.ts';
import { openService } from '../../../src/open-service.ts';
import type { Service } from '../../../src/services/service.ts';
import {
  confidenceFeatures,
  rankCandidates,
  rankingFeatures,
  weights as current,
  type Weights,
} from '../../../src/services/assistant/knowledge/retrieval/combination.ts';
import { provision } from '../corpus.ts';
import { questions as ownQuestions } from '../questions/all.ts';
import { halves } from '../questions/question.ts';
import { countFigures, figuresTable, type Figures } from './figures.ts';
import { provisionFolder, readFolder } from './folder.ts';
import { fitChoices, fitProbability } from './regression.ts';
import { askFolder, sample, type Asked, type Past, type Sample } from './samples.ts';

const help = `npm run fit -- FOLDER [--write] [--report]

Fits the weights by which the assistant orders passages and judges how sure it is.
FOLDER holds documents/, sections.json and *.jsonl files with a question "q" and its topic "i" a line.

  --write    put the weights into src/services/assistant/knowledge/retrieval/weights.json
  --report   fit nothing: report on the weights in use
`;

/** Of three questions of a topic two are for the fit and one for the report. */
const isForReport = (_: unknown, index: number): boolean => index % 3 === 2;
/** A missing article and a foreign question count less than one with an answer: there are as many as one likes. */
const missingWeight = 0.3;
const foreignWeight = 0.7;
const ownWeight = 2;
const maxPast = 10;
/** No folder has vectors, so the weight of their nearness can't be fitted. */
const nearnessWeight = 1;

interface Material {
  readonly fit: readonly Asked[];
  readonly report: readonly Asked[];
  readonly own: { readonly choosing: readonly Asked[]; readonly reporting: readonly Asked[] };
  readonly topics: readonly string[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean' }, report: { type: 'boolean' }, help: { type: 'boolean' } },
});
const [path] = positionals;
if (values.help === true || path === undefined) process.stdout.write(help);
else await main(path);

async function main(folder: string): Promise<void> {
  const material = await collect(folder);
  const weights = values.report === true ? current : fitWeights(material);
  const figures = report(material, weights);
  process.stdout.write(`${figuresTable(figures).join('\n')}\n`);
  if (values.write !== true) return;
  const target = join(
    import.meta.dirname,
    '../../../src/services/assistant/knowledge/retrieval/weights.json',
  );
  const fitted = new Date().toISOString().slice(0, 10);
  await writeFile(target, `${JSON.stringify({ fitted, ...rounded(weights), figures }, null, 2)}\n`);
}

/** Asks everything once, in a service in a temporary folder. */
async function collect(path: string): Promise<Material> {
  const folder = await readFolder(path);
  const data = await mkdtemp(join(tmpdir(), 'deskbell-fit-'));
  const opened = await openService(readConfig({ data, durability: 'normal' }, {}), 'server', () => null, {
    passwordCost: 4,
  });
  try {
    const { applicationId, topicOf } = await provisionFolder(opened.service, folder);
    const groups = new Map<string, Asked[]>();
    for (const { ask, topic, file } of folder.questions) {
      const group = topic ?? file;
      const asked = await askFolder(opened.service, applicationId, { ask, group, topic, topicOf });
      groups.set(group, [...(groups.get(group) ?? []), asked]);
    }
    const all = [...groups.values()];
    return {
      fit: all.flatMap((list) => list.filter((one, index) => !isForReport(one, index))),
      report: all.flatMap((list) => list.filter(isForReport)),
      own: await collectOwn(opened.service),
      topics: Object.values(folder.sections).flat(),
    };
  } finally {
    await opened.close();
    await rm(data, { recursive: true, force: true });
  }
}

async function collectOwn(service: Service): Promise<Material['own']> {
  const corpus = await provision(service, false);
  const normal = (text: string): string => text.toLowerCase().replace(/[\s*\\]+/g, ' ');
  const collected: { choosing: Asked[]; reporting: Asked[] } = { choosing: [], reporting: [] };
  const split = halves(ownQuestions);
  for (const half of ['choosing', 'reporting'] as const)
    for (const { ask, application, kind, expected } of split[half]) {
      const question = {
        ask,
        group: kind,
        topic: expected === null ? null : 'answer',
        topicOf: ({ document_id, text }: { document_id: string; text: string }) =>
          expected !== null &&
          corpus.documents.get(document_id)?.file === expected.document &&
          normal(text).includes(normal(expected.holds))
            ? 'answer'
            : undefined,
      };
      collected[half].push(await askFolder(service, corpus.applicationId[application], question));
    }
  return collected;
}

function fitWeights({ fit, own, topics }: Material): Weights {
  const random = createRandom(7);
  const past = (without: string): Past =>
    drawPast(fit, topics, () => Math.floor(random() * (maxPast + 1)), random, without);
  const answerable = fit.filter(({ topic }) => topic !== null);
  const foreign = fit.filter(({ topic }) => topic === null);
  const none = new Set<string>();
  const plain = answerable.map((one) => sample(one));
  const learnt = answerable.map((one) => sample(one, none, past(one.ask)));
  const ofOwn = own.choosing.map((one) => sample(one));
  const fitted = fitChoices(
    [...plain, ...learnt, ...ofOwn]
      .filter(({ right }) => right.size > 0)
      .map(({ candidates, right }) => {
        const best = Math.max(0, ...candidates.map(({ words }) => words.score));
        return {
          candidates: candidates.map((one) => rankingFeatures(one, best)),
          right: candidates.map((one) => right.has(one)),
          weight: 1,
        };
      }),
    1e-3,
  );
  const ranking = [...fitted.slice(0, -1), nearnessWeight];
  const weighted: readonly (readonly [readonly Sample[], number])[] = [
    [plain, 1],
    [learnt, 1],
    [answerable.map((one) => sample(one, new Set([one.topic ?? '']))), missingWeight],
    [answerable.map((one) => sample(one, new Set([one.topic ?? '']), past(one.ask))), missingWeight],
    [foreign.map((one) => sample(one)), foreignWeight],
    [foreign.map((one) => sample(one, none, past(one.ask))), foreignWeight],
    [ofOwn, ownWeight],
  ];
  const probability = (places: number): number[] =>
    fitProbability(
      weighted.flatMap(([samples, weight]) =>
        samples
          .filter(({ candidates }) => candidates.length > 0)
          .map(({ candidates, right, signals }) => {
            const ranked = rankCandidates(candidates, { ranking });
            const holds = ranked.slice(0, places).some(({ candidate }) => right.has(candidate));
            return { features: confidenceFeatures(ranked, signals), holds, weight };
          }),
      ),
    );
  return { ranking, answer: probability(1), choices: probability(3) };
}

function report({ fit, report: asked, own, topics }: Material, weights: Weights): Record<string, Figures> {
  const random = createRandom(11);
  const answerable = asked.filter(({ topic }) => topic !== null);
  const missing = new Set(topics.filter((_, index) => index % 4 === 3));
  const past = drawPast(fit, topics, () => 5, random, '');
  const none = new Set<string>();
  const rows: Record<string, Sample[]> = {
    answerable: answerable.map((one) => sample(one)),
    'article missing': answerable
      .filter(({ topic }) => missing.has(topic ?? ''))
      .map((one) => sample(one, missing)),
    'own article missing': answerable.map((one) => sample(one, new Set([one.topic ?? '']))),
    'five past questions': answerable.map((one) => sample(one, none, past)),
  };
  for (const group of new Set(asked.filter(({ topic }) => topic === null).map((one) => one.group)))
    rows[`without answer: ${group}`] = asked.filter((one) => one.group === group).map((one) => sample(one));
  rows['own, answerable'] = own.reporting.filter(({ topic }) => topic !== null).map((one) => sample(one));
  rows['own, without answer'] = own.reporting.filter(({ topic }) => topic === null).map((one) => sample(one));
  return Object.fromEntries(
    Object.entries(rows).map(([name, samples]) => [name, countFigures(samples, weights)]),
  );
}

/** Questions of the fit as if they had been answered before. @param without the question that is being asked */
function drawPast(
  fit: readonly Asked[],
  topics: readonly string[],
  count: () => number,
  random: () => number,
  without: string,
): Past {
  return new Map(
    topics.map((topic) => {
      const asks = fit.filter((one) => one.topic === topic && one.ask !== without).map(({ ask }) => ask);
      const drawn = asks
        .map((ask) => ({ ask, order: random() }))
        .toSorted((one, other) => one.order - other.order);
      return [topic, drawn.slice(0, count()).map(({ ask }) => ask)];
    }),
  );
}

/** Numbers from 0 to 1, the same ones for a seed, so that a fit can be repeated (a linear congruence). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function rounded({ ranking, answer, choices }: Weights): Weights {
  const round = (list: readonly number[]): number[] => list.map((value) => Math.round(value * 1000) / 1000);
  return { ranking: round(ranking), answer: round(answer), choices: round(choices) };
}

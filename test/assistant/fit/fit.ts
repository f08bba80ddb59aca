// npm run fit -- FOLDER: fits the weights of ranking and confidence on two thirds of a folder's questions and on the
// choosing half of the project's own, reports on the other third, and with --write puts them into the product.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Confidence } from '../../../src/protocol/assistant.ts';
import { readConfig } from '../../../src/config.ts';
import { openService } from '../../../src/open-service.ts';
import type { Service } from '../../../src/services/service.ts';
import {
  confidenceFeatures,
  rankCandidates,
  rankingFeatures,
  thresholds as inUse,
  weights as current,
  type Weights,
} from '../../../src/services/assistant/knowledge/retrieval/combination.ts';
import { provision } from '../corpus.ts';
import { questions as ownQuestions } from '../questions/all.ts';
import { halves } from '../questions/question.ts';
import { countFigures, figuresTable, type Figures } from './figures.ts';
import { provisionFolder, readFolder, type FolderCorpus, type FolderQuestion } from './folder.ts';
import { createRandom, drawNormal } from './random.ts';
import { fitChoices, fitProbability } from './regression.ts';
import { askFolder, sample, type Asked, type Circumstances, type Past, type Sample } from './samples.ts';
import { provisionAmong, provisionFew, type Few } from './surroundings.ts';

const help = `npm run fit -- FOLDER [--write] [--report]

Fits the weights by which the assistant orders passages and judges how sure it is.
FOLDER holds documents/, sections.json and *.jsonl files with a question "q" and its topic "i" a line.

  --write    put the weights into src/services/assistant/knowledge/retrieval/weights.json
  --report   fit nothing: report on the weights and thresholds in use; with --write, renew their figures
`;

/** Of three questions of a topic two are for the fit and one for the report. */
const isForReport = (_: unknown, index: number): boolean => index % 3 === 2;
/** A missing article and a foreign question count less than one with an answer: there are as many as one likes. */
const missingWeight = 0.3;
const foreignWeight = 0.7;
const ownWeight = 2;
const maxPast = 10;
/** So many topics' articles are taken for kept replies. */
const repliesShare = 0.2;
/** So many are taken for articles that their owner titled with a question. */
const titledShare = 0.1;
/**
 * No folder has vectors, so their likeness is drawn: normal, and for the right passage higher by so many deviations.
 * By itself it then puts the right one of 77 first in about 30 %, less than a small model that knows the language.
 */
const likenessMargin = 1.8;
/**
 * The thresholds are the lowest under which, on questions that the weights were not fitted on, no more is answered
 * wrongly, and no more that has no answer is offered titles. In per cent.
 */
const bounds = { wrong: 2.5, wrongMissing: 6, wrongForeign: 0.6, offeredForeign: 12 };
/** The articles of every so many topics are missing, wholly or but for a kept reply; each is once. */
const missingSets = 4;
/** So many look-alikes, of this kind: enough to fill the places of the candidates. */
const crowd = { kind: 'near', count: 2_000 } as const;
/** The fit's own, more and others: with so many, half of the questions are asked. */
const crowdOfFit = { kind: 'distant', count: 8_000 } as const;
const crowdWeight = 0.3;

interface Material {
  readonly fit: readonly Asked[];
  readonly report: readonly Asked[];
  /** The report's, over few passages, and every other one among look-alikes. */
  readonly few: Few;
  readonly among: readonly Asked[];
  /** Every other one of the fit's, among look-alikes of another kind. */
  readonly fitAmong: readonly Asked[];
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
  const weights = values.report === true ? current.words : fitWeights(material, material.fit);
  const thresholds = values.report === true ? inUse : chooseThresholds(material);
  const figures = report(material, weights, thresholds);
  process.stdout.write(
    `thresholds ${thresholds.answer} ${thresholds.choices}\n${figuresTable(figures).join('\n')}\n`,
  );
  if (values.write !== true) return;
  const target = join(
    import.meta.dirname,
    '../../../src/services/assistant/knowledge/retrieval/weights.json',
  );
  const stored: unknown = JSON.parse(await readFile(target, 'utf8'));
  const random = createRandom(5);
  const drawLikeness = (isRight: boolean): number => drawNormal(random) + (isRight ? likenessMargin : 0);
  const renewed =
    values.report === true
      ? {}
      : {
          fitted: new Date().toISOString().slice(0, 10),
          thresholds,
          words: rounded(weights),
          vectors: rounded(fitWeights(material, material.fit, drawLikeness)),
        };
  await writeFile(target, `${JSON.stringify({ ...Object(stored), ...renewed, figures }, null, 2)}\n`);
}

/** Asks everything once, in a service in a temporary folder. */
async function collect(path: string): Promise<Material> {
  const folder = await readFolder(path);
  const data = await mkdtemp(join(tmpdir(), 'deskbell-fit-'));
  const opened = await openService(readConfig({ data, durability: 'normal' }, {}), 'server', () => null, {
    passwordCost: 4,
  });
  try {
    const corpus = await provisionFolder(opened.service, folder);
    const groups = [...Map.groupBy(folder.questions, ({ topic, file }) => topic ?? file).values()];
    const forReport = groups.flatMap((list) => list.filter(isForReport));
    const forFit = groups.flatMap((list) => list.filter((one, index) => !isForReport(one, index)));
    const amongId = await provisionAmong(opened.service, folder, crowd.kind, crowd.count, createRandom(13));
    const fitAmongId = await provisionAmong(
      opened.service,
      folder,
      crowdOfFit.kind,
      crowdOfFit.count,
      createRandom(19),
    );
    const everyOther = (list: readonly FolderQuestion[]): FolderQuestion[] =>
      list.filter(({ topic }, index) => topic !== null && index % 2 === 0);
    const askFew = await provisionFew(opened.service, folder, corpus);
    return {
      fit: await askAll(opened.service, corpus, forFit),
      fitAmong: await askAll(opened.service, { ...corpus, applicationId: fitAmongId }, everyOther(forFit)),
      report: await askAll(opened.service, corpus, forReport),
      few: await askFew(forReport, createRandom(17)),
      among: await askAll(opened.service, { ...corpus, applicationId: amongId }, everyOther(forReport)),
      own: await collectOwn(opened.service),
      topics: Object.values(folder.sections).flat(),
    };
  } finally {
    await opened.close();
    await rm(data, { recursive: true, force: true });
  }
}

async function askAll(
  service: Service,
  { applicationId, topicOf }: FolderCorpus,
  questions: readonly FolderQuestion[],
): Promise<Asked[]> {
  const all: Asked[] = [];
  for (const { ask, topic, file } of questions)
    all.push(await askFolder(service, applicationId, { ask, group: topic ?? file, topic, topicOf }));
  return all;
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

/** @param drawLikeness as if the passages had vectors; left out: they have none */
function fitWeights(
  { own, topics, fitAmong }: Material,
  fit: readonly Asked[],
  drawLikeness?: Circumstances['drawLikeness'],
): Weights {
  const random = createRandom(7);
  const past = (without: string): Past =>
    drawPast(fit, topics, () => Math.floor(random() * (maxPast + 1)), random, without);
  const drawReplies = (without: string, share: number): Map<string, string> => {
    const some = drawPast(fit, topics, () => (random() < share ? 1 : 0), random, without);
    return new Map([...some].flatMap(([topic, asks]) => asks.map((ask): [string, string] => [topic, ask])));
  };
  const reply = (without: string): Map<string, string> => drawReplies(without, repliesShare);
  const take = (one: Asked, circumstances: Circumstances = {}): Sample =>
    sample(one, drawLikeness === undefined ? circumstances : { ...circumstances, drawLikeness });
  const answerable = fit.filter(({ topic }) => topic !== null);
  const foreign = fit.filter(({ topic }) => topic === null);
  const plain = answerable.map((one) => take(one));
  const learnt = answerable.map((one) =>
    take(one, {
      past: past(one.ask),
      titled: drawReplies(one.ask, titledShare),
      replies: reply(one.ask),
    }),
  );
  const replied = answerable.map((one) => take(one, { replies: reply(one.ask) }));
  const asks = new Set(fit.map(({ ask }) => ask));
  const crowded = fitAmong.filter(({ ask }) => asks.has(ask)).map((one) => take(one));
  const ofOwn = own.choosing.map((one) => take(one));
  const withoutIts = ({ topic }: Asked): Set<string> => new Set([topic ?? '']);
  const ranking = fitChoices(
    [...plain, ...learnt, ...replied, ...ofOwn, ...crowded]
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
  const weighted: readonly (readonly [readonly Sample[], number])[] = [
    [plain, 1],
    [learnt, 1],
    [replied, 1],
    [crowded, crowdWeight],
    [answerable.map((one) => take(one, { missing: withoutIts(one) })), missingWeight],
    [answerable.map((one) => take(one, { missing: withoutIts(one), past: past(one.ask) })), missingWeight],
    [
      answerable.map((one) => take(one, { missing: withoutIts(one), replies: reply(one.ask) })),
      missingWeight,
    ],
    [foreign.map((one) => take(one)), foreignWeight],
    [foreign.map((one) => take(one, { replies: reply(one.ask) })), foreignWeight],
    [foreign.map((one) => take(one, { past: past(one.ask) })), foreignWeight],
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

/** Chooses on one half of the questions of the fit, with weights fitted on the other: the report's third stays unseen. */
function chooseThresholds(material: Material): Confidence {
  const half = (rest: number): Asked[] => material.fit.filter((_, index) => index % 2 === rest);
  const weights = fitWeights(material, half(0));
  const unseen = half(1);
  const answerable = unseen.filter(({ topic }) => topic !== null);
  const plain = answerable.map((one) => sample(one));
  const missing = answerable.map((one) => sample(one, { missing: new Set([one.topic ?? '']) }));
  const foreign = unseen.filter(({ topic }) => topic === null).map((one) => sample(one));
  const lowest = (from: number, isAllowed: (value: number) => boolean): number => {
    let value = from;
    while (value < 0.95 && !isAllowed(value)) value = Math.round((value + 0.01) * 100) / 100;
    return value;
  };
  const answer = lowest(0.5, (value) => {
    const wrong = (samples: readonly Sample[]): number =>
      countFigures(samples, weights, { answer: value, choices: 1 }).wrong;
    return (
      wrong(plain) <= bounds.wrong &&
      wrong(missing) <= bounds.wrongMissing &&
      wrong(foreign) <= bounds.wrongForeign
    );
  });
  const choices = lowest(
    0.1,
    (value) =>
      countFigures(foreign, weights, { answer, choices: value }).offeredWithout <= bounds.offeredForeign,
  );
  return { answer, choices };
}

function report(
  { fit, report: asked, few, among, own, topics }: Material,
  weights: Weights,
  thresholds: Confidence,
): Record<string, Figures> {
  const random = createRandom(11);
  const answerable = asked.filter(({ topic }) => topic !== null);
  const rows: Record<string, Sample[]> = {
    answerable: answerable.map((each) => sample(each)),
    'own article missing': answerable.map((each) => sample(each, { missing: new Set([each.topic ?? '']) })),
    ...sampleReplies(
      answerable,
      topics,
      drawPast(fit, topics, () => 1, random, ''),
    ),
    'over one document or section': few.answered.map((each) => sample(each)),
    'the same, without answer': few.unanswered.map((each) => sample(each)),
    [`among ${crowd.count} look-alikes`]: among.map((each) => sample(each)),
  };
  for (const count of [1, 2, 5]) {
    const past = drawPast(fit, topics, () => count, random, '');
    rows[`${count} past question${count === 1 ? '' : 's'}`] = answerable.map((each) =>
      sample(each, { past }),
    );
  }
  for (const group of new Set(asked.filter(({ topic }) => topic === null).map((each) => each.group)))
    rows[`without answer: ${group}`] = asked
      .filter((each) => each.group === group)
      .map((each) => sample(each));
  rows['own, answerable'] = own.reporting.filter(({ topic }) => topic !== null).map((each) => sample(each));
  rows['own, without answer'] = own.reporting
    .filter(({ topic }) => topic === null)
    .map((each) => sample(each));
  return Object.fromEntries(
    Object.entries(rows).map(([name, samples]) => [name, countFigures(samples, weights, thresholds)]),
  );
}

/** Questions whose article is missing, wholly or but for a kept reply, and the others beside them. */
function sampleReplies(
  answerable: readonly Asked[],
  topics: readonly string[],
  past: Past,
): Record<string, Sample[]> {
  const found: Record<string, Sample[]> = {};
  const add = (name: string, list: readonly Asked[], circumstances: Circumstances): void => {
    found[name] = [...(found[name] ?? []), ...list.map((each) => sample(each, circumstances))];
  };
  for (let rest = 0; rest < missingSets; rest += 1) {
    const missing = new Set(topics.filter((_, index) => index % missingSets === rest));
    const replies = new Map(
      [...missing].flatMap((topic) => past.get(topic)?.map((ask) => [topic, ask]) ?? []),
    );
    const its = answerable.filter(({ topic }) => missing.has(topic ?? ''));
    const others = answerable.filter(({ topic }) => !missing.has(topic ?? ''));
    add('article missing', its, { missing });
    add('its questions, one reply kept', its, { replies });
    add('the others, article missing', others, { missing });
    add('the others, one reply kept', others, { replies });
    add('its questions, titled by one', its, { titled: replies });
  }
  return found;
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

function rounded({ ranking, answer, choices }: Weights): Weights {
  const round = (list: readonly number[]): number[] => list.map((value) => Math.round(value * 1000) / 1000);
  return { ranking: round(ranking), answer: round(answer), choices: round(choices) };
}

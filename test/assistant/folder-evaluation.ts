// Owns: asking a folder's questions by the operation that the transports use, and counting what came back by file.
// Must not print, and must not know how answers are found.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { openService } from '../../src/open-service.ts';
import type { Output } from '../../src/protocol/operations.ts';
import { asOwner } from './corpus.ts';
import { toFigures, type Figures, type Outcome } from './fit/figures.ts';
import { provisionFolder, readFolder, type FolderCorpus } from './fit/folder.ts';
import { createLookAlikes, lookAlikeDocuments, type KindOfLookAlike } from './fit/look-alikes.ts';
import { createRandom } from './fit/random.ts';

export interface FolderEvaluation {
  /** By the file of the questions. */
  readonly figures: Readonly<Record<string, Figures>>;
  /** What a question took at the median, and at most of 95 % of them. */
  readonly milliseconds: { readonly median: number; readonly most: number };
}

/**
 * Builds a service in a temporary folder, fills it with the folder's documents, and asks everything.
 * @param among look-alikes beside the documents
 * @throws Error when the folder lacks something
 */
export async function evaluateFolder(
  path: string,
  { kind, count }: { readonly kind: KindOfLookAlike; readonly count: number },
): Promise<FolderEvaluation> {
  const folder = await readFolder(path);
  const data = await mkdtemp(join(tmpdir(), 'deskbell-evaluation-'));
  try {
    const opened = await openService(readConfig({ data, durability: 'normal' }, {}), 'server', () => null, {
      passwordCost: 4,
    });
    try {
      const corpus = await provisionFolder(opened.service, folder);
      const { applicationId } = corpus;
      const lookAlikes = createLookAlikes(folder, kind, createRandom(3));
      for (const document of lookAlikeDocuments(lookAlikes, count))
        await asOwner(opened.service, 'knowledge.add', { applicationId, ...document });
      const outcomes = new Map<string, Outcome[]>();
      const times: number[] = [];
      for (const { ask, topic, file } of folder.questions) {
        const began = performance.now();
        const answer = await asOwner(opened.service, 'knowledge.ask', { applicationId, question: ask });
        times.push(performance.now() - began);
        outcomes.set(file, [...(outcomes.get(file) ?? []), judge(topic, answer, corpus)]);
      }
      times.sort((one, other) => one - other);
      const quantile = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
      return {
        figures: Object.fromEntries([...outcomes].map(([file, list]) => [file, toFigures(list)])),
        milliseconds: { median: quantile(0.5), most: quantile(0.95) },
      };
    } finally {
      await opened.close();
    }
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

function judge(
  topic: string | null,
  { answered, choices, passages }: Output<'knowledge.ask'>,
  corpus: FolderCorpus,
): Outcome {
  const isRight = (passage: (typeof passages)[number]): boolean =>
    topic !== null && corpus.topicOf(passage) === topic;
  const offered = new Set(choices?.map(({ id }) => id));
  const place = passages.findIndex(isRight);
  return {
    place: place < 0 ? null : place,
    action: answered ? 'answered' : choices === undefined ? 'handedOver' : 'offered',
    isRight: answered ? place === 0 : passages.some((one) => offered.has(one.id) && isRight(one)),
  };
}

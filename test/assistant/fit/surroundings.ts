// A folder's questions asked elsewhere than over all of its documents: over one of them, over one section alone, where
// there is nothing to compare the best passage with, and among look-alikes. Asks; fits and counts nothing.
import type { Service } from '../../../src/services/service.ts';
import { provisionApplication, type Folder, type FolderCorpus, type FolderQuestion } from './folder.ts';
import { createLookAlikes, lookAlikeDocuments, type KindOfLookAlike } from './look-alikes.ts';
import { askFolder, type Asked } from './samples.ts';

/** Questions over few passages: those that one of them answers, and those that none does. */
export interface Few {
  readonly answered: readonly Asked[];
  readonly unanswered: readonly Asked[];
}

/** Asks questions over small applications. */
export type AskFew = (questions: readonly FolderQuestion[], random: () => number) => Promise<Few>;

/** Makes an application of each document, and one of each section. */
export async function provisionFew(
  service: Service,
  folder: Folder,
  { topicOf }: Pick<FolderCorpus, 'topicOf'>,
): Promise<AskFew> {
  const documentOf = new Map<string, string>();
  const applications = { documents: new Map<string, string>(), sections: new Map<string, string>() };
  for (const { source, content } of folder.documents) {
    const name = `few-${documentOf.size}`;
    applications.documents.set(source, await provisionApplication(service, name, [{ source, content }]));
    const [title = '', ...sections] = content.split(/^(?=## )/m);
    for (const [index, topic] of (folder.sections[source] ?? []).entries()) {
      documentOf.set(topic, source);
      const one = { source, content: `${title}${sections[index] ?? ''}` };
      applications.sections.set(topic, await provisionApplication(service, `${name}-${index}`, [one]));
    }
  }
  return async (questions, random) => {
    const answered: Asked[] = [];
    const unanswered: Asked[] = [];
    const other = (map: ReadonlyMap<string, string>, but: string): string => {
      const others = [...map].filter(([key]) => key !== but).map(([, application]) => application);
      return others[Math.floor(random() * others.length)] ?? '';
    };
    for (const { ask, topic, file } of questions) {
      const put = async (list: Asked[], application: string | undefined, right: string | null) =>
        list.push(
          await askFolder(service, application ?? '', { ask, group: topic ?? file, topic: right, topicOf }),
        );
      const document = documentOf.get(topic ?? '') ?? '';
      if (topic === null) {
        await put(
          unanswered,
          other(random() < 0.5 ? applications.documents : applications.sections, ''),
          null,
        );
        continue;
      }
      await put(answered, applications.documents.get(document), topic);
      await put(answered, applications.sections.get(topic), topic);
      await put(unanswered, other(applications.documents, document), null);
      const nearby = new Map([...applications.sections].filter(([one]) => documentOf.get(one) === document));
      if (nearby.size > 1) await put(unanswered, other(nearby, topic), null);
    }
    return { answered, unanswered };
  };
}

/** Puts a folder's documents among look-alikes. */
export function provisionAmong(
  service: Service,
  folder: Folder,
  kind: KindOfLookAlike,
  count: number,
  random: () => number,
): Promise<string> {
  const lookAlikes = lookAlikeDocuments(createLookAlikes(folder, kind, random), count);
  return provisionApplication(service, `among-${kind}`, [...folder.documents, ...lookAlikes]);
}

// A folder of real questions to fit and report on: documents/*.md, sections.json (for each file the topics of its
// sections, in order) and *.jsonl with a question `q` and its topic `i` a line. A question whose topic is no section's
// has no answer in the documents. No text of such a folder enters the project.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from '../../../src/services/service.ts';
import { asOwner } from '../corpus.ts';

export interface FolderQuestion {
  readonly ask: string;
  /** The topic of the section that answers it; null: none does. */
  readonly topic: string | null;
  /** Which of the folder's files it is from. */
  readonly file: string;
}

export interface Folder {
  readonly documents: readonly { readonly source: string; readonly content: string }[];
  /** The topics of each document's sections, in order. */
  readonly sections: Readonly<Record<string, readonly string[]>>;
  readonly questions: readonly FolderQuestion[];
}

/** Reads a folder. @throws Error when it lacks something */
export async function readFolder(path: string): Promise<Folder> {
  const names = (await readdir(path)).toSorted();
  const sections = JSON.parse(await readFile(join(path, 'sections.json'), 'utf8')) as Folder['sections'];
  const topics = new Set(Object.values(sections).flat());
  const files = names.filter((name) => name.endsWith('.jsonl'));
  if (files.length === 0) throw new Error(`${path}: holds no .jsonl file with questions`);
  const questions = await Promise.all(
    files.map(async (file) =>
      (await readFile(join(path, file), 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line): FolderQuestion => {
          const { q, i } = JSON.parse(line) as { q: string; i?: string };
          return { ask: q, topic: i !== undefined && topics.has(i) ? i : null, file };
        }),
    ),
  );
  const documents = await Promise.all(
    Object.keys(sections).map(async (source) => ({
      source,
      content: await readFile(join(path, 'documents', source), 'utf8'),
    })),
  );
  return { documents, sections, questions: questions.flat() };
}

export interface FolderCorpus {
  readonly applicationId: string;
  /** The topic of a passage; undefined: it belongs to none. */
  topicOf(source: { readonly title: string; readonly heading: string | null }): string | undefined;
}

/** Puts documents into an application of its own. @param name also its organization's */
export async function provisionApplication(
  service: Service,
  name: string,
  documents: Iterable<{ readonly source: string; readonly content: string }>,
): Promise<string> {
  await asOwner(service, 'organizations.create', { name, slug: name });
  await asOwner(service, 'organizations.update', { organization: name, plan: 'enterprise' });
  const { id: applicationId } = await asOwner(service, 'applications.create', {
    organization: name,
    name,
    domains: [`${name}.example`],
  });
  for (const { source, content } of documents)
    await asOwner(service, 'knowledge.add', { applicationId, source, content });
  return applicationId;
}

/** Puts a folder's documents into an application of its own. */
export async function provisionFolder(service: Service, folder: Folder): Promise<FolderCorpus> {
  const applicationId = await provisionApplication(service, 'folder', []);
  const topics = new Map<string, string>();
  for (const { source, content } of folder.documents) {
    const { title } = await asOwner(service, 'knowledge.add', { applicationId, source, content });
    const headings = [...content.matchAll(/^## +(.*)$/gm)].map(([, heading = '']) => heading.trim());
    for (const [index, heading] of headings.entries())
      topics.set(`${title}\n${heading}`, folder.sections[source]?.[index] ?? '');
  }
  return { applicationId, topicOf: ({ title, heading }) => topics.get(`${title}\n${heading ?? ''}`) };
}

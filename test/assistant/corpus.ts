// Owns: the documents of the evaluation, as they lie in documents/<application>/, and putting them into a
// service by the operations that an administrator uses. Must not know a question.
import { readFile, readdir } from 'node:fs/promises';
import { extname, join, parse } from 'node:path';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { KnowledgeFormat } from '../../src/protocol/assistant.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import { execute } from '../../src/services/execute.ts';
import type { Service } from '../../src/services/service.ts';
import { applications, type ApplicationName } from './questions/question.ts';
import { synonyms } from './questions/synonyms.ts';

const formats: Readonly<Record<string, KnowledgeFormat>> = {
  '.md': 'markdown',
  '.html': 'html',
  '.txt': 'text',
};

/** Two applications share an organization: data may not pass between them either. */
const organizationOf: Readonly<Record<ApplicationName, string>> = {
  teashop: 'moss-and-kettle',
  teatrade: 'moss-and-kettle',
  bicycles: 'larkwheel',
  timesheets: 'tallybird',
};

/** Each site's own host: the only one that a link in an answer may lead to. */
export const hostOf: Readonly<Record<ApplicationName, string>> = {
  teashop: 'moss.example',
  teatrade: 'trade.moss.example',
  bicycles: 'larkwheel.example',
  timesheets: 'tallybird.example',
};

export interface Corpus {
  /** The application's id, as the operations take it. */
  readonly applicationId: Readonly<Record<ApplicationName, string>>;
  /** Where each document belongs, by its id. */
  readonly documents: ReadonlyMap<string, { readonly application: ApplicationName; readonly file: string }>;
  readonly passages: number;
}

/** Runs an operation as the command line would. */
export function asOwner<N extends OperationName>(
  service: Service,
  name: N,
  input: RawInput<N>,
): Promise<Output<N>> {
  return execute(
    { service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest },
    name,
    input,
  );
}

/**
 * Makes organizations, applications, documents and synonym lists in an empty service.
 * @param withSynonyms false: as an owner who wrote no list
 */
export async function provision(service: Service, withSynonyms = true): Promise<Corpus> {
  const applicationId: Partial<Record<ApplicationName, string>> = {};
  const documents = new Map<string, { application: ApplicationName; file: string }>();
  let passages = 0;
  for (const slug of new Set(Object.values(organizationOf))) {
    await asOwner(service, 'organizations.create', { name: slug, slug });
    await asOwner(service, 'organizations.update', { organization: slug, plan: 'enterprise' });
  }
  for (const application of applications) {
    const { id } = await asOwner(service, 'applications.create', {
      organization: organizationOf[application],
      name: application,
      domains: [hostOf[application]],
    });
    applicationId[application] = id;
    for (const document of await documentsOf(application)) {
      const added = await asOwner(service, 'knowledge.add', { applicationId: id, ...document });
      documents.set(added.id, { application, file: document.source });
      passages += added.passages;
    }
    if (withSynonyms)
      await asOwner(service, 'knowledge.setSynonyms', { applicationId: id, synonyms: synonyms[application] });
  }
  return { applicationId: applicationId as Record<ApplicationName, string>, documents, passages };
}

interface Source {
  readonly source: string;
  readonly url: string;
  readonly format: KnowledgeFormat;
  readonly content: string;
}

/** The documents of an application, by name. */
export async function documentsOf(application: ApplicationName): Promise<Source[]> {
  const folder = join(import.meta.dirname, 'documents', application);
  const files = (await readdir(folder)).toSorted();
  return Promise.all(
    files.map(async (file) => {
      const format = formats[extname(file)];
      if (format === undefined) throw new Error(`${file}: no format is known for it`);
      const url = `https://${hostOf[application]}/help/${parse(file).name}`;
      return { source: file, url, format, content: await readFile(join(folder, file), 'utf8') };
    }),
  );
}

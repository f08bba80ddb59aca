// deskbell knowledge add: files, folders and sites into an application's knowledge,
// again as often as they change. Holds no rule; a line for each document.
import type { Command } from 'commander';
import manifest from '../../../package.json' with { type: 'json' };
import { assistantLimits } from '../../protocol/codes.ts';
import type { Output } from '../../protocol/operations.ts';
import { contentTooLong } from '../../services/assistant/knowledge/files/file-kinds.ts';
import { ServiceError } from '../../services/core/errors.ts';
import { counted } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { CommandError, UsageError } from '../errors.ts';
import { wholeNumberOr } from '../command-builder.ts';
import { findFiles, readDocument, type ReadDocument } from '../knowledge-files.ts';
import { withLocal, type Local } from '../local.ts';
import { onStopSignal, type StopSignal } from '../signals.ts';

interface AddFlags {
  readonly app: string;
  readonly title?: string;
  readonly url?: string;
  readonly prune?: boolean;
  readonly maxPages: number;
  readonly depth: number;
  readonly below?: boolean;
  readonly allowPrivate?: boolean;
  readonly delay: number;
}

type Change = 'added' | 'updated' | 'unchanged' | 'skipped' | 'failed' | 'removed';

interface Outcome {
  readonly source: string;
  readonly change: Change;
  readonly id?: string;
  readonly title?: string;
  readonly passages?: number;
  readonly problem?: string;
}

export function addKnowledgeAdd(knowledge: Command, act: WrapHandler): void {
  knowledge
    .command('add')
    .description(
      "add files (.md, .html, .txt, .pdf, .docx), folders or a site's pages; what was added before is updated",
    )
    .argument('<PATH|URL...>', 'files, folders, addresses of sites')
    .requiredOption('--app <ID>', "the application's id (appId)")
    .option('--title <TEXT>', 'the title of a single file, instead of its own')
    .option('--url <URL>', 'where visitors can read it: the address of a single file, or of the folder')
    .option('--prune', 'remove what was added from the same folder or site and no longer exists')
    .option('--max-pages <N>', 'of a site: how many pages at most', wholeNumberOr(), 100)
    .option('--depth <N>', 'of a site: how many links away from the first page', wholeNumberOr(), 5)
    .option('--below', "of a site: only pages in the first page's folder")
    .option('--allow-private', 'of a site: private and local addresses, too')
    .option('--delay <MS>', 'of a site: the pause between two pages, at least 1 ms', wholeNumberOr(), 200)
    .action(act<AddFlags>(addKnowledge));
}

async function addKnowledge(context: Context, flags: AddFlags, paths: readonly string[]): Promise<void> {
  const sites = paths.filter(isAddress);
  if (sites.length > 0 && (flags.url !== undefined || flags.title !== undefined))
    throw new UsageError('--url and --title are for files: pages of a site have their own.');
  if (flags.title !== undefined && paths.length > 1) throw new UsageError('--title is for a single file.');
  using stop = onStopSignal(context.print.outputClosed);
  const outcomes: Outcome[] = [];
  const tell = (outcome: Outcome): void => {
    outcomes.push(outcome);
    show(context, outcome);
  };
  await withLocal(context, async (local) => {
    // A wrong application or plan is told before anything is read: the cheapest call that needs both right.
    await local.run('knowledge.search', { applicationId: flags.app, query: 'x', limit: 1 });
    for (const path of paths) {
      if (stop.signal.aborted) break;
      if (isAddress(path)) await addSite(context, local, path, flags, stop, tell);
      else await addPath(local, path, flags, stop, tell);
    }
  });
  summarise(context, flags, outcomes, stop.signal.aborted);
}

const isAddress = (path: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(path);

async function addPath(
  local: Local,
  path: string,
  flags: AddFlags,
  stop: StopSignal,
  tell: (outcome: Outcome) => void,
): Promise<void> {
  const { prefix, files } = await findFiles(path);
  if (prefix !== null && flags.title !== undefined) throw new UsageError('--title is for a single file.');
  for (const file of files) {
    if (stop.signal.aborted) return;
    const read = await readDocument(file);
    const url =
      flags.url === undefined
        ? undefined
        : prefix === null
          ? flags.url
          : addressBelow(flags.url, file.source.slice(prefix.length));
    tell(await put(local, flags, read.ok && url !== undefined ? { ...read, url } : read));
  }
  if (flags.prune !== true || prefix === null) return;
  const present = new Set(files.map(({ source }) => source));
  for (const one of await documentsOf(local, flags.app))
    if (one.source.startsWith(prefix) && !isAddress(one.source) && !present.has(one.source))
      tell(await remove(local, one));
}

/** Where a file of a folder lies on the web: Markdown as the page that is made of it. */
function addressBelow(folder: string, path: string): string {
  const page = path.replace(/\.(?:md|markdown)$/i, '').replace(/(?:^|\/)(?:index|readme)$/i, '');
  return `${folder.replace(/\/$/, '')}/${page.split('/').map(encodeURIComponent).join('/')}`;
}

async function addSite(
  { print }: Context,
  local: Local,
  address: string,
  flags: AddFlags,
  stop: StopSignal,
  tell: (outcome: Outcome) => void,
): Promise<void> {
  const start = URL.parse(address);
  if (start === null || !/^https?:$/.test(start.protocol) || start.username !== '')
    throw new UsageError(
      `${address} is not the address of a site. Write for example https://www.example.com/help`,
    );
  const { crawlSite } = await import('../../services/assistant/knowledge/crawl/crawler.ts');
  const known = new Map(
    (await documentsOf(local, flags.app)).flatMap((one) =>
      URL.parse(one.source)?.host === start.host ? [[one.source, one]] : [],
    ),
  );
  // To prune, what is known is looked at again beside the pages that are read.
  const maxPages = flags.maxPages + (flags.prune === true ? known.size : 0);
  const pages = crawlSite({
    clock: local.service.engine.clock,
    start,
    maxPages,
    depth: flags.depth,
    withinFolder: flags.below === true,
    allowPrivate: flags.allowPrivate === true,
    userAgent: `deskbell/${manifest.version} (knowledge)`,
    knownUrls: flags.prune === true ? [...known.keys()] : [],
    delayMs: flags.delay,
    sleep: stop.sleep,
    signal: stop.signal,
  });
  let first = true;
  for await (const page of pages) {
    if (stop.signal.aborted) return;
    if (page.kind === 'left') {
      print.note(
        `Stopped at ${counted(maxPages, 'page')}; at least ${counted(page.waiting, 'more was', 'more were')} found. Read more with --max-pages N.`,
      );
      return;
    }
    const before = known.get(page.url);
    if (page.kind === 'page')
      tell(
        await put(local, flags, {
          ok: true,
          source: page.url,
          url: page.url,
          format: page.format,
          content: page.content,
        }),
      );
    else if (page.kind === 'gone' && before !== undefined && flags.prune === true)
      tell(await remove(local, before));
    // A broken link on the site is skipped; an address that was typed and leads nowhere is an error.
    else
      tell({
        source: page.url,
        change: page.kind === 'gone' && !first ? 'skipped' : 'failed',
        problem: advised(page.problem),
      });
    first = false;
  }
}

/** A private address may be meant: then the owner can say so. */
function advised(problem: string): string {
  return problem.includes('private or local address')
    ? `${problem}; --allow-private reads it all the same`
    : problem;
}

async function put(local: Local, flags: AddFlags, read: ReadDocument): Promise<Outcome> {
  const { source } = read;
  if (!read.ok) return { source, change: 'failed', problem: read.problem };
  const { format, content, url } = read;
  if (content.length > assistantLimits.content) return { source, change: 'failed', problem: contentTooLong };
  try {
    const made = await local.run('knowledge.add', {
      applicationId: flags.app,
      source,
      format,
      content,
      ...(url === undefined ? {} : { url }),
      ...(flags.title === undefined ? {} : { title: flags.title }),
    });
    return { source, change: made.change, id: made.id, title: made.title, passages: made.passages };
  } catch (error) {
    // Of one document; anything else would meet every other one, too.
    if (error instanceof ServiceError && error.code === 'bad_request')
      return { source, change: 'failed', problem: error.message };
    throw error;
  }
}

async function documentsOf(
  local: Local,
  applicationId: string,
): Promise<{ id: string; source: string; title: string }[]> {
  const documents: Output<'knowledge.list'>['documents'] = [];
  for (;;) {
    const page: Output<'knowledge.list'> = await local.run('knowledge.list', {
      applicationId,
      offset: documents.length,
    });
    documents.push(...page.documents);
    if (page.documents.length === 0 || documents.length >= page.total) return documents;
  }
}

async function remove(
  local: Local,
  { id, source, title }: { id: string; source: string; title: string },
): Promise<Outcome> {
  await local.run('knowledge.remove', { documentId: id });
  return { source, change: 'removed', id, title };
}

const styles = {
  added: 'green',
  updated: 'cyan',
  unchanged: 'dim',
  skipped: 'yellow',
  failed: 'red',
  removed: 'yellow',
} as const;

function show({ print }: Context, { source, change, title, passages, problem }: Outcome): void {
  const rest =
    problem ??
    [
      title === undefined || title === source ? '' : title,
      passages === undefined ? '' : counted(passages, 'passage'),
    ]
      .filter((one) => one !== '')
      .join(', ');
  print.line([styles[change], change.padEnd(9)], `  ${source}`, rest === '' ? '' : ['dim', `  ${rest}`]);
}

function summarise(
  context: Context,
  { app }: AddFlags,
  outcomes: readonly Outcome[],
  stopped: boolean,
): void {
  const { print } = context;
  const of = (change: Change): number => outcomes.filter((one) => one.change === change).length;
  const [added, updated, unchanged] = [of('added'), of('updated'), of('unchanged')];
  const [skipped, failed, removed] = [of('skipped'), of('failed'), of('removed')];
  if (print.json) print.document({ items: outcomes, added, updated, unchanged, skipped, failed, removed });
  else {
    print.line(
      [
        `${added} added`,
        `${updated} updated`,
        `${unchanged} unchanged`,
        ...(removed > 0 ? [`${removed} removed`] : []),
        ...(skipped > 0 ? [`${skipped} skipped`] : []),
        ...(failed > 0 ? [`${failed} failed`] : []),
      ].join(', '),
      '.',
    );
    if (added + updated > 0) print.next(context.command(`knowledge ask --app ${app} "How do I …?"`));
  }
  if (stopped)
    throw new CommandError('Stopped before the end. Run it again to go on: what is unchanged is left alone.');
  if (failed > 0)
    throw new CommandError(`${counted(failed, 'document')} of ${outcomes.length} could not be added.`);
}

// deskbell knowledge log: what the assistant was asked, what it answered, and from which documents. Reads only; holds
// no rule.
import type { Command } from 'commander';
import type { AiLogEntry } from '../../protocol/assistant.ts';
import { preview } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { wholeNumberOr } from '../command-builder.ts';
import { withLocal } from '../local.ts';

interface LogFlags {
  readonly org?: string;
  readonly app?: string;
  readonly limit: number;
  readonly full?: boolean;
}

/** As many as the rule gives at once. */
const pageSize = 100;
const columnLength = 60;

/** @param knowledge the group that it belongs to */
export function addAiLogCommand(knowledge: Command, act: WrapHandler): void {
  knowledge
    .command('log')
    .description('list what the assistant was asked and answered, newest first')
    .option('--org <S>', 'the organization (slug or id)')
    .option('--app <ID>', 'only this application (its id, appId)')
    .option('--limit <N>', 'how many rows', wholeNumberOr(), 50)
    .option('--full', 'questions and answers at their full length')
    .action(act<LogFlags>(listLog));
}

async function listLog(context: Context, { org, app, limit, full }: LogFlags): Promise<void> {
  if (app === undefined && org === undefined) throw new UsageError('Give --org S or --app ID.');
  const items: AiLogEntry[] = await withLocal(context, async (local) => {
    const all: AiLogEntry[] = [];
    for (;;) {
      const wanted = Math.min(pageSize, limit - all.length);
      const { entries } = await local.run('ai.log', {
        organization: org,
        applicationId: app,
        limit: wanted,
        offset: all.length,
      });
      all.push(...entries);
      if (entries.length < wanted || all.length >= limit) return all;
    }
  });
  const { print } = context;
  if (print.json) return print.document({ items });
  if (full === true) {
    for (const one of items) {
      print.fields([
        ['when', one.createdAt],
        ['way', one.door],
        ['outcome', one.outcome],
        ['question', one.question],
        ['answer', one.answer ?? 'none'],
        [
          'sources',
          one.sources.map(({ title, url }) => (url === null ? title : `${title} (${url})`)).join(', ') ||
            'none',
        ],
        ['model', one.model ?? 'none'],
        ['took', `${one.durationMs} ms`],
      ]);
      print.line('');
    }
    return undefined;
  }
  return print.table(
    ['WHEN', 'WAY', 'OUTCOME', 'MODEL', 'MS', 'QUESTION', 'ANSWER'],
    items.map((one) => [
      one.createdAt,
      one.door,
      one.outcome,
      one.model ?? '',
      String(one.durationMs),
      preview(one.question, columnLength),
      preview(one.answer ?? '', columnLength),
    ]),
    'The assistant has not been asked anything yet.',
  );
}

// deskbell audit: who changed what, when, from where. Reads only; holds no rule.
import type { Command } from 'commander';
import type { AuditEntry } from '../../protocol/entities.ts';
import type { WrapHandler, Context } from '../context.ts';
import { runLocal } from '../local.ts';
import { UsageError } from '../errors.ts';

interface AuditFlags {
  readonly org?: string;
  readonly limit: string;
}

export function addAuditCommand(program: Command, act: WrapHandler): void {
  program
    .command('audit')
    .description('list who changed what, when and from where, newest first')
    .option('--org <S>', 'only this organization (slug or id)')
    .option('--limit <N>', 'how many rows', '50')
    .action(act<AuditFlags>(listAudit));
}

/** As many as the rule gives at once. */
const pageSize = 100;

async function listAudit(context: Context, { org, limit }: AuditFlags): Promise<void> {
  if (!/^[1-9][0-9]{0,6}$/.test(limit)) throw new UsageError('--limit must be a whole number of at least 1.');
  const wanted = Number(limit);
  const items: AuditEntry[] = [];
  for (;;) {
    const { entries } = await runLocal(context, 'audit.list', {
      organization: org,
      limit: Math.min(pageSize, wanted - items.length),
      offset: items.length,
    });
    items.push(...entries);
    if (entries.length < pageSize || items.length >= wanted) break;
  }
  const { print } = context;
  if (print.json) return print.document({ items });
  print.table(
    ['WHEN', 'WHO', 'WHAT', 'TO', 'DETAIL', 'FROM'],
    items.map((one) => [
      one.createdAt,
      one.actor,
      one.action,
      one.subject,
      Object.entries(one.detail)
        .map(([name, value]) => `${name}=${String(value)}`)
        .join(' '),
      one.address ?? '',
    ]),
    'Nothing has been done yet.',
  );
}

// deskbell audit: who changed what, when, from where. Reads only; holds no rule.
import type { Command } from 'commander';
import type { AuditEntry } from '../../protocol/entities.ts';
import type { WrapHandler, Context } from '../context.ts';
import { runLocal } from '../local.ts';
import { UsageError } from '../errors.ts';
import { parseDuration } from '../command-builder.ts';

interface AuditFlags {
  readonly org?: string;
  readonly limit: string;
  readonly action?: string;
  readonly actor?: string;
  readonly subject?: string;
  readonly search?: string;
  readonly since?: number;
}

export function addAuditCommand(program: Command, act: WrapHandler): void {
  program
    .command('audit')
    .description('list who changed what, when and from where, newest first')
    .option('--org <S>', 'only this organization (slug or id)')
    .option('--limit <N>', 'how many rows', '50')
    .option('--action <ACTION>', 'only what begins so, as members. or members.add')
    .option('--actor <WHO>', "only what this member (id) did, or 'local': the command line")
    .option('--subject <SUBJECT>', 'only what was done to this, as application:ID or application:')
    .option('--search <TEXT>', 'only entries in which the text occurs')
    .option('--since <TIME>', 'only since then (30d, 24h)', parseDuration)
    .action(act<AuditFlags>(listAudit));
}

/** As many as the rule gives at once. */
const pageSize = 100;

async function listAudit(
  context: Context,
  { org, limit, action, actor, subject, search, since }: AuditFlags,
): Promise<void> {
  if (!/^[1-9][0-9]{0,6}$/.test(limit)) throw new UsageError('--limit must be a whole number of at least 1.');
  const wanted = Number(limit);
  const from = since === undefined ? undefined : new Date(Date.now() - since * 1_000).toISOString();
  const items: AuditEntry[] = [];
  for (;;) {
    const { entries } = await runLocal(context, 'audit.list', {
      organization: org,
      action,
      actor,
      subject,
      q: search,
      ...(from === undefined ? {} : { from }),
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
    [org, action, actor, subject, search, since].every((one) => one === undefined)
      ? 'Nothing has been done yet.'
      : 'No such entries.',
  );
}

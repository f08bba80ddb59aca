// deskbell stats: how much came, and how fast it was answered and solved. Holds no rule.
import type { Command } from 'commander';
import type { Stats } from '../../protocol/entities.ts';
import type { WrapHandler, Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { runLocal } from '../local.ts';

interface StatsOptions {
  readonly org?: string;
  readonly from?: string;
  readonly to?: string;
}

export function addStatsCommand(program: Command, act: WrapHandler): void {
  program
    .command('stats')
    .description('show how much was opened and resolved, and how fast, by application and member')
    .option('--org <S>', 'the organization (slug or id); not needed if there is only one')
    .option('--from <TIME>', 'a time like 2026-11-01T00:00:00Z (default: 30 days before the end)')
    .option('--to <TIME>', 'the end (default: now)')
    .action(act<StatsOptions>(showStats));
}

async function showStats(context: Context, { org, from, to }: StatsOptions): Promise<void> {
  const organization = org ?? (await onlyOrganization(context));
  const { stats } = await runLocal(context, 'organizations.stats', { organization, from, to });
  const { print } = context;
  if (print.json) return print.document(stats);
  print.line(`${stats.from} to ${stats.to}`);
  const rows = [
    row('all', stats),
    ...stats.applications.map((one) => row(one.name, one)),
    ...stats.members.map((one) => row(one.name === '' ? one.id : one.name, one)),
  ];
  print.table(['', 'OPENED', 'RESOLVED', 'FIRST ANSWER', '90 %', 'RESOLVED IN', '90 %'], rows, '');
  return undefined;
}

/** @throws UsageError where there is none, or a choice */
async function onlyOrganization(context: Context): Promise<string> {
  const { organizations } = await runLocal(context, 'organizations.list', {});
  const [one] = organizations;
  if (one === undefined || organizations.length > 1)
    throw new UsageError(`Name the organization: --org S. See: ${context.command('org list')}`);
  return one.slug;
}

function row(
  name: string,
  one: Pick<Stats, 'opened' | 'resolved' | 'firstResponse' | 'resolution'>,
): string[] {
  const { firstResponse, resolution } = one;
  return [
    name,
    String(one.opened),
    String(one.resolved),
    duration(firstResponse.medianSeconds),
    duration(firstResponse.p90Seconds),
    duration(resolution.medianSeconds),
    duration(resolution.p90Seconds),
  ];
}

function duration(seconds: number | null): string {
  if (seconds === null) return '–';
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3_600).toFixed(1)} h`;
}

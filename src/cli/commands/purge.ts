// deskbell purge: removes what is older than each organization keeps, as the server
// does every hour. Holds no rule.
import type { Command } from 'commander';
import type { PurgeReport } from '../../protocol/entities.ts';
import { counted } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { runLocal } from '../local.ts';

interface PurgeFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function addPurgeCommand(program: Command, act: WrapHandler): void {
  program
    .command('purge')
    .description('remove what is older than each organization keeps, as the server does every hour')
    .option('--dry-run', 'only show what would be removed')
    .option('--yes', 'also remove more than half of an organization at once')
    .action(act<PurgeFlags>(purge));
}

async function purge(context: Context, { dryRun = false, yes = false }: PurgeFlags): Promise<void> {
  const report = await runLocal(context, 'retention.purge', { dryRun, force: yes });
  const { print } = context;
  if (print.json) return print.document(report);
  print.table(
    ['ORGANIZATION', 'KEEPS', 'CONVERSATIONS', 'MESSAGES', 'VISITORS', 'TEST', ''],
    report.organizations.map((one) => [
      one.slug,
      one.retentionDays === null ? 'for ever' : counted(one.retentionDays, 'day'),
      String(one.live.conversations),
      String(one.live.messages),
      String(one.live.visitors),
      String(one.test.messages),
      remark(one, dryRun),
    ]),
    'No organizations yet.',
  );
  const { total, audit, expiredBackups } = report;
  const old =
    expiredBackups === 0 ? '' : `, and ${counted(expiredBackups, 'old copy', 'old copies')} of the database`;
  const removed = [
    counted(total.conversations, 'conversation'),
    counted(total.messages, 'message'),
    counted(total.visitors, 'visitor'),
    counted(audit.state === 'held' ? 0 : audit.entries, 'row'),
  ].join(', ');
  print.line(`${dryRun ? 'Would remove' : 'Removed'} ${removed} of the audit log${old}.`);
  if (audit.state === 'held' || report.organizations.some(({ state }) => state === 'held'))
    print.note(
      `Note: this would remove more than half of ${audit.state === 'held' ? 'the audit log' : 'an organization'} at once. If this machine's clock is right, confirm: ${context.command('purge --yes')}`,
    );
}

function remark({ state }: PurgeReport['organizations'][number], dryRun: boolean): string {
  if (state === 'held') return 'waits for --yes';
  if (state === 'grace') return 'plan changed, 7 days of grace';
  return state === 'purged' ? (dryRun ? 'would be removed' : 'removed') : '';
}

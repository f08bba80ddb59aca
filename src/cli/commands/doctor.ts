// deskbell doctor: looks at everything that a server needs, and says of each thing
// that is wrong how to mend it. Changes nothing. The checks are in ../checks.ts.
import type { Command } from 'commander';
import type { Flags } from '../../config.ts';
import { runChecks } from '../checks.ts';
import type { Finding } from '../finding.ts';
import type { WrapHandler, Context } from '../context.ts';
import { asTyped, CommandError } from '../errors.ts';
import { addSettings, settingFlags } from '../command-builder.ts';
import type { Style } from '../print.ts';

interface DoctorOptions extends Flags {
  readonly dkimSelector?: string;
  readonly mailRoundTrip?: true;
}

export function addDoctorCommand(program: Command, act: WrapHandler): void {
  addSettings(
    program
      .command('doctor')
      .description('check everything that the server needs; exit 1 when anything is wrong')
      .option('--dkim-selector <NAME>', 'under which name the key of the mail host is published')
      .option('--mail-round-trip', 'send a mail to the running server itself, and wait until it has come'),
  ).action(act<DoctorOptions>(runDoctor));
}

const signs: Readonly<Record<Finding['state'], readonly [Style, string]>> = {
  ok: ['green', 'ok   '],
  note: ['yellow', 'note '],
  wrong: ['red', 'WRONG'],
};

async function runDoctor(context: Context, options: DoctorOptions): Promise<void> {
  const { dkimSelector, mailRoundTrip } = options;
  const config = context.config(settingFlags(options));
  const checks = await runChecks(config, Date.now(), { dkimSelector, mailRoundTrip });
  const findings = checks.map((one) => ({
    ...one,
    fix: one.fix === null ? null : asTyped(one.fix, context),
  }));
  const wrong = findings.filter(({ state }) => state === 'wrong');
  const { print } = context;
  if (print.json) print.document({ ok: wrong.length === 0, checks: findings });
  for (const { state, about, found, fix } of findings) {
    print.line(signs[state], '  ', ['bold', about], `: ${found}`);
    if (fix !== null) print.line('       ', ['cyan', fix]);
  }
  if (wrong.length > 0)
    throw new CommandError(
      `${wrong.length === 1 ? 'One thing is' : `${wrong.length} things are`} wrong: ${wrong.map(({ about }) => about).join(', ')}.`,
    );
}

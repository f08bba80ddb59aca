// The console in one column of lines, without a screen: what is typed and ended with Enter is an answer or a command,
// and what happens is written as a line. For screen readers and terminals that know no escape sequences: none is ever
// written here.
import { createInterface } from 'node:readline';
import type { DeskController } from '../../../desk/desk-controller.ts';
import type { Keymap } from '../../../desk/keymap.ts';
import { PlainCommands } from './plain-mode-commands.ts';
import { PlainReporter } from './plain-mode-reporter.ts';

export interface PlainModeOptions {
  readonly model: DeskController;
  readonly keymap: Keymap;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream & { readonly columns?: number };
  onEnd(): void;
}

export interface PlainMode {
  stop(): void;
}

/** Begins to read commands and to report what happens. */
export function startPlainMode({ model, keymap, input, output, onEnd }: PlainModeOptions): PlainMode {
  const reporter = new PlainReporter(model, output);
  const commands = new PlainCommands(model, keymap, reporter);
  const unsubscribe = model.store.subscribe(() => reporter.report());
  const lines = createInterface({ input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on('line', (line) => commands.read(line));
  lines.on('close', onEnd);
  reporter.write('Deskbell console. /help lists the commands.');
  return {
    stop: () => {
      unsubscribe();
      lines.close();
    },
  };
}

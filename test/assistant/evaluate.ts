// Owns: `npm run evaluate`: its options and its output. Must not judge anything.
import { parseArgs } from 'node:util';
import { evaluate } from './evaluation.ts';
import { figuresTable } from './fit/figures.ts';
import { isKindOfLookAlike, kindsOfLookAlikes } from './fit/look-alikes.ts';
import { evaluateFolder } from './folder-evaluation.ts';
import { report } from './report.ts';

const help = `npm run evaluate [-- FOLDER] [options]

Asks the assistant a set of questions over a set of documents, and says how many it answered
rightly, wrongly, not at all, and whether anything passed from one tenant to another.
Without a model by default. With DESKBELL_AI_URL, DESKBELL_AI_MODEL and DESKBELL_AI_KEY set,
that model answers from the same passages.

With FOLDER, asks its questions over its documents instead, without a model, and reports in per cent
by file. FOLDER is what npm run fit takes: documents/, sections.json, *.jsonl.
With --among its passages stand among so many look-alikes, made of its words and of made-up ones,
and the times of the questions are told as well.

  --among COUNT       with FOLDER: among so many look-alikes, 20000 for example
  --kind KIND         of which kind: distant, near (default) or nearest
  --list              also name each question that did not go well
  --without-synonyms  as an owner who wrote no synonym list
  --json              everything, machine-readable
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    among: { type: 'string' },
    kind: { type: 'string', default: 'near' },
    list: { type: 'boolean', default: false },
    'without-synonyms': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const [folder] = positionals;
if (values.help) process.stdout.write(help);
else if (folder !== undefined) {
  const { kind } = values;
  if (!isKindOfLookAlike(kind)) throw new Error(`--kind: ${Object.keys(kindsOfLookAlikes).join(', ')}`);
  const count = Number(values.among ?? 0);
  if (!Number.isInteger(count) || count < 0) throw new Error('--among: a number of passages');
  const { figures, milliseconds } = await evaluateFolder(folder, { kind, count });
  const lines = [
    ...figuresTable(figures),
    `a question took ${milliseconds.median.toFixed(1)} ms at the median, ${milliseconds.most.toFixed(1)} ms at 95 %`,
  ];
  process.stdout.write(
    `${values.json ? JSON.stringify({ figures, milliseconds }, null, 2) : lines.join('\n')}\n`,
  );
} else {
  const evaluation = await evaluate({ environment: process.env, synonyms: !values['without-synonyms'] });
  process.stdout.write(
    `${values.json ? JSON.stringify(evaluation, null, 2) : report(evaluation, values.list)}\n`,
  );
}

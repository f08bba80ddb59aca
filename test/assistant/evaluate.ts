// Owns: `npm run evaluate`: its options and its output. Must not judge anything.
import { parseArgs } from 'node:util';
import { evaluate } from './evaluation.ts';
import { report } from './report.ts';

const help = `npm run evaluate [-- options]

Asks the assistant a set of questions over a set of documents, and says how many it answered
rightly, wrongly, not at all, and whether anything passed from one tenant to another.
Without a model by default. With DESKBELL_AI_URL, DESKBELL_AI_MODEL and DESKBELL_AI_KEY set,
that model answers from the same passages.

  --list              also name each question that did not go well
  --without-synonyms  as an owner who wrote no synonym list
  --json              everything, machine-readable
`;

const { values } = parseArgs({
  options: {
    list: { type: 'boolean', default: false },
    'without-synonyms': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(help);
else {
  const evaluation = await evaluate({ environment: process.env, synonyms: !values['without-synonyms'] });
  process.stdout.write(
    `${values.json ? JSON.stringify(evaluation, null, 2) : report(evaluation, values.list)}\n`,
  );
}

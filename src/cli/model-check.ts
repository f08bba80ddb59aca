// What `deskbell doctor` finds out about the language model: asks it one question that costs next to nothing. Shows
// neither its key nor what it says.
import type { Config } from '../config.ts';
import { openModel } from '../open-service.ts';
import { ModelError } from '../services/assistant/language-model.ts';
import { isLocalHostname, isPublicAddress, parseIpHost } from '../net/ip-ranges.ts';
import type { Finding } from './finding.ts';

const timeoutMs = 20_000;
const asker = 'doctor';

/** One finding about the model that answers, and one about the model for vectors where there is one. */
export async function checkModel(config: Config): Promise<Finding[]> {
  const about = 'assistant';
  const model = openModel(config);
  if (model === null || config.aiUrl === null)
    return [{ about, state: 'ok', found: 'no language model: it quotes the documents', fix: null }];
  const url = new URL(config.aiUrl);
  const findings = [
    await tried(about, `${model.name} at ${url.host}`, (signal) =>
      model.complete(
        { messages: [{ role: 'user', content: 'Answer with the word: ready' }], maxTokens: 500 },
        { asker, signal },
      ),
    ),
  ];
  const { embeddings } = model;
  if (embeddings !== null)
    findings.push(
      await tried('vectors', `${embeddings.name} at ${url.host}`, (signal) =>
        embeddings.embed(['ready'], { asker, signal }),
      ),
    );
  if (url.protocol === 'http:' && !isInside(url.hostname))
    findings.push({
      about,
      state: 'wrong',
      found: `questions and the key travel to ${url.host} unencrypted`,
      fix: 'Set DESKBELL_AI_URL to an address that begins with https://',
    });
  else if (isInside(url.hostname))
    findings.push({
      about,
      state: 'note',
      found: `${url.host} is an address of this machine or network: right for a model of your own`,
      fix: null,
    });
  return findings;
}

async function tried(
  about: string,
  name: string,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<Finding> {
  try {
    await work(AbortSignal.timeout(timeoutMs));
    return { about, state: 'ok', found: `${name} answers`, fix: null };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const fix =
      'Check DESKBELL_AI_URL, DESKBELL_AI_KEY and the names of the models; without them the assistant quotes';
    return { about, state: 'wrong', found: `${name}: ${error.message}`, fix };
  }
}

function isInside(hostname: string): boolean {
  const literal = parseIpHost(hostname);
  return literal === null ? isLocalHostname(hostname) || !hostname.includes('.') : !isPublicAddress(literal);
}

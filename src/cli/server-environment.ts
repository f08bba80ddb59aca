// What the SDK's clients take from the command line's surroundings. A page that a proxy or a network's sign-in shows in the
// server's place, with 200, is no answer of it: the clients would look for fields in it.
import { browserEnvironment } from '../sdk/browser-environment.ts';
import type { Environment } from '../sdk/types.ts';
import { readRefusal, readText, strangeAnswer } from './server-answer.ts';

/** Node's surroundings, in which a page in place of the API's JSON is a server that was not reached. */
export function serverEnvironment(): Environment {
  return {
    ...browserEnvironment(),
    fetch: async (url, request) => {
      const response = await fetch(url, request);
      const { ok, status, headers, body } = response;
      const isAnswer = status === 204 || /^application\/json\b/i.test(headers.get('Content-Type') ?? '');
      if (!ok || isAnswer)
        return { ok, status, text: ok ? () => readText(response) : () => readRefusal(response) };
      await body?.cancel();
      throw strangeAnswer(status);
    },
  };
}

// Owns: that words which were given up for standard ones stay away, in identifiers, comments, texts and file names.
// Must not judge a word that also has its usual sense here.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../helpers/command.ts';

/** Words as they stand in prose, or as a part of an identifier: `doorOf` holds "door". */
const words: Readonly<Record<string, string>> = {
  announcer: 'live region',
  chime: 'notification sound',
  door: 'transport',
  doors: 'transports',
  ear: 'socket, TestSocket',
  ears: 'sockets',
  embedder: 'host site',
  housekeeping: 'maintenance',
  lookups: 'config cache',
  neighbour: 'other tenant, other visitor',
  neighbours: 'other tenants',
  nobody: 'no one in particular: name who, or say "not"',
  patience: 'timeoutMs',
  recutting: 'rechunking',
  somebody: 'name who',
  tellable: 'ServiceError',
  tidy: 'maintenance',
  unreadable: 'client error',
  upkeep: 'reindex job',
  whoever: 'name who',
  meanwhile: 'in between; leave it out',
};

/** Identifiers and parts of file names. */
const names: Readonly<Record<string, string>> = {
  accountIsAttacked: 'isLoginThrottled',
  answerFailure: 'sendError',
  AddressRefused: 'AddressError',
  allowReading: 'setCorsHeaders',
  BackupRefused: 'BackupError',
  BadFrame: 'FrameError',
  BrokenOff: 'AbortedError',
  CommandFailed: 'CommandError',
  countNewcomer: 'limitNewVisitors',
  cuttingEdition: 'chunkerVersion',
  EngineRefused: 'EngineError',
  ensureVisitor: 'getOrCreateVisitor',
  enterRoom: 'resync',
  failedLimit: 'countFailedAuth',
  feedEnd: 'lastEventSeq',
  guardedLookup: 'ssrfGuard',
  hearInRoom: 'deliver',
  hearsMode: 'subscribesTo',
  HtmlTooDeep: 'HtmlDepthError',
  keepIndexed: 'startSearchIndexer',
  keepKnowledge: 'startReindexJob',
  keepTidy: 'startMaintenance',
  KeysProblem: 'KeysError',
  leaveToPerson: 'handOffToHuman',
  letIn: 'accept, authenticate',
  LexicalProblem: 'LexicalError',
  longestRequestMs: 'maxRequestMs',
  ModelFailed: 'ModelError',
  NotATree: 'TreeError',
  openRoom: 'subscribe',
  passOn: 'deliver',
  placeOfMessage: 'findMessage',
  plainWords: 'zodMessages',
  readFeed: 'readEvents',
  releaseAbandoned: 'releaseAbsent',
  rethrowTellable: 'toServiceError',
  roomPage: 'backfill',
  SchemaRefused: 'SchemaError',
  SocketRefused: 'SocketError',
  standBack: 'stepDown',
  startAnswering: 'startAutoReply',
  transferData: 'exportImport',
};

/** Where the words stay away. */
const places = [
  'bench',
  'bin',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs',
  'migrations',
  'README.md',
  'src',
  'test',
  'widget',
];

/** `door` as a field of the assistant's log, in its published form. */
const publishedField = /\.door\b|\bdoor(?=:|,| \})|\['door'\]|'door'/g;

/** Files whose text is data, or which hold the words on purpose. */
const leftOut =
  /^test\/assistant\/(documents|questions)\/|^test\/architecture\/(words|documentation)\.test\.ts$|^migrations\/newest-schema\.ts$|\/(stopwords|phrases)\.ts$/;

/** `aDoorOf` and `a-door-of` as "a door of". */
function separated(text: string): string {
  return text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[-_]/g, ' ');
}

// Cross-Origin-Embedder-Policy is HTTP's own word.
const wordPattern = new RegExp(`(?<!Cross Origin )\\b(${Object.keys(words).join('|')})\\b`, 'gi');
const namePattern = new RegExp(
  `(?<![A-Za-z])(${Object.keys(names)
    .flatMap((name) => [name, separated(name).toLowerCase().replaceAll(' ', '-')])
    .join('|')})(?!Error|[a-z])`,
  'g',
);

function findOldWords(text: string): string[] {
  return [
    ...[...separated(text).matchAll(wordPattern)].map(([word]) => `${word}: ${words[word.toLowerCase()]}`),
    ...[...text.matchAll(namePattern)].map(([name]) => `${name}: ${names[name] ?? 'see its identifier'}`),
  ];
}

test('words that were given up stay away', async () => {
  const found: string[] = [];
  for (const place of places) {
    for (const file of await sourcesBelow(place)) {
      if (leftOut.test(file)) continue;
      for (const word of findOldWords(file)) found.push(`${file} is called ${word}`);
      const lines = (await readFile(join(repository, file), 'utf8')).split('\n');
      lines.forEach((line, index) => {
        for (const word of findOldWords(line.replace(publishedField, '')))
          found.push(`${file}:${index + 1}: ${word}`);
      });
    }
  }
  expect(found).toEqual([]);
});

test('an old word is found wherever it hides', () => {
  expect(findOldWords('const doorOf = 1;')).toEqual(['door: transport']);
  expect(findOldWords('// Nobody hears it.')).toHaveLength(1);
  expect(findOldWords("import './guarded-lookup.ts';")).toHaveLength(1);
  expect(findOldWords('function letIn() {}')).toEqual(['letIn: accept, authenticate']);
  expect(findOldWords('indoors, outdoor, year, letInformation, unreadableness')).toEqual([]);
});

/** All texts at or below a path. */
async function sourcesBelow(place: string): Promise<string[]> {
  if (/\.\w+$/.test(place)) return [place];
  const entries = await readdir(join(repository, place), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.(tsx?|m?js|css|md|json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(repository.length + 1))
    .filter((file) => !/(^|\/)(node_modules|dist)\//.test(file));
}

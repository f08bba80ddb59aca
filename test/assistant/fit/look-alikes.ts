// Passages that look like a folder's own and answer none of its questions: made of its words and of made-up ones, so
// that many share words with each question. Makes texts; asks and counts nothing.
import type { Folder } from './folder.ts';

export interface LookAlike {
  readonly heading: string;
  readonly text: string;
}

/** Of the words of a text so many are the folder's own, by kind. */
export const kindsOfLookAlikes = { distant: 0.15, near: 0.3, nearest: 0.5 } as const;
export type KindOfLookAlike = keyof typeof kindsOfLookAlikes;

export function isKindOfLookAlike(name: string): name is KindOfLookAlike {
  return Object.hasOwn(kindsOfLookAlikes, name);
}

const sentences = 4;
const wordsOfSentence = 12;
const smallWords = 'the a of to you your is in and for can how we it'.split(' ');
const beginnings = [
  'bal',
  'cor',
  'den',
  'fal',
  'gor',
  'hel',
  'jun',
  'kas',
  'lom',
  'mir',
  'nor',
  'pol',
  'rin',
  'tam',
];
const ends = ['ador', 'elin', 'imar', 'onex', 'upra', 'asta', 'etis', 'ivia', 'ozon', 'udem'];

/** A way to draw one after another. @param random numbers from 0 to 1 */
export function createLookAlikes(
  folder: Folder,
  kind: KindOfLookAlike,
  random: () => number,
): () => LookAlike {
  const pick = <T>(list: readonly T[]): T => {
    const found = list[Math.floor(random() * list.length)];
    if (found === undefined) throw new RangeError('nothing to pick from');
    return found;
  };
  const all = folder.documents.map(({ content }) => content);
  const own = all.flatMap((content) => content.toLowerCase().match(/\p{L}+/gu) ?? []);
  const ofHeadings = all.flatMap((content) =>
    [...content.matchAll(/^#+ +(.*)$/gm)].flatMap(([, heading = '']) => heading.match(/\p{L}+/gu) ?? []),
  );
  const made = (): string => pick(beginnings) + pick(ends) + pick(['', 's', 'er', 'ing']);
  const word = (): string =>
    random() < kindsOfLookAlikes[kind] ? pick(own) : random() < 0.3 ? pick(smallWords) : made();
  const sentence = (): string => `${Array.from({ length: wordsOfSentence }, word).join(' ')}.`;
  return () => ({
    heading: `${pick(ofHeadings)} ${made()} ${word()}`,
    text: Array.from({ length: sentences }, sentence).join(' '),
  });
}

/** As Markdown documents of a hundred sections. */
export function* lookAlikeDocuments(
  draw: () => LookAlike,
  count: number,
): Generator<{ source: string; content: string }> {
  for (let made = 0; made < count;) {
    const size = Math.min(100, count - made);
    const sections = Array.from({ length: size }, draw).map(
      ({ heading, text }) => `## ${heading}\n\n${text}\n`,
    );
    yield { source: `look-alikes-${made}.md`, content: `# ${draw().heading}\n\n${sections.join('\n')}` };
    made += size;
  }
}

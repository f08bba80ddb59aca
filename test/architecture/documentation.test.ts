// Holds the documentation against the program: links and anchors lead somewhere, every setting and command is described
// with its options and default, and the README stays short.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { settings } from '../../src/config.ts';
import { guideLink, guidePage, guidePaths } from '../../src/http/pages/guides.ts';
import { renderMarkdown, type RenderedMarkdown } from '../../src/http/pages/markdown-html.ts';
import { repository } from '../helpers/command.ts';
import { inProcess } from '../helpers/cli.ts';

const files = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(repository, 'docs')).map((name) => `docs/${name}`),
];
const texts = new Map(files.map((file) => [file, readFileSync(join(repository, file), 'utf8')]));
const pages = new Map<string, RenderedMarkdown>();

beforeAll(async () => {
  for (const [file, text] of texts) pages.set(file, await renderMarkdown(text));
});

describe('links', () => {
  it('lead to files and headings that exist', () => {
    const broken: string[] = [];
    for (const [file, { links }] of pages) {
      for (const link of links.filter((one) => !/^https?:/.test(one))) {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? file : normalize(join(dirname(file), path));
        const exists = existsSync(join(repository, target));
        const hasAnchor =
          anchor === undefined || pages.get(target)?.headings.some(({ id }) => id === anchor) === true;
        if (!exists || !hasAnchor) broken.push(`${file}: ${link}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('of the pages lead to pages only, so that they work on a server too', () => {
    for (const [file, { links }] of pages) {
      if (!file.startsWith('docs/')) continue;
      for (const link of links) expect(link, file).toMatch(/^(https:\/\/|#|[\w-]+\.md(#[\w-]+)?$)/);
    }
    expect(guideLink('rest-api.md#errors')).toBe('/docs/rest-api#errors');
    expect(guideLink('README.md#api-reference')).toBe('/docs#api-reference');
    expect(guideLink('#errors')).toBe('#errors');
    expect(guideLink('https://example.com/a.md')).toBe('https://example.com/a.md');
  });

  it('of the index reach every page', () => {
    const listed = pages.get('docs/README.md')!.links.map((link) => link.replace(/#.*/, ''));
    const present = files
      .filter((file) => file.startsWith('docs/') && file !== 'docs/README.md')
      .map((file) => file.slice('docs/'.length));
    expect(listed.toSorted()).toEqual(present.toSorted());
  });
});

describe('settings', () => {
  const configuration = texts.get('docs/configuration.md')!;

  it('are all described, with flag, variable and default', () => {
    for (const { flag, variable, fallback } of Object.values(settings)) {
      const row = configuration.split('\n').find((line) => line.startsWith(`| \`--${flag}\` |`));
      expect(row, flag).toBeDefined();
      const [, , variables = '', value = ''] = row!.split('|').map((cell) => cell.trim());
      expect(variables).toBe(`\`${variable}\``);
      if (fallback !== null) expect(value).toBe(`\`${fallback}\``);
    }
  });

  it('are those that the program reads: no variable is missing, and none is made up', () => {
    const variablesIn = (text: string): string[] => text.match(/\bDESKBELL_[A-Z_]*[A-Z]\b/g) ?? [];
    const readIn = (folder: string): Set<string> =>
      new Set(sources(folder).flatMap((file) => variablesIn(readFileSync(file, 'utf8'))));
    const read = readIn('src');
    for (const variable of read) expect(configuration, variable).toContain(`\`${variable}\``);
    // Only contributors are told of the tests' own variables.
    const forContributors = new Set([...read, ...readIn('test')]);
    for (const [file, text] of texts)
      for (const variable of variablesIn(text))
        expect(file === 'CONTRIBUTING.md' ? forContributors : read, file).toContain(variable);
  });
});

describe('commands', () => {
  const reference = texts.get('docs/command-line.md')!;

  it('are all described, with their arguments and options', async () => {
    const missing: string[] = [];
    for (const command of await commandTree([])) {
      const heading = `### deskbell ${command.path.join(' ')}\n`;
      const at = reference.indexOf(heading);
      if (at === -1) {
        missing.push(heading.trim());
        continue;
      }
      const section = reference.slice(at + heading.length).split(/^##+ /m)[0]!;
      for (const option of command.options)
        if (!section.includes(`\`${option}\``)) missing.push(`${heading.trim()}: ${option}`);
      if (!section.includes(`\`deskbell ${command.usage}\``))
        missing.push(`${heading.trim()}: ${command.usage}`);
    }
    expect(missing).toEqual([]);
  });

  it('that are described exist', async () => {
    const known = (await commandTree([])).map(({ path }) => `deskbell ${path.join(' ')}`);
    const described = pages
      .get('docs/command-line.md')!
      .headings.filter(({ depth }) => depth === 3)
      .map(({ text }) => text);
    expect(described.toSorted()).toEqual(known.toSorted());
  });
});

describe('the README', () => {
  it('has at most 120 lines, and both commands on its first page', () => {
    const readme = texts.get('README.md')!;
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
    expect(readme).toContain('```sh\nnpm ci && npx deskbell\n```');
    expect(readme).toContain('```sh\nnpm ci && npm test\n```');
  });
});

describe('prose', () => {
  it('has no riddles', () => {
    for (const [file, text] of texts)
      expect(text, file).not.toMatch(/\b(nobody|somebody|whoever|meanwhile|its own affair)\b/i);
  });
});

describe('the pages', () => {
  it('have a title, one h1, and ids that differ', async () => {
    const folder = join(repository, 'docs');
    for (const [path, file] of guidePaths(folder)) {
      const html = await guidePage(folder, path, file);
      expect(html.match(/<h1 /g), path).toHaveLength(1);
      const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      expect(new Set(ids).size, path).toBe(ids.length);
      expect(html, path).not.toMatch(/<script| style=| on\w+=|<img|<link|undefined|\[object/);
      expect(html, path).toContain(`<a href="${path}" aria-current="page">`);
    }
  });

  it('turn raw HTML and addresses into text', async () => {
    const { html } = await renderMarkdown(
      '# A <b>\n\n<script>alert(1)</script>\n\na <i>b</i> `<u>` [x](<https://e.example/"><script>>)\n\n| a | b |\n|---|--:|\n| <s> | 1 |',
    );
    expect(html).not.toMatch(/<(script|b|i|u|s)>/);
    expect(html).toContain('class="number"');
  });

  it('keep a number and its unit on one line', async () => {
    const { html } = await renderMarkdown('100 MB in 5 µs, 3 s, 4 seconds, `2 ms`');
    expect(html).toBe('<p>100\u00a0MB in 5\u00a0µs, 3\u00a0s, 4 seconds, <code>2 ms</code></p>');
  });
});

/** Every TypeScript file below a folder of the repository. */
function sources(folder: string): string[] {
  return readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(repository, folder, name));
}

interface DescribedCommand {
  readonly path: readonly string[];
  /** Behind the program's name, as the help writes it, without "[options]". */
  readonly usage: string;
  readonly options: readonly string[];
}

const shared = new Set(['-h, --help', '--url <URL>', '--org <S>']);

/** All commands that the help names, read from the help itself. */
async function commandTree(path: readonly string[]): Promise<DescribedCommand[]> {
  const { code, stdout: help } = await inProcess([...path, '--help'], { columns: 10_000 });
  expect(code).toBe(0);
  const entries = (title: string): string[] =>
    (new RegExp(`^${title}:\\n((?:  .*\\n?)+)`, 'm').exec(help)?.[1] ?? '')
      .split('\n')
      .flatMap((line) => /^ {2}(\S.*?)(?: {2,}.*)?$/.exec(line)?.[1] ?? []);
  const names = entries('Commands')
    .map((entry) => entry.split(' ')[0]!)
    .filter((name) => name !== 'help');
  if (names.length > 0) return (await Promise.all(names.map((name) => commandTree([...path, name])))).flat();
  const usage = /^Usage: deskbell (.*)$/m.exec(help)![1]!.replace(' [options]', '');
  const speaksToServer = help.includes('signed in to several');
  const takesSettings = help.includes('--limit-visitor');
  const options = takesSettings
    ? []
    : entries('Options').filter(
        (option) => option !== '-h, --help' && !(speaksToServer && shared.has(option)),
      );
  return [{ path, usage, options: options.map((option) => option.replaceAll('|', '\\|')) }];
}

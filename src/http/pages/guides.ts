// The documentation under /docs: the Markdown files of docs/ as pages, with the API reference on the first of them.
// Reads the files when a page is asked for; the index of the pages is docs/README.md.
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '../openapi.ts';
import { escapeHtml } from '../../text/escape-html.ts';
import { apiReference } from './api-reference.ts';
import { listHtml } from './html.ts';
import { renderMarkdown, type Heading } from './markdown-html.ts';
import { pageHtml } from './page-frame.ts';

const indexFile = 'README.md';

/** The folder of the documentation: beside the bundle when published, in the checkout otherwise; null where there is none. */
export function docsFolder(): string | null {
  const candidates = [join(import.meta.dirname, 'docs'), join(import.meta.dirname, '../../../docs')];
  return candidates.find((folder) => existsSync(join(folder, indexFile))) ?? null;
}

/** The path of each page but the index, as `/docs/rest-api`, with the file that it is made from. */
export function guidePaths(folder: string | null): ReadonlyMap<string, string> {
  const names =
    folder === null ? [] : readdirSync(folder).filter((name) => name.endsWith('.md') && name !== indexFile);
  return new Map(names.toSorted().map((name) => [`/docs/${name.slice(0, -'.md'.length)}`, name]));
}

/** A link of the documentation as a link of the site: `rest-api.md#errors` leads to `/docs/rest-api#errors`. */
export function guideLink(address: string): string {
  const match = /^(?<name>[\w-]+)\.md(?<anchor>#.*)?$/.exec(address);
  if (match?.groups === undefined) return address;
  const { name = '', anchor = '' } = match.groups;
  return `${name === 'README' ? '/docs' : `/docs/${name}`}${anchor}`;
}

/**
 * One page of the documentation.
 * @param path as `guidePaths` names it
 */
export async function guidePage(folder: string, path: string, file: string): Promise<string> {
  const { title, html, headings } = await render(folder, file);
  const nav = await guidesNav(folder, path, headings);
  return pageHtml({ title: `${title} · Deskbell`, nav, main: html });
}

/**
 * The page under /docs: the index of the pages, and the API reference below it.
 * @param folder null: the reference alone
 * @param openApi as openApiDocument makes it
 */
export async function docsIndexPage(folder: string | null, openApi: JsonObject): Promise<string> {
  const reference = apiReference(openApi);
  if (folder === null)
    return pageHtml({
      title: 'Deskbell API',
      nav: reference.nav,
      main: `<h1>Deskbell API</h1>\n${reference.main}`,
    });
  const { title, html } = await render(folder, indexFile);
  return pageHtml({
    title,
    nav: `${await guidesNav(folder, '/docs', [])}\n${reference.nav}`,
    main: `${html}\n${reference.main}`,
  });
}

async function render(folder: string, file: string): ReturnType<typeof renderMarkdown> {
  return renderMarkdown(await readFile(join(folder, file), 'utf8'), guideLink);
}

/** The groups and pages of the index, and below the current page its own headings. */
async function guidesNav(folder: string, path: string, headings: readonly Heading[]): Promise<string> {
  const own = listHtml(
    headings
      .filter(({ depth }) => depth === 2)
      .map(({ id, text }) => `<a href="#${escapeHtml(id)}">${escapeHtml(text)}</a>`),
  );
  const groups = await readIndex(folder);
  const parts = groups.map(({ title, pages }) => {
    const items = pages.map(({ address, label }) => {
      const current = address === path;
      return `<a href="${escapeHtml(address)}"${current ? ' aria-current="page"' : ''}>${escapeHtml(label)}</a>${current && headings.length > 0 ? own : ''}`;
    });
    return `<p>${escapeHtml(title)}</p>\n${listHtml(items)}`;
  });
  return [
    `<p><a href="/docs"${path === '/docs' ? ' aria-current="page"' : ''}>Deskbell documentation</a></p>`,
    ...parts,
    `<p><a href="/docs#api-reference">API reference</a></p>`,
  ].join('\n');
}

interface IndexGroup {
  readonly title: string;
  readonly pages: readonly { readonly address: string; readonly label: string }[];
}

/** The index's headings of the second level, each with the pages in its list. */
async function readIndex(folder: string): Promise<IndexGroup[]> {
  const text = await readFile(join(folder, indexFile), 'utf8');
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.slice(0, section.indexOf('\n')).trim(),
      pages: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, label = '', address = '']) => ({
        label,
        address: guideLink(address),
      })),
    }))
    .filter(({ pages }) => pages.length > 0);
}

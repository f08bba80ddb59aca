// Every page and file that the server itself has for people and programs, by path: the start page, the documentation, the
// contract, the icons.
import type { Document } from '../documents.ts';
import { openApiDocument } from '../openapi.ts';
import { docsFolder, docsIndexPage, guidePage, guidePaths } from './guides.ts';
import { iconIco, iconSvg } from './icon.ts';
import { pagePolicy } from './page-frame.ts';
import { startPage } from './start.ts';

const html = { type: 'text/html; charset=utf-8', policy: pagePolicy } as const;

/** @param demo whether the shop's page of `deskbell demo` is served */
export function siteDocuments(demo: boolean): ReadonlyMap<string, Document> {
  const folder = docsFolder();
  const documents = new Map<string, Document>([
    ['/about', { ...html, make: () => startPage(demo) }],
    // Where the dashboard was not built.
    ['/', { ...html, forAll: false, make: () => startPage(demo) }],
    [
      '/openapi.json',
      {
        type: 'application/json; charset=utf-8',
        make: async () => `${JSON.stringify(await openApiDocument(), null, 1)}\n`,
      },
    ],
    ['/docs', { ...html, make: async () => docsIndexPage(folder, await openApiDocument()) }],
    ['/favicon.ico', { type: 'image/x-icon', make: () => iconIco }],
    ['/icon.svg', { type: 'image/svg+xml; charset=utf-8', make: () => iconSvg }],
  ]);
  if (folder !== null)
    for (const [path, file] of guidePaths(folder))
      documents.set(path, { ...html, make: () => guidePage(folder, path, file) });
  return documents;
}

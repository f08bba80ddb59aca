// Owns how a test comes into the dashboard: signed in by a link, in a browser profile of its own.
import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { TestApp } from './app.ts';
import { openBrowserPage, type BrowserPage } from './browser.ts';

/**
 * Opens the dashboard signed in, at an address in it.
 * @param member whose it is
 * @param hash such as `#/settings/account`; a page of the settings is there when this returns
 */
export async function openDashboard(
  browser: Browser,
  app: TestApp,
  member: { readonly id: string },
  hash: string,
  options: BrowserContextOptions = {},
): Promise<BrowserPage> {
  const { ticket } = await app.local('session.createLink', { memberId: member.id });
  const opened = await openBrowserPage(browser, `${app.url}/#sign-in=${ticket}`, options);
  await opened.page.locator('.app').waitFor();
  await opened.page.evaluate(`location.hash = '${hash}'`);
  if (hash.startsWith('#/settings/')) await opened.page.locator('.settings-page h1').waitFor();
  return opened;
}

// Owns how a face of the widget is judged: axe with every rule on, the contrast that axe can't see, and a picture
// for people who want to look. Must not know which state is judged.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { axeViolations } from '../helpers/axe.ts';

/** Where pictures go; nowhere unless asked for. */
export const screenshotFolder = process.env['DESKBELL_TEST_PICTURES'];
if (screenshotFolder !== undefined) mkdirSync(screenshotFolder, { recursive: true });

/** Name, browser, and attributes of the tag. */
export const variants: readonly (readonly [string, BrowserContextOptions, string])[] = [
  ['light', {}, ''],
  ['dark', { colorScheme: 'dark' }, ''],
  ['rtl', { locale: 'ar' }, 'data-locale="ar"'],
  ['phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }, ''],
  ['forced-colours', { forcedColors: 'active' }, ''],
  ['zoomed', { viewport: { width: 320, height: 256 } }, ''],
];

/**
 * Texts that can hardly be read (WCAG 2.2, 4.5:1): axe can't tell the colours of what lies in the top layer. Answers
 * each with its ratio; runs in the page.
 */
const lowContrastTexts = `(() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((value, index) => value * a + below[index] * (1 - a));
  const ground = (element) => {
    const colour = parse(getComputedStyle(element).backgroundColor);
    return colour[3] === undefined ? colour : over(colour, element.parentElement === null ? [255, 255, 255] : ground(element.parentElement));
  };
  const luminance = (colour) => colour.map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)).reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const faint = [];
  for (const element of document.querySelector('deskbell-widget').shadowRoot.querySelectorAll('*')) {
    const text = [...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ nodeValue }) => nodeValue).join('').trim();
    if (text === '' || element.closest('.unseen, [aria-live]') !== null || !element.checkVisibility({ opacityProperty: true })) continue;
    const below = ground(element);
    const [low, high] = [luminance(below), luminance(over(parse(getComputedStyle(element).color), below))].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) faint.push(ratio.toFixed(2) + ' ' + element.outerHTML.slice(0, 100));
  }
  return faint;
})()`;

/** What axe has against the page as it is now, and which texts are hard to read; and a picture of it. */
export async function checkAccessibility(page: Page, name: string): Promise<unknown[]> {
  if (screenshotFolder !== undefined) await page.screenshot({ path: join(screenshotFolder, `${name}.png`) });
  const violations = await axeViolations(page, {
    root: "document.querySelector('deskbell-widget').shadowRoot",
  });
  return [...violations, ...((await page.evaluate(lowContrastTexts)) as string[])];
}

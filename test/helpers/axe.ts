// Owns how a page is judged by axe, with every rule on. Must not know what the page is.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Waits for animations that end: colours in the middle of one are not chosen by the page. */
const still = (root: string): string => `Promise.all(
  ${root}.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime < 1e6)
    .map(({ finished }) => finished.catch(() => 0)),
)`;

export interface AxeOptions {
  /** Script of what may be in motion; the page unless told. */
  readonly root?: string;
  /** false: not into frames, which may answer no other origin. */
  readonly frames?: boolean;
}

/** @returns what axe has against the page as it is now: the rule, and each place with what is wrong there */
export async function axeViolations(
  page: Page,
  { root = 'document', frames = true }: AxeOptions = {},
): Promise<string[]> {
  await page.evaluate(still(root));
  // Trusted Types and the policy forbid a script element; the debugger's own evaluation is not concerned.
  await page.evaluate(axe);
  const found = await page.evaluate<{ id: string; nodes: { html: string; failureSummary: string }[] }[]>(
    `axe.run({ iframes: ${frames} }).then(({ violations }) => violations)`,
  );
  return found.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)}: ${failureSummary}`).join(' | ')}`,
  );
}

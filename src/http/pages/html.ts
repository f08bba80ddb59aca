// The few elements that the server's own pages share. Knows no page.
import { escapeHtml } from '../../text/escape-html.ts';

/** An element's id from a name: letters, digits, dots, underscores and hyphens stay. */
export function elementId(name: string): string {
  return name.replace(/[^\w.-]/g, '-');
}

/** @param items finished HTML */
export function listHtml(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>`;
}

/**
 * A table that scrolls sideways by itself, also with the keyboard.
 * @param headings plain text; an empty one is left out of the table's name
 * @param rows finished HTML
 */
export function tableHtml(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = headings.map((heading) => `<th scope="col">${escapeHtml(heading)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((one) => `<td>${one}</td>`).join('')}</tr>`).join('\n');
  return scrollableTable(headings, `<thead><tr>${head}</tr></thead><tbody>\n${body}\n</tbody>`);
}

/**
 * @param headings plain text, for the region's name
 * @param inside the table's finished HTML
 */
export function scrollableTable(headings: readonly string[], inside: string): string {
  const name = headings.filter((one) => one !== '').join(', ') || 'Table';
  return `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(name)}"><table>${inside}</table></div>`;
}

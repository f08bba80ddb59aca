// The frame of the server's own pages: one style sheet, one policy, navigation beside the text. Nothing of a page comes
// from another host, and nothing runs in it.
import { createHash } from 'node:crypto';
import { escapeHtml } from '../../text/escape-html.ts';

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #fff; --well: #f6f8fa; --link: #0a58ca; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b1; --line: #30363d; --paper: #0d1117; --well: #161b22; --link: #6cb6ff; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
.guide { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
nav { grid-area: 1 / 1; border-right: 1px solid var(--line); padding: 1rem; font-size: .875rem; position: sticky; top: 0; height: 100vh; overflow: auto; }
nav p { margin: 1rem 0 .3rem; font-weight: 600; }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
nav ul ul { margin: .2rem 0 .4rem; padding-left: .9rem; border-left: 1px solid var(--line); }
nav li { margin: .2rem 0; }
nav [aria-current] { color: var(--ink); font-weight: 600; }
main { padding: 1.5rem 2rem 6rem; max-width: 62rem; }
.guide main { grid-area: 1 / 2; }
.to-contents { display: none; }
.plain main { margin: 0 auto; max-width: 42rem; padding: 4rem 1.5rem; }
a { color: var(--link); text-decoration: none; }
main p a, main li a, main td a { text-decoration: underline; text-underline-offset: .15em; }
a:hover, a:focus-visible { text-decoration: underline; }
h1 { margin: 0 0 1rem; line-height: 1.2; }
h2 { margin: 3rem 0 1rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; line-height: 1.3; }
h3 { margin: 2.5rem 0 .25rem; font-size: 1.05rem; }
h4 { margin: 1.25rem 0 .25rem; font-size: .9rem; color: var(--soft); }
h1 a, h2 a, h3 a, h4 a { color: inherit; }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
code { background: var(--well); padding: .1em .3em; border-radius: .25em; overflow-wrap: anywhere; }
pre { background: var(--well); border: 1px solid var(--line); border-radius: .4rem; padding: .75rem 1rem; overflow-x: auto; }
pre code { padding: 0; background: none; overflow-wrap: normal; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
.number { text-align: right; }
.soft { color: var(--soft); }
.mark { display: block; width: 3.5rem; height: 3.5rem; }
dl { margin: 1.5rem 0; }
dt { font-weight: 600; margin-top: 1.1rem; }
dd { margin: .15rem 0 0; }
@media (max-width: 50rem) { .guide { display: block; } .to-contents { display: block; padding: .75rem 1rem 0; } nav { position: static; height: auto; border-right: 0; border-top: 1px solid var(--line); } main { padding: 1rem 1rem 4rem; } .plain main { padding: 2rem 1rem; } }
`;

/** What the pages may load: their own style, and the icon from this server. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

export interface PageParts {
  readonly title: string;
  /** Finished HTML, or null for a page that stands alone. */
  readonly nav: string | null;
  /** Finished HTML with the page's only h1. */
  readonly main: string;
}

/** A whole page, to be sent with `pagePolicy`. */
export function pageHtml({ title, nav, main }: PageParts): string {
  const body =
    nav === null
      ? `<body class="plain">\n<main>\n${main}\n</main>`
      : // The text comes first in the file: on a phone and for a screen reader the navigation stands behind it.
        `<body class="guide">\n<a class="to-contents" href="#contents">Contents</a>\n<main id="top">\n${main}\n</main>\n<nav id="contents" aria-label="Contents">\n${nav}\n</nav>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
${body}
</body>
</html>
`;
}

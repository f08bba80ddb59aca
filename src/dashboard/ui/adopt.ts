// Owns giving the page more of its look: a part that is loaded when it is asked for brings its own.

/** Adds a style sheet behind those that are there. The policy lets no script write a style element, but a sheet may be adopted. */
export function adopt(css: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

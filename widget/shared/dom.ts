// Owns making elements: the only place where nodes come from. Nothing in the widget parses HTML, so that
// no text of anybody's can become markup and the widget runs under Trusted Types without a policy.

type Attribute = string | number | boolean | null | undefined | ((event: never) => void);
export type Child = Node | string | null | undefined | false;

/**
 * Makes an element. A function is a listener of the event of that name; true and false set and leave out an
 * attribute; everything else is an attribute's text.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value as EventListener);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter(isNode));
  return element;
}

/** Whether an element has a place on the page. Safari before 17.4 has no `checkVisibility`. */
export function isShown(element: HTMLElement): boolean {
  return element.getClientRects().length > 0;
}

function isNode(child: Child): child is Node | string {
  return child !== null && child !== undefined && child !== false;
}

const svgSpace = 'http://www.w3.org/2000/svg';

/** A decorative icon of 24 by 24, drawn as one stroke. */
export function icon(path: string): SVGElement {
  const svg = document.createElementNS(svgSpace, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(svgSpace, 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

/** A style sheet to adopt: a page's style-src does not reach it, unlike a style element. */
export function sheet(text: string): CSSStyleSheet {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  return made;
}

// Owns the drawings: each one path in a square of 24, drawn with a stroke.
import type { JSX } from 'preact';

const paths = {
  inbox: 'M4 13h4l2 3h4l2-3h4M4 13l2.5-8h11L20 13v6H4z',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 9V5M9 19v-4',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 20 20',
  send: 'M4 12 20 4l-4 16-4-6zM12 14l8-10',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6 6 18',
  back: 'M14.5 5.5 8 12l6.5 6.5',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  mail: 'M4 6h16v12H4zM4 7l8 6 8-6',
  note: 'M5 4h14v10l-5 6H5zM14 20v-6h5',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c.8-4 3.8-6 7.5-6s6.7 2 7.5 6',
  transfer: 'M4 8h14l-4-4M20 16H6l4 4',
  release: 'M9 14 4 9l5-5M4 9h9a6 6 0 0 1 0 12h-3',
  spark: 'M12 3l2 7 7 2-7 2-2 7-2-7-7-2 7-2z',
  bold: 'M7 5h6a3.5 3.5 0 0 1 0 7H7zM7 12h7a3.5 3.5 0 0 1 0 7H7z',
  italic: 'M10 5h7M7 19h7M14 5l-4 14',
  strike: 'M5 12h14M16.5 7.5C15 5 8 5 8 9c0 3 9 3 9 6.5 0 4-7 4-9.5 1',
  underline: 'M7 4v7a5 5 0 0 0 10 0V4M6 20h12',
  code: 'm8.5 7-5 5 5 5M15.5 7l5 5-5 5',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  bullets: 'M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01',
  numbers: 'M10 6h10M10 12h10M10 18h10M5 4v4M4 12h2M4 18h2',
  block: 'M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM6 6l12 12',
  edit: 'M5 19h4L19.5 8.5l-4-4L5 15zM13 7l4 4',
  trash: 'M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13',
  retry: 'M5 12a7 7 0 1 1 2.5 5.4M5 18v-4.5h4.5',
  copy: 'M9 9h10v11H9zM15 9V4.5H5V15h4',
  book: 'M5 5a2 2 0 0 1 2-2h12v15H7a2 2 0 0 0-2 2zM5 20a2 2 0 0 0 2 1.5h12V18',
  plus: 'M12 5v14M5 12h14',
  down: 'm6 9.5 6 6 6-6',
  sign: 'M14 4h5v16h-5M4 12h10M10.5 8l4 4-4 4',
  help: 'M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM9.5 10c0-4 5-3.5 5-.5 0 2-2.5 2-2.5 4M12 16.5h.01',
  clip: 'M19 11.5l-7 7a4.5 4.5 0 0 1-6.5-6.5L13 5a3 3 0 0 1 4 4l-7.5 7.5a1.5 1.5 0 0 1-2-2l7-7',
  clock: 'M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM12 7.5V12l3 2',
  tag: 'M4 4h8l8 8-8 8-8-8zM8 8h.01',
  flag: 'M6 21V4h12l-2.5 4 2.5 4H6',
  filter: 'M4 5h16l-6.5 7.5V19l-3-2v-4.5z',
  eye: 'M3 12c2-4 5.2-6 9-6s7 2 9 6c-2 4-5.2 6-9 6s-7-2-9-6zM12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  globe: 'M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM3.5 12h17M12 3.5c5 5 5 12 0 17c-5-5-5-12 0-17z',
  chart: 'M4 20h16M7 16v-5M12 16V6M17 16v-8',
  shield: 'M12 3l8 3v6c0 4.5-3.3 7.6-8 9-4.7-1.4-8-4.5-8-9V6z',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4',
} as const;

export type IconName = keyof typeof paths;

/** Those that point along the line: they turn with it. */
const pointing: ReadonlySet<IconName> = new Set(['back', 'send', 'sign']);

/** A drawing without a meaning of its own: what it says must stand beside it or in a label. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class={pointing.has(name) ? 'icon flips' : 'icon'} viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

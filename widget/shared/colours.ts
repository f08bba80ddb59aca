// Owns the widget's colours: makes a palette out of the site's three, in which everything can be read
// whatever the site chose (WCAG 2.2: 4.5:1 for text, 3:1 for controls). Colours are #rrggbb throughout.

export interface SiteColours {
  readonly primary: string;
  readonly background: string;
  readonly text: string;
}

type Rgb = readonly number[];

function parse(colour: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

function mix(one: string, other: string, share: number): string {
  const second = parse(other);
  return `#${parse(one)
    .map((value, index) =>
      Math.round(value + ((second[index] ?? 0) - value) * share)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = parse(colour).map((value) =>
    value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** White where it can be read on the colour, black otherwise: one of the two always can. */
function inkOn(colour: string): string {
  return contrast(colour, '#ffffff') >= 4.5 ? '#ffffff' : '#000000';
}

/** The colour itself, or as little of black or white added as it takes to reach the ratio on every one of the grounds. */
function legible(colour: string, ratio: number, ...grounds: readonly string[]): string {
  const worst = (front: string): number => Math.min(...grounds.map((ground) => contrast(front, ground)));
  // One direction for all grounds: what is right for one must not undo what was right for another.
  const towards = worst('#000000') > worst('#ffffff') ? '#000000' : '#ffffff';
  let found = colour;
  for (let share = 0.1; worst(found) < ratio && share < 1.05; share += 0.1)
    found = mix(colour, towards, Math.min(share, 1));
  return found;
}

/** The custom properties that the style sheets use. In the dark only the site's primary colour is kept. */
export function palette(
  { primary, background, text }: SiteColours,
  dark: boolean,
): Readonly<Record<string, string>> {
  const ground = dark ? '#17191e' : background;
  const ink = legible(dark ? '#eceef1' : text, 7, ground);
  const tinted = mix(ground, ink, 0.07);
  // A ground of middling brightness has no contrast to give away: there the bubble turns away from the ink.
  const bubble = contrast(tinted, ink) < 5.5 ? mix(ground, inkOn(ink), 0.15) : tinted;
  const readable = (colour: string): string => legible(colour, 4.5, ground, bubble);
  return {
    '--primary': primary,
    '--on-primary': inkOn(primary),
    '--ground': ground,
    '--ink': ink,
    '--bubble': bubble,
    '--line': mix(ground, ink, 0.14),
    '--edge': legible(mix(ground, ink, 0.4), 3, ground),
    '--muted': readable(mix(ink, ground, 0.35)),
    '--accent': readable(primary),
    '--alarm': readable(dark ? '#ff8a80' : '#b3261e'),
    '--good': legible('#1a8f4c', 3, ground),
  };
}

// Owns the round mark of a person: the first letters on a colour that stays the same for the same id.
import type { JSX } from 'preact';
import { initials } from './initials.ts';

const colours = 8;

export function Avatar({ name, id }: { readonly name: string; readonly id: string }): JSX.Element {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
  return <span class={`avatar colour-${sum % colours}`} aria-hidden="true" data-initials={initials(name)} />;
}

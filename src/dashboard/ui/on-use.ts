// Owns parts that are fetched when they are first drawn.
import { useEffect, useState } from 'preact/hooks';
import { t } from '../words.ts';
import { toast } from './toast.tsx';

/** How a part is fetched, and the part once it is there. */
export interface Part<T> {
  readonly load: () => Promise<T>;
  loaded: T | null;
}

/** A part that is fetched at the first use. */
export function partOf<T>(load: () => Promise<T>): Part<T> {
  return { load, loaded: null };
}

/** @returns the part; null: it is not wanted yet, or on its way */
export function usePart<T>(part: Part<T>, isWanted = true): T | null {
  const [, draw] = useState(0);
  useEffect(() => {
    if (!isWanted || part.loaded !== null) return;
    part.load().then(
      (file) => {
        part.loaded = file;
        draw(1);
      },
      () => toast(t('pageNotLoaded'), 'bad'),
    );
  }, [isWanted]);
  return part.loaded;
}

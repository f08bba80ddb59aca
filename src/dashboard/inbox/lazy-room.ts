// Owns loading what an open conversation needs: begun once the page rests after its first picture, or when it is wanted.
import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { toast } from '../ui/toast.tsx';
import { t } from '../words.ts';
import type * as room from './room.ts';

type Room = typeof room;

const loaded = signal<Room | null>(null);
export const isRoomLoaded = computed(() => loaded.value !== null);
let loading: Promise<void> | null = null;

/** Loads it once; where that fails, the next call tries again. */
export function loadRoom(): void {
  loading ??= import('./room.ts').then(
    (file) => {
      loaded.value = file;
    },
    () => {
      loading = null;
      toast(t('pageNotLoaded'), 'bad');
    },
  );
}

/** @returns the parts of a conversation; null: they are on their way */
export function useRoom(): Room | null {
  const parts = loaded.value;
  useEffect(loadRoom, []);
  return parts;
}

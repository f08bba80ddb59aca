// Owns loading what an open conversation needs: begun once the page rests after its first picture, or when it is wanted.
import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { toast } from '../ui/toast.tsx';
import { t } from '../words.ts';

type Room = typeof import('./room.ts');

const loaded = signal<Room | null>(null);
export const isRoomLoaded = computed(() => loaded.value !== null);
let loading: Promise<void> | null = null;

/** Loads it once; where that fails, the next call tries again. */
export function loadRoom(): void {
  loading ??= import('./room.ts').then(
    (room) => {
      loaded.value = room;
    },
    () => {
      loading = null;
      toast(t('pageNotLoaded'), 'bad');
    },
  );
}

/** @returns the parts of a conversation; null: they are on their way */
export function useRoom(): Room | null {
  const room = loaded.value;
  useEffect(loadRoom, []);
  return room;
}

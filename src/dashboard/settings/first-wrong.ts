// Owns where the focus goes when a form was refused: to the first field that is wrong, which says so.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** @param errors what is wrong, another object for each refusal @returns for the element around the fields */
export function useFirstWrong<E extends HTMLElement>(errors: object): RefObject<E | null> {
  const ref = useRef<E>(null);
  useLayoutEffect(() => {
    ref.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [errors]);
  return ref;
}

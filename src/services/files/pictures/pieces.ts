// Which bytes of a picture are kept, as stretches of what was sent.
import { ServiceError } from '../../core/errors.ts';

/** Bytes that are kept: a stretch of what was sent, or a few that are put in. */
export type Piece = { readonly from: number; readonly to: number } | Uint8Array;

export interface PicturePlan {
  /** As it is shown, its orientation taken into account; null: it does not say. */
  readonly width: number | null;
  readonly height: number | null;
  /** null: everything is kept. */
  readonly pieces: readonly Piece[] | null;
}

/** Reads bytes of the file that is being looked at; fewer where it ends. */
export type ReadBytes = (position: number, length: number) => Promise<Buffer>;

/** Puts stretches together that follow each other. */
export class Pieces {
  readonly #pieces: Piece[] = [];

  keep(from: number, to: number): void {
    const last = this.#pieces.at(-1);
    if (last !== undefined && !(last instanceof Uint8Array) && last.to === from)
      this.#pieces.splice(-1, 1, { from: last.from, to });
    else if (to > from) this.#pieces.push({ from, to });
  }

  put(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
  }

  list(): readonly Piece[] {
    return this.#pieces;
  }
}

/** How many bytes the pieces have. */
export function piecesSize(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, one) => sum + (one instanceof Uint8Array ? one.length : one.to - one.from), 0);
}

/** @throws ServiceError file_rejected, always */
export function damaged(): never {
  throw new ServiceError(
    'file_rejected',
    'The picture is damaged: its parts do not follow each other. Open it, save it anew, and send that.',
  );
}

// Places for bytes that are on their way: an address has so many uploads and downloads at once, however slow they are.
import { addressKey } from '../../net/ip-ranges.ts';
import { fileLimits } from '../../protocol/codes.ts';
import { rateLimited } from '../core/errors.ts';
import type { Service } from '../service.ts';

const kinds = {
  upload: { most: fileLimits.unfinished, refusal: 'Too many uploads at once' },
  download: { most: fileLimits.downloads, refusal: 'Too many downloads at once' },
} as const;

/**
 * Takes a place of an address.
 * @param address null: a call of this machine, which takes none
 * @returns gives it back; twice is once
 * @throws ServiceError rate_limit_exceeded
 */
export async function takeTransferSeat(
  { engine }: Pick<Service, 'engine'>,
  kind: keyof typeof kinds,
  address: string | null,
): Promise<() => void> {
  if (address === null) return () => undefined;
  const { most, refusal } = kinds[kind];
  const seat = await engine.seats.take([{ key: `${kind}:${addressKey(address)}`, most }]);
  if (typeof seat === 'function') return seat;
  const window = { limit: most, windowMs: 1_000 };
  throw rateLimited('per_address', [window], window, 1_000, refusal);
}

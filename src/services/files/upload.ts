// Handlers of uploads: limits first, then the bytes, then the row. A row in file_removals names the bytes from the
// first one on, so that an upload that is cut off anywhere leaves nothing for long.
import { fileLimits, type LimitCause } from '../../protocol/codes.ts';
import type { UploadedFile } from '../../protocol/entities.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { LimitWindow } from '../../engine/engine.ts';
import type { FileRow } from '../../engine/rows.ts';
import { addressKey } from '../../net/ip-ranges.ts';
import { writeAs } from '../auth/standing.ts';
import { countNewVisitor, findVisitor, getOrCreateVisitor } from '../core/access.ts';
import type { MemberActor, VisitorActor } from '../core/actor.ts';
import { notFound, rateLimited } from '../core/errors.ts';
import { organizationScope } from '../core/scopes.ts';
import type { ParticipantCall, ReadTx, VisitorCall } from '../service.ts';
import { assertFileQuota } from '../tenants/quotas.ts';
import { assertNameAllowed, readFileName } from './names.ts';
import { storeFile } from './store-file.ts';
import { takeTransferSeat } from './transfer-seats.ts';
import { takeIn, tooLarge, type TakenFile } from './spool.ts';

type UploadInput = Input<'files.upload'>;

export function serializeUploadedFile(row: FileRow): UploadedFile {
  const { id, name, type, size, width, height, state } = row;
  return { id, name, type, size, width, height, state };
}

/**
 * Takes a file in, for one message of its uploader.
 * @throws ServiceError bad_request, payload_too_large, file_rejected, plan_limit, rate_limit_exceeded
 */
export async function uploadFile(call: ParticipantCall, input: UploadInput): Promise<Output<'files.upload'>> {
  const { service, actor } = call;
  const name = readFileName(input.fileName);
  assertNameAllowed(name);
  const maxBytes = actor.kind === 'visitor' ? fileLimits.visitorBytes : fileLimits.staffBytes;
  if (input.announcedBytes !== null && input.announcedBytes > maxBytes) throw tooLarge(maxBytes);
  const release = await takeTransferSeat(service, 'upload', call.address);
  try {
    if (isVisitorCall(call)) await countNewVisitor(call);
    const earlier = await service.engine.store.read((tx) => findEarlier(tx, call, input.idempotencyKey));
    if (earlier !== undefined) return { file: serializeUploadedFile(earlier) };
    await service.engine.store.read((tx) => assertRoom(tx, actor, input.announcedBytes ?? 1));
    const incoming = { bytes: counted(call, input.body), claimed: input.mediaType, maxBytes };
    return await takeIn(service.files.incomingFolder, incoming, (file) => keep(call, input, name, file));
  } finally {
    release();
  }
}

function isVisitorCall(call: ParticipantCall): call is VisitorCall {
  return call.actor.kind === 'visitor';
}

/** One use of the limiter. */
const unitBytes = 65_536;
const hourly = (bytes: number): readonly LimitWindow[] => [{ limit: bytes / unitBytes, windowMs: 3_600_000 }];
const hourlyOfVisitor = hourly(fileLimits.visitorBytesPerHour);
const hourlyOfAddress = hourly(fileLimits.addressBytesPerHour);

interface ByteLimit {
  readonly cause: LimitCause;
  readonly key: string;
  readonly windows: readonly LimitWindow[];
}

/** New visitors cost nothing, so what comes by web pages is counted by its address, too. */
function byteLimits({ actor, address }: ParticipantCall): readonly ByteLimit[] {
  if (actor.kind !== 'visitor') return [];
  const key = `u:${actor.applicationId}:${actor.mode}:${actor.visitorId}`;
  const ofVisitor: ByteLimit = { cause: 'per_visitor', key, windows: hourlyOfVisitor };
  return actor.via === 'key' || address === null
    ? [ofVisitor]
    : [ofVisitor, { cause: 'per_address', key: `ua:${addressKey(address)}`, windows: hourlyOfAddress }];
}

/** Counts a visitor's bytes as they come, whatever becomes of them. */
async function* counted(call: ParticipantCall, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const limits = byteLimits(call);
  let due = 0;
  for await (const chunk of bytes) {
    due += chunk.length;
    for (; limits.length > 0 && due > 0; due -= unitBytes) {
      const verdict = await call.service.engine.limiter.take(limits);
      const failed = verdict.ok ? undefined : limits[verdict.failed];
      if (!verdict.ok && failed !== undefined)
        throw rateLimited(
          failed.cause,
          failed.windows,
          verdict.window,
          verdict.retryAfterMs,
          'Too many files',
        );
    }
    yield chunk;
  }
}

async function findEarlier(
  tx: ReadTx,
  { actor }: ParticipantCall,
  key: string | undefined,
): Promise<FileRow | undefined> {
  if (key === undefined) return undefined;
  const uploader = actor.kind === 'visitor' ? (await findVisitor(tx, actor))?.id : actor.memberId;
  return uploader === undefined ? undefined : tx.repositories.files.byIdempotencyKey(uploader, key);
}

/** @throws ServiceError plan_limit */
async function assertRoom(tx: ReadTx, actor: VisitorActor | MemberActor, more: number): Promise<void> {
  const organization = await tx.repositories.organizations.byId(actor.organizationId);
  if (organization === undefined) throw notFound('organization');
  const { bytes } = await tx.repositories.files.totals(organization.id);
  assertFileQuota(organization, bytes, more);
}

function keep(
  call: ParticipantCall,
  input: UploadInput,
  name: string,
  file: TakenFile,
): Promise<Output<'files.upload'>> {
  const { actor, service } = call;
  return storeFile(service, actor.organizationId, { name, file }, (insert) =>
    writeAs(call, organizationScope(call), async (tx, current) => {
      const visitor = isVisitorCall(current) ? await getOrCreateVisitor(tx, current) : null;
      const earlier = await findEarlier(tx, current, input.idempotencyKey);
      if (earlier !== undefined) return earlier;
      await assertRoom(tx, actor, file.size);
      return insert(tx, {
        uploader: visitor?.id ?? (actor.kind === 'member' ? actor.memberId : ''),
        visitorKey: visitor?.id ?? null,
        idempotencyKey: input.idempotencyKey ?? null,
      });
    }),
  ).then((row) => ({ file: serializeUploadedFile(row) }));
}

/**
 * An own file that waits for its message.
 * @throws ServiceError not_found: it was sent, removed, or refused by the scanner; or never there
 */
export async function readFileState(
  tx: ReadTx,
  { actor }: ParticipantCall,
  input: { fileId: string },
): Promise<Output<'files.state'>> {
  const row = await tx.repositories.files.byId(input.fileId);
  if (row === undefined || row.message_id !== null || !(await isUploader(tx, actor, row)))
    throw notFound('file');
  return { file: serializeUploadedFile(row) };
}

/** Whether a file is the caller's to send. */
export async function isUploader(
  tx: ReadTx,
  actor: VisitorActor | MemberActor,
  row: FileRow,
): Promise<boolean> {
  if (row.organization_id !== actor.organizationId) return false;
  if (actor.kind === 'member') return row.visitor_key === null && row.uploader === actor.memberId;
  const visitor = await findVisitor(tx, actor);
  return visitor !== undefined && row.visitor_key === visitor.id;
}

// The operations of files that are sent with messages: upload, and whether the scanner has looked at one.
// Rows of the one table in ../operations.ts; holds no logic. Downloads carry no credential and are no operation.
import { z } from 'zod';
import * as entity from '../entities.ts';
import { exactText } from '../text.ts';
import { clientMessageId, defineOperation } from './shared.ts';

/** Characters of the header X-File-Name. */
export const maxNameHeader = 8_000;

/** Bytes as they arrive. */
const bytes = z.custom<AsyncIterable<Uint8Array>>(
  (value) => typeof value === 'object' && value !== null && Symbol.asyncIterator in value,
  'must be the bytes of a file',
);

const uploadInput = z.object({
  body: bytes,
  /** What the request says of its length; null: nothing. */
  announcedBytes: z.int().min(0).nullable(),
  mediaType: exactText(0, 1_000),
  /** The header X-File-Name as it was sent. */
  fileName: exactText(0, maxNameHeader).optional(),
  idempotencyKey: clientMessageId.optional(),
});
const fileOutput = z.object({ file: entity.uploadedFile });
const uploadErrors = ['plan_limit', 'file_rejected'] as const;

export const fileOperations = {
  'files.upload': defineOperation({
    summary: 'Upload a file, to be sent with a message within an hour',
    audience: 'Visitors',
    errors: uploadErrors,
    who: 'visitor',
    rest: ['POST', '/files'],
    status: 201,
    body: 'stream',
    idempotency: 'idempotencyKey',
    input: uploadInput,
    output: fileOutput,
  }),
  'files.state': defineOperation({
    summary: 'Get an own file that was not sent yet: whether it may be',
    audience: 'Visitors',
    errors: ['not_found'],
    who: 'visitor',
    rest: ['GET', '/files/:fileId/state'],
    input: z.object({ fileId: entity.uuid }),
    output: fileOutput,
  }),
  'staff.files.upload': defineOperation({
    summary: 'Upload a file as staff, to be sent with a message within an hour',
    audience: 'Staff',
    errors: uploadErrors,
    who: 'operator',
    rest: ['POST', '/staff/files'],
    status: 201,
    body: 'stream',
    idempotency: 'idempotencyKey',
    input: uploadInput,
    output: fileOutput,
  }),
  'staff.files.state': defineOperation({
    summary: 'Get an own file that was not sent yet: whether it may be',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['GET', '/staff/files/:fileId/state'],
    input: z.object({ fileId: entity.uuid }),
    output: fileOutput,
  }),
} as const;

// The operations of blocking visitors and addresses. Rows of the one table in ../operations.ts; holds no logic.
import { z } from 'zod';
import * as entity from '../entities.ts';
import { adminPageInput, dateTime, defineOperation, listOutput, successOutput } from './shared.ts';
import { text } from '../text.ts';

const visitorRef = {
  visitorId: entity.visitorUuid,
  applicationId: entity.uuid.optional().describe('needed where several applications know this visitor id'),
  mode: entity.mode.optional().describe('needed where the visitor id is known as live and as test'),
};

const blockOutput = entity.block.extend({
  warning: z.string().optional().describe('where others may be blocked who were not meant'),
});

export const blockOperations = {
  'visitors.block': defineOperation({
    summary: 'Block a visitor: closes their connections and hides the widget',
    audience: 'Staff',
    errors: ['not_found', 'conflict'],
    who: 'operator',
    rest: ['PUT', '/staff/visitors/:visitorId/block'],
    envelope: 'block',
    input: z.object({
      ...visitorRef,
      until: dateTime.nullable().default(null).describe('null: until it is lifted'),
      address: z
        .boolean()
        .default(false)
        .describe('also the address that the visitor wrote from last, for at most 30 days'),
    }),
    output: blockOutput,
  }),
  'visitors.unblock': defineOperation({
    summary: 'Lift the block of a visitor, and of the addresses that were blocked with them',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/visitors/:visitorId/block'],
    input: z.object(visitorRef),
    output: successOutput,
  }),
  'blocks.list': defineOperation({
    summary: 'List the blocks in force, newest first',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/blocks'],
    input: z.object(adminPageInput),
    output: z.object({ blocks: z.array(entity.block), ...listOutput }),
  }),
  'blocks.create': defineOperation({
    summary: 'Block an address for at most 30 days; only a keyed digest of it is kept',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/blocks'],
    status: 201,
    envelope: 'block',
    input: z.object({
      address: text(1, 100).describe('an IPv4 or IPv6 address; of IPv6 its /64 counts'),
      until: dateTime.optional().describe('30 days from now unless said'),
    }),
    output: blockOutput,
  }),
  'blocks.remove': defineOperation({
    summary: 'Lift a block',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/blocks/:blockId'],
    input: z.object({ blockId: entity.uuid }),
    output: successOutput,
  }),
} as const;

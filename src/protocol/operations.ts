// The table of operations: name → who may call it, where it is served by REST, what it
// takes and what it answers. Routes and the API's description are generated from it, and
// handlers are typed by it; it holds no logic itself. Its rows are in operations/.
import type { z } from 'zod';
import { assistantOperations } from './operations/assistant.ts';
import { blockOperations } from './operations/blocks.ts';
import { dataOperations } from './operations/data.ts';
import { adminOperations } from './operations/admin.ts';
import { notificationOperations } from './operations/notifications.ts';
import { fileOperations } from './operations/files.ts';
import { emailOperations } from './operations/email.ts';
import { queueOperations } from './operations/queue.ts';
import { signInOperations } from './operations/sign-in.ts';
import { staffOperations } from './operations/staff.ts';
import { visitorOperations } from './operations/visitors.ts';

import type { Operation, Who } from './operations/shared.ts';

export type { Audience, Method, Operation, Who } from './operations/shared.ts';

export const operations = {
  ...visitorOperations,
  ...fileOperations,
  ...staffOperations,
  ...queueOperations,
  ...signInOperations,
  ...notificationOperations,
  ...blockOperations,
  ...adminOperations,
  ...dataOperations,
  ...assistantOperations,
  ...emailOperations,
} as const;

export type OperationName = keyof typeof operations;
/** Who may call an operation. */
export type WhoOf<N extends OperationName> = (typeof operations)[N]['who'];
/** What a handler receives: the input after the check, defaults filled in. */
export type Input<N extends OperationName> = z.output<(typeof operations)[N]['input']>;
/** What a caller may hand in. */
export type RawInput<N extends OperationName> = z.input<(typeof operations)[N]['input']>;
/** What a handler answers. */
export type Output<N extends OperationName> = z.output<(typeof operations)[N]['output']>;

/** A row of which one does not know the name. */
export type AnyOperation = Operation<Who, z.ZodObject, z.ZodType>;

const rows: Readonly<Record<OperationName, AnyOperation>> = operations;

const isOperationName = (name: string): name is OperationName => Object.hasOwn(operations, name);

/** The names of all operations, in the order of the table. */
export const operationNames: readonly OperationName[] = Object.keys(operations).filter(isOperationName);

/** A row as one of many: for code that walks the whole table. */
export function operationRow(name: OperationName): AnyOperation {
  return rows[name];
}

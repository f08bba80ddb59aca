// The table of operations: name → who may ask, where it lives in REST, what it
// takes and what it answers. Doors are generated from it and rules are checked
// against it; it holds no rule itself. Its rows are in operations/, by who asks.
import type { z } from 'zod';
import { assistantOperations } from './operations/assistant.ts';
import { dataOperations } from './operations/data.ts';
import { ownerOperations } from './operations/owners.ts';
import { staffOperations } from './operations/staff.ts';
import { visitorOperations } from './operations/visitors.ts';

export type { Method, Operation, Who } from './operations/shared.ts';

export const operations = {
  ...visitorOperations,
  ...staffOperations,
  ...ownerOperations,
  ...dataOperations,
  ...assistantOperations,
} as const;

export type OperationName = keyof typeof operations;
/** What a rule receives: the input after the check, defaults filled in. */
export type Input<N extends OperationName> = z.output<(typeof operations)[N]['input']>;
/** What a caller may hand in. */
export type RawInput<N extends OperationName> = z.input<(typeof operations)[N]['input']>;
/** What a rule answers. */
export type Output<N extends OperationName> = z.output<(typeof operations)[N]['output']>;

// From a schema's refusal to the 400 that a caller gets.
import type { z } from 'zod';
import { ServiceError, type ErrorDetail } from './errors.ts';

/** No answer lists more faults than this: a body of 64 KiB can hold thousands. */
const maxDetails = 100;

/** 400 for an input that its schema refuses: one sentence, and a list of what is wrong where. */
export function validationError(error: z.ZodError): ServiceError {
  const details = error.issues.flatMap(issueDetails).slice(0, maxDetails);
  const [first] = details;
  const sentence =
    first === undefined || first.path === ''
      ? `The request is not valid: ${first?.message ?? 'see details'}.`
      : `The field ${first.path} is not valid: ${first.message}.`;
  return new ServiceError('bad_request', sentence, { details });
}

/** Unknown fields are one issue of the object that holds them, and a detail each. */
function issueDetails({ message, path, ...issue }: z.core.$ZodIssue): ErrorDetail[] {
  const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
  return paths.map((names) => ({ path: names.map(String).join('.'), message }));
}

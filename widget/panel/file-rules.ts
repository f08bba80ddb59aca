// What a visitor may send, as far as it is known before the service is asked.
import { blockedFileEndings, fileLimits } from '../../src/protocol/codes.ts';
import type { FileRules } from '../../src/sdk/attachments.ts';

export const fileRules: FileRules = {
  maxBytes: fileLimits.visitorBytes,
  maxFiles: fileLimits.perMessage,
  blockedEndings: blockedFileEndings,
};

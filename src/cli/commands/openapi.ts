// deskbell openapi: the description of the API, the same that a server has under
// /openapi.json. Needs no data folder.
import type { Command } from 'commander';
import type { WrapHandler } from '../context.ts';

export function addOpenApiCommand(program: Command, act: WrapHandler): void {
  program
    .command('openapi')
    .description('print the description of the API (OpenAPI 3.1)')
    .action(
      act(async ({ print }) => {
        const { openApiDocument } = await import('../../http/openapi.ts');
        print.document(await openApiDocument());
      }),
    );
}

// Builds the npm package @deskbell/sdk into widget/dist: both entries as readable ES
// modules for bundlers and Node, with their types. The served sdk.js is another build.
import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('.', import.meta.url));
const out = join(root, 'widget/dist');

await rm(out, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: { sdk: 'src/sdk/index.ts', staff: 'src/sdk/staff.ts' },
  outdir: out,
  bundle: true,
  splitting: true,
  chunkNames: 'shared-[hash]',
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
});

const config = join(out, 'tsconfig.json');
await writeFile(
  config,
  JSON.stringify({
    extends: '../../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: '../../src',
      outDir: '.',
      lib: ['es2024', 'dom'],
      types: [],
    },
    include: [],
    files: ['../../src/sdk/index.ts', '../../src/sdk/staff.ts'],
  }),
);
try {
  await promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config]);
} finally {
  await rm(config);
}
// Whoever reads the types has no .ts files beside them.
for (const entry of await readdir(out, { recursive: true, withFileTypes: true })) {
  if (!entry.name.endsWith('.d.ts')) continue;
  const file = join(entry.parentPath, entry.name);
  await writeFile(file, (await readFile(file, 'utf8')).replace(/(from '\.[^']*)\.ts'/g, "$1.js'"));
}

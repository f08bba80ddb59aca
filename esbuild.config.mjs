// Owns: how dist/ is made: the program bundled to a few files, and the licences of what is inside.
// Must not touch anything but dist/. Run by "npm run build", and by "npm ci" in a clone (prepare).
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = import.meta.dirname;

/** Everything that is built, as esbuild options; what runs in a browser joins as a further entry. */
const targets = [
  {
    // Splitting keeps what is reached by import() in files of its own, read only when it is used.
    entryPoints: { cli: 'src/cli/main.ts' },
    platform: 'node',
    target: 'node22',
    splitting: true,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
    // A native add-on finds its binary beside itself, so it stays a package.
    external: ['better-sqlite3'],
    // CommonJS packages inside an ES module still call require for Node's own modules.
    banner: {
      js: "import{createRequire as deskbellRequire}from'node:module';const require=deskbellRequire(import.meta.url);",
    },
  },
];

/** Names of the folders of all packages that ended up in the bundles, such as node_modules/koa. */
function bundledPackages(metafiles) {
  const folders = new Set();
  for (const output of metafiles.flatMap((metafile) => Object.values(metafile.outputs))) {
    for (const [file, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
      if (folder !== undefined && bytesInOutput > 0) folders.add(folder);
    }
  }
  return [...folders].sort();
}

/** One section of the notices: name, version, licence and the licence's text as the package ships it. */
function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  if (typeof license !== 'string') throw new Error(`${name}@${version} declares no licence: it must not be bundled`);
  const texts = readdirSync(join(root, folder))
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...texts].join('\n\n');
}

/** Builds into a fresh folder and then swaps it in, so that nobody meets a half-written dist/. */
async function build({ build: bundle }) {
  const fresh = mkdtempSync(join(root, '.dist-'));
  chmodSync(fresh, 0o755); // mkdtemp makes it private, but another user may run what root installed
  try {
    const results = await Promise.all(
      targets.map((target) =>
        bundle({
          absWorkingDir: root,
          outdir: fresh,
          bundle: true,
          format: 'esm',
          minify: true,
          // Class and function names appear in errors and stacks: worth their few bytes.
          keepNames: true,
          legalComments: 'none',
          metafile: true,
          logLevel: 'warning',
          ...target,
        }),
      ),
    );
    const notices = bundledPackages(results.map((result) => result.metafile)).map(notice);
    writeFileSync(join(fresh, 'THIRD-PARTY-NOTICES.txt'), `${notices.join(`\n\n${'-'.repeat(72)}\n\n`)}\n`);
    rmSync(join(root, 'dist'), { recursive: true, force: true });
    renameSync(fresh, join(root, 'dist'));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

// "--when-possible" is npm's prepare step, which also runs where there is nothing to build with or
// from: an installation without development packages, or a container layer before the sources.
const possible = existsSync(join(root, 'node_modules/esbuild')) && existsSync(join(root, 'src/cli/main.ts'));
if (possible || !process.argv.includes('--when-possible')) await build(await import('esbuild'));

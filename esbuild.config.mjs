// Owns everything that is built:
//   node esbuild.config.mjs             dist/: the program, the browser files, the licences, what is in it
//                                       ("npm run build")
//   node esbuild.config.mjs --sdk       widget/dist/: the npm package @deskbell/sdk ("npm run build:sdk")
//   node esbuild.config.mjs --prepare   what "npm ci" does in a clone: dist/ where it can be built, and the
//                                       package's own command in node_modules/.bin
// Must not touch anything else.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

const root = import.meta.dirname;
const require = createRequire(import.meta.url);

/** Ink asks for React's developer tools only where DEV=true is set: they stay out of the bundle. */
const withoutDevtools = {
  name: 'without-devtools',
  setup(build) {
    build.onResolve({ filter: /^react-devtools-core$/ }, () => ({
      path: 'react-devtools-core',
      namespace: 'nothing',
    }));
    build.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default {};' }));
  },
};

/** zod's messages in fifty languages, of which none is said: its own English is built in. */
const withoutLocales = {
  name: 'without-locales',
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/** nodemailer's own table of media types, which every file that is sent goes without: it is told its type. */
const oneTableOfTypes = {
  name: 'one-table-of-types',
  setup(build) {
    const own = /[\\/]nodemailer[\\/]dist[\\/]esm[\\/]mime-funcs[\\/]mime-types\.js$/;
    build.onLoad({ filter: own }, () => ({
      contents: `
        import { extension, lookup } from 'mime-types';
        export const detectMimeType = (name) => (name && lookup(name)) || 'application/octet-stream';
        export const detectExtension = (type) => (type && extension(type)) || 'bin';`,
      resolveDir: root,
    }));
  },
};

/** The sanitiser's parser of style sheets, a tenth of what a start loads: content may have no style attribute. */
const withoutStyleParser = {
  name: 'without-style-parser',
  setup(build) {
    build.onResolve({ filter: /^postcss$/ }, ({ path }) => ({ path, namespace: 'unused' }));
    build.onLoad({ filter: /^postcss$/, namespace: 'unused' }, () => ({
      contents: "exports.parse = () => { throw new Error('Style attributes are not read.'); };",
    }));
  },
};

/**
 * Node's modules that load others for what they export beside what is used, as `node:http` does for its WebSocket (undici,
 * 20 ms and some megabytes) and `node:fs` for its streams (8 ms): an import statement reads every export of a module at
 * once. Here each is read only where it is imported.
 */
const exportsOnUse = {
  name: 'exports-on-use',
  setup(build) {
    build.onResolve({ filter: /^(?:node:)?(?:http|util|process|fs|crypto|net|dns)$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path: path.replace(/^(?:node:)?/, 'node:'), namespace: 'node' } : null,
    );
    build.onLoad({ filter: /.*/, namespace: 'node' }, ({ path }) => {
      const names = Object.keys(require(path)).filter((name) => /^[A-Za-z]\w*$/.test(name));
      const lines = names.map((name) => `export const ${name} = /* @__PURE__ */ take('${name}');`);
      return {
        contents: `
          const builtin = process.getBuiltinModule('${path}');
          const take = (name) => builtin[name];
          export default builtin;
          ${lines.join('\n')}`,
      };
    });
  },
};

/** Commander starts programs only for commands that are files of their own, of which there is none: 2 ms of each command. */
const lateChildProcess = {
  name: 'late-child-process',
  setup(build) {
    build.onResolve({ filter: /^node:child_process$/ }, ({ path, importer }) =>
      /[\\/]node_modules[\\/]commander[\\/]/.test(importer) ? { path, namespace: 'on-use' } : null,
    );
    build.onLoad({ filter: /.*/, namespace: 'on-use' }, ({ path }) => ({
      contents: `export default { get spawn() { return process.getBuiltinModule('${path}').spawn; } };`,
    }));
  },
};

/** What string-width makes at its start though only texts beyond ASCII need it: for that, Node loads tables (30 ms). */
const lateWidthTables = {
  name: 'late-width-tables',
  setup(build) {
    const late = { segmenter: 'new Intl.Segmenter()', rgiEmojiRegex: '/^\\p{RGI_Emoji}$/v' };
    build.onLoad({ filter: /[\\/]string-width[\\/]index\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8');
      for (const [name, value] of Object.entries(late)) {
        const made = `const ${name} = ${value};`;
        const parts = contents.replace(made, `let ${name};`).split(new RegExp(`\\b${name}(?=\\.)`));
        if (!contents.includes(made) || parts.length !== 2)
          throw new Error(`string-width makes its ${name} in another way now.`);
        contents = parts.join(`(${name} ??= ${value})`);
      }
      return { contents };
    });
  },
};

/** The table of media types as text, which is parsed in half of the time that a script of the same takes. */
const parsedTableOfTypes = {
  name: 'parsed-table-of-types',
  setup(build) {
    build.onLoad({ filter: /[\\/]mime-db[\\/]db\.json$/ }, ({ path }) => ({
      contents: `module.exports = JSON.parse(${JSON.stringify(JSON.stringify(JSON.parse(readFileSync(path, 'utf8'))))});`,
    }));
  },
};

/** The reader of PDF files as it is shipped: a fifth of the program as text, for a thread that is rarely started. */
const packedPdfReader = 'pdfjs.mjs.br';

/** The reader of PDF files stays a file of its own, compressed: Node is told how to read it, and reads nothing else so. */
const compressedPdfReader = {
  name: 'compressed-pdf-reader',
  setup(build) {
    build.onResolve({ filter: /^unpdf\/pdfjs$/ }, ({ path }) => ({ path, namespace: 'compressed' }));
    build.onLoad({ filter: /.*/, namespace: 'compressed' }, () => ({
      contents: `
        import { readFileSync } from 'node:fs';
        import { registerHooks } from 'node:module';
        import { brotliDecompressSync } from 'node:zlib';
        const file = new URL('./${packedPdfReader}', import.meta.url);
        const hooks = registerHooks({
          load: (url, context, next) =>
            url === file.href
              ? { format: 'module', source: brotliDecompressSync(readFileSync(file)), shortCircuit: true }
              : next(url, context),
        });
        let reader;
        try {
          reader = await import(file.href);
        } finally {
          hooks.deregister();
        }
        export const { getDocument } = reader;`,
    }));
  },
};

/** Everything that is built, as esbuild options; what runs in a browser joins as a further entry. */
const targets = [
  {
    // Splitting keeps what is reached by import() in files of its own, read only when it is used.
    // A worker is a thread's own file, or a process's: it is started by its name.
    entryPoints: {
      cli: 'src/cli/main.ts',
      'backup-process': 'src/engine/sqlite/backup-process.ts',
      'checkpoint-worker': 'src/engine/sqlite/checkpoint-worker.ts',
      'chunk-worker': 'src/services/assistant/knowledge/chunking/chunk-worker.ts',
      'crawl-worker': 'src/services/assistant/knowledge/crawl/crawl-worker.ts',
      'document-worker': 'src/services/assistant/knowledge/files/document-worker.ts',
      'mail-worker': 'src/services/mail/inbound/mail-worker.ts',
      'sync-worker': 'src/engine/sqlite/sync-worker.ts',
    },
    platform: 'node',
    target: 'node22',
    splitting: true,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
    // A native add-on finds its binary beside itself, so it stays a package.
    external: ['better-sqlite3'],
    // React ships two builds of itself and chooses by this name.
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [
      withoutDevtools,
      withoutLocales,
      withoutStyleParser,
      exportsOnUse,
      lateChildProcess,
      lateWidthTables,
      oneTableOfTypes,
      parsedTableOfTypes,
      compressedPdfReader,
    ],
    // CommonJS packages inside an ES module still call require for Node's own modules.
    banner: {
      js: "import{createRequire as deskbellRequire}from'node:module';const require=deskbellRequire(import.meta.url);",
    },
  },
];

/** Style sheets are adopted by shadow roots, so they are imported as minified text. */
const cssAsText = {
  name: 'css-as-text',
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await build.esbuild.transform(readFileSync(path, 'utf8'), {
        loader: 'css',
        minify: true,
      });
      return { contents: code.trim(), loader: 'text' };
    });
  },
};

/** Options of all that runs in browsers; the tests measure and try the very same. */
export const browser = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: ['es2022', 'chrome105', 'firefox111', 'safari16'],
  minify: true,
  // Names that end in "_" stay inside their bundle, where a letter does: never those of an API, a frame, REST, storage or the tabs' channel.
  mangleProps: /[a-z]_$/,
  charset: 'utf8',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  plugins: [cssAsText],
};

/** A browser's file as those get it who take brotli: nearly all. */
export function compress(text) {
  return brotliCompressSync(text, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(text),
    },
  });
}

/** What terser may do: what compresses best for the files that are loaded first. */
const compressing = {
  passes: 3,
  hoist_funs: true,
  reduce_funcs: true,
  sequences: 0,
  hoist_vars: false,
  booleans: true,
};

/**
 * A browser's file as it is shipped: what esbuild leaves, terser still shortens.
 * @param format esbuild's: an "iife" is a classic script and keeps its "use strict"
 */
export async function shorten(text, format = browser.format) {
  const { minify } = await import('terser');
  const { code } = await minify(text, { module: format === 'esm', ecma: 2020, compress: compressing });
  return code;
}

/** What {@link shrink} made before. `npm ci` removes it with the rest of node_modules. */
const shrunk = join(root, 'node_modules/.cache/deskbell-build');

/**
 * A browser's file shortened and compressed. Both are most of a build's time, and the same text gives the same bytes: what
 * was made once is kept, under a digest of the text and of all that decides what becomes of it.
 * @param format as for {@link shorten}; null: of no script, which is only compressed
 * @returns the text and its brotli
 */
async function shrink(text, format) {
  const how = [
    manifest('node_modules/terser').version,
    process.versions.brotli,
    shorten.toString() + compress.toString() + JSON.stringify(compressing),
    format,
  ];
  const key = createHash('sha256')
    .update(JSON.stringify([...how, text]))
    .digest('hex');
  const file = join(shrunk, `${key}.br`);
  if (existsSync(file)) {
    const brotli = readFileSync(file);
    return { text: brotliDecompressSync(brotli).toString(), brotli };
  }
  const short = format === null ? text : await shorten(text, format);
  const brotli = compress(short);
  mkdirSync(shrunk, { recursive: true });
  // In one step: another build may be reading.
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, brotli);
  renameSync(fresh, file);
  return { text: short, brotli };
}

/** What runs in browsers, compressed: nearly all take brotli, and the server unpacks for the others. Flat files in one folder, names with a hash for all but widget.js, sdk.js, panel.js and security.js. */
async function buildWeb(bundle, folder) {
  mkdirSync(folder, { recursive: true });
  const hashed = (name, entry, more) =>
    bundle({
      ...browser,
      entryPoints: { [name]: entry },
      outdir: folder,
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      ...more,
    });
  const fileOf = ({ metafile }, name) =>
    Object.keys(metafile.outputs)
      .map((path) => basename(path))
      .find((file) => file.startsWith(`${name}-`));
  const conversation = await hashed('conversation', 'widget/conversation/main.ts', {});
  const tray = await hashed('tray', 'widget/files/tray.ts', {});
  // Splitting makes a file of each language.
  const panel = await hashed('panel', 'widget/panel/main.ts', {
    splitting: true,
    define: {
      CONVERSATION_FILE: JSON.stringify(fileOf(conversation, 'conversation')),
      TRAY_FILE: JSON.stringify(fileOf(tray, 'tray')),
    },
  });
  const panelFile = fileOf(panel, 'panel');
  // A page may still hold an older widget.js, whose panel went with the old release: it falls back to this name.
  copyFileSync(join(folder, panelFile), join(folder, 'panel.js'));
  const widget = await bundle({
    ...browser,
    // A classic script, so that the static tag needs no type="module".
    format: 'iife',
    entryPoints: { widget: 'widget/launcher/main.ts' },
    outdir: folder,
    define: { PANEL_FILE: JSON.stringify(panelFile) },
  });
  const sdk = await bundle({ ...browser, entryPoints: { sdk: 'src/sdk/index.ts' }, outdir: folder });
  const security = await bundle({
    ...browser,
    entryPoints: { security: 'widget/security/main.ts' },
    outdir: folder,
    splitting: true,
    chunkNames: 'security-[name]-[hash]',
  });
  for (const name of readdirSync(folder)) {
    const built = readFileSync(join(folder, name), 'utf8');
    const { brotli } = await shrink(built, name === 'widget.js' ? 'iife' : 'esm');
    rmSync(join(folder, name));
    writeFileSync(join(folder, `${name}.br`), brotli);
  }
  return [conversation, tray, panel, widget, sdk, security];
}

/** What a script takes from a file in as many statements as esbuild had files is taken in one. */
function oneImport(text, from) {
  const names = [];
  const without = text.replaceAll(new RegExp(`import\\{([^}]*)\\}from"\\./${from}";`, 'g'), (_, list) => {
    names.push(list);
    return '';
  });
  return names.length === 0 ? text : `import{${names.join(',')}}from"./${from}";${without}`;
}

/**
 * Makes one file of an entry and of everything that it imports statically. esbuild gives every group of parts that share
 * something a file of its own: each would be a request before the page can be used. Files that are loaded later then take
 * from the one file what they took from several.
 *
 * @param folder the output of a build with splitting; what became part of the entry is removed from it
 * @param outputs the metafile's, by path
 * @param start of the entry's name
 * @param before what is loaded before it, and became part of another entry
 * @returns the names of what became part of it
 */
async function joinEntry(bundle, folder, outputs, start, before = []) {
  const all = Object.entries(outputs)
    .map(([path, output]) => ({ name: basename(path), ...output }))
    .filter(({ name }) => !before.slice(1).includes(name));
  const entry = all.find(({ name }) => name.startsWith(start));
  const joined = new Map();
  const walk = (name) => {
    if (joined.has(name) || before.includes(name)) return;
    joined.set(name, `_${joined.size}_`);
    for (const one of all.find((output) => output.name === name).imports)
      if (one.kind === 'import-statement') walk(basename(one.path));
  };
  walk(entry.name);
  const others = all.filter(({ name }) => !joined.has(name));
  // Every name that a file takes gets the file's mark before it: in different files the same letter is another thing.
  const taken = new Map([...joined.keys()].map((name) => [name, new Set()]));
  const statement = /import\s*(?:\{([^}]*)\}\s*from\s*)?"\.\/([\w-]+\.js)"/g;
  for (const { name } of others) {
    const text = readFileSync(join(folder, name), 'utf8').replace(statement, (whole, names, from) => {
      const mark = joined.get(from);
      if (mark === undefined) return whole;
      if (names === undefined) return `import"./${entry.name}"`;
      const marked = names.split(',').map((one) => {
        const [outer, inner = outer] = one.trim().split(/\s+as\s+/);
        taken.get(from).add(outer);
        return `${mark}${outer} as ${inner}`;
      });
      return `import{${marked.join(',')}}from"./${entry.name}"`;
    });
    writeFileSync(join(folder, name), oneImport(text, entry.name));
  }
  const lines = [...taken].flatMap(([from, names]) => [
    from === entry.name ? `export*from"./${from}";` : `import"./${from}";`,
    ...[...names].map((name) => `export{${name} as ${joined.get(from)}${name}}from"./${from}";`),
  ]);
  const result = await bundle({
    absWorkingDir: root,
    stdin: { contents: lines.join('\n'), resolveDir: folder, loader: 'js' },
    bundle: true,
    format: 'esm',
    minify: true,
    target: browser.target,
    charset: 'utf8',
    legalComments: 'none',
    write: false,
    external: others.map(({ name }) => `./${name}`),
  });
  for (const name of joined.keys()) rmSync(join(folder, name));
  writeFileSync(join(folder, entry.name), result.outputFiles[0].text);
  return [...joined.keys()];
}

/**
 * The dashboard: an entry, parts that are loaded when they are asked for, one file of words for each language, and the
 * style. All of it lies in assets/ under names with a hash, written down in assets.json for the server.
 */
export async function buildDashboard(bundle, folder) {
  const assets = join(folder, 'assets');
  mkdirSync(assets, { recursive: true });
  const common = {
    ...browser,
    outdir: assets,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
  };
  const script = await bundle({
    ...common,
    entryPoints: { app: 'src/dashboard/main.tsx' },
    splitting: true,
  });
  const { outputs } = script.metafile;
  // The conversation's parts follow the queue in one file, too.
  await joinEntry(bundle, assets, outputs, 'room-', await joinEntry(bundle, assets, outputs, 'app-'));
  const style = await bundle({
    ...common,
    entryPoints: { app: 'src/dashboard/styles/main.css' },
    plugins: [],
  });
  const nameOf = ({ metafile }, extension) =>
    Object.entries(metafile.outputs)
      .filter(([path, { entryPoint }]) => entryPoint !== undefined && path.endsWith(extension))
      .map(([path]) => basename(path))
      .find((name) => name.startsWith('app-'));
  const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };
  const files = {};
  for (const name of readdirSync(assets)) {
    const path = join(assets, name);
    const built = readFileSync(path, 'utf8');
    const { text, brotli } = await shrink(built, name.endsWith('.js') ? 'esm' : null);
    rmSync(path);
    writeFileSync(`${path}.br`, brotli);
    files[name] = { type: types[name.split('.').at(-1)], bytes: Buffer.byteLength(text) };
  }
  const [entry, css] = [nameOf(script, '.js'), nameOf(style, '.css')];
  const languages = Object.fromEntries(
    Object.entries(script.metafile.outputs).flatMap(([path, { entryPoint = '' }]) => {
      const language = /^src\/dashboard\/languages\/(\w+)\.ts$/.exec(entryPoint)?.[1];
      return language === undefined ? [] : [[language, basename(path)]];
    }),
  );
  const page = readFileSync(join(root, 'src/dashboard/index.html'), 'utf8');
  writeFileSync(join(folder, 'index.html'), page.replace('{{entry}}', entry).replace('{{css}}', css));
  writeFileSync(
    join(folder, 'assets.json'),
    `${JSON.stringify({ entry, css, languages, files }, null, 2)}\n`,
  );
  return [script, style];
}

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

/** The folders of the packages that an installation brings along: the dependencies and theirs. */
function installedPackages(names, found = new Set()) {
  for (const name of names.filter((one) => !found.has(`node_modules/${one}`))) {
    found.add(`node_modules/${name}`);
    installedPackages(Object.keys(manifest(`node_modules/${name}`).dependencies ?? {}), found);
  }
  return [...found].sort();
}

function manifest(folder) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

/** What the notices say of a package: name, version and licence, and the licence's text as the package ships it. */
function notice(folder) {
  const { name, version, license } = manifest(folder);
  if (typeof license !== 'string')
    throw new Error(`${name}@${version} declares no licence: it must not be bundled`);
  const texts = readdirSync(join(root, folder))
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  return { heading: `${name} ${version} (${license})`, text: texts.join('\n\n') };
}

const copyrightLine = /^[ \t>*]*(?:copyright\b|\(c\)|©).*$/gim;

/**
 * A licence's text in two: the lines that say whose it is, and all the rest. What begins a sentence of the licence
 * itself stays in it.
 */
function splitLicence(text) {
  const lines = (text.match(copyrightLine) ?? []).filter((line) => /\d{4}|\(c\)|©/i.test(line));
  const rest = lines.reduce((left, line) => left.replace(line, ''), text);
  return { owners: lines.map((line) => line.trim()), rest: rest.replaceAll(/\n{3,}/g, '\n\n').trim() };
}

/** The notices of packages. Those with the same licence, word for word but for whose it is, share its text. */
function noticesOf(folders) {
  const notices = folders.map(notice).map(({ heading, text }) => ({ heading, ...splitLicence(text) }));
  const sections = Map.groupBy(notices, ({ rest }) => rest.replaceAll(/\s+/g, ' '));
  return [...sections.values()]
    .map((packages) => {
      const names = packages.map(({ heading, owners }) => [heading, ...owners].join('\n'));
      return `${names.join('\n\n')}\n\n${packages[0].rest}`.trim();
    })
    .join(`\n\n${'-'.repeat(72)}\n\n`);
}

/** A package as CycloneDX names it. */
function component(folder, type) {
  const { name, version, license } = manifest(folder);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  // An identifier of SPDX stands by itself; two of them with an operator are an expression.
  const licenses = [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }];
  return { 'bom-ref': purl, type, name, version, scope: 'required', licenses, purl };
}

/**
 * The software bill of materials (CycloneDX 1.5). npm's own would name none of the packages that are bundled. Without
 * a time and a serial number, so that the same sources make the same file.
 */
function billOfMaterials(bundled) {
  const installed = installedPackages(Object.keys(manifest('.').dependencies));
  // Two copies of one version are one component.
  const components = new Map(
    [...new Set([...bundled, ...installed])].map((folder) => {
      const made = component(folder, 'library');
      return [made.purl, made];
    }),
  );
  const self = component('.', 'application');
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: self },
    components: [...components.values()],
    dependencies: [{ ref: self.purl, dependsOn: [...components.keys()] }],
  };
}

/**
 * Writes letters beyond ASCII as themselves in a script that consists of them, the tables of character sets of mails. In
 * any other it would cost memory: Node keeps a script with one such letter in two bytes for each of its letters.
 */
async function writeLettersAsThemselves(transform, folder) {
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.mjs'))) {
    const text = readFileSync(join(folder, name), 'utf8');
    if ((text.match(/\\u[\da-f]{4}/gi) ?? []).length < text.length / 20) continue;
    const { code } = await transform(text, { charset: 'utf8', minify: true, target: 'node22' });
    writeFileSync(join(folder, name), code);
  }
}

/** Builds into a fresh folder and then swaps it in, so that nobody meets a half-written dist/. */
async function build({ build: bundle, transform }) {
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
    await writeLettersAsThemselves(transform, fresh);
    const pdfReader = readFileSync(fileURLToPath(import.meta.resolve('unpdf/pdfjs')), 'utf8');
    writeFileSync(join(fresh, packedPdfReader), (await shrink(pdfReader, null)).brotli);
    results.push(...(await buildWeb(bundle, join(fresh, 'web'))));
    results.push(...(await buildDashboard(bundle, join(fresh, 'dashboard'))));
    // Served under /docs as they are; rendered at the first request.
    cpSync(join(root, 'docs'), join(fresh, 'docs'), { recursive: true });
    const bundled = bundledPackages(results.map((result) => result.metafile));
    writeFileSync(join(fresh, 'THIRD-PARTY-NOTICES.txt'), `${noticesOf(bundled)}\n`);
    writeFileSync(join(fresh, 'sbom.cdx.json'), `${JSON.stringify(billOfMaterials(bundled))}\n`);
    rmSync(join(root, 'dist'), { recursive: true, force: true });
    renameSync(fresh, join(root, 'dist'));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * Builds the npm package @deskbell/sdk: its entries as readable ES modules for bundlers and
 * Node, with their types. The served sdk.js is another build.
 */
async function buildSdk({ build: bundle }) {
  const out = join(root, 'widget/dist');
  rmSync(out, { recursive: true, force: true });
  await bundle({
    absWorkingDir: root,
    entryPoints: { sdk: 'src/sdk/index.ts', staff: 'src/sdk/staff.ts', files: 'src/sdk/files.ts' },
    outdir: out,
    bundle: true,
    splitting: true,
    chunkNames: 'shared-[hash]',
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
  });
  const config = join(out, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: '../../src',
    outDir: '.',
    lib: ['es2024', 'dom'],
    types: [],
  };
  const files = ['../../src/sdk/index.ts', '../../src/sdk/staff.ts', '../../src/sdk/files.ts'];
  writeFileSync(
    config,
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: [], files }),
  );
  try {
    await promisify(execFile)(process.execPath, [
      join(root, 'node_modules/typescript/bin/tsc'),
      '-p',
      config,
    ]);
  } finally {
    rmSync(config);
  }
  // The package ships no .ts files, so its types must not import any.
  for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.d.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(from '\.[^']*)\.ts'/g, "$1.js'"));
  }
}

/**
 * Puts the package's own command into node_modules/.bin, as npm does for every other package. With the
 * "package" line of .npmrc, `npx deskbell` then runs it from there, without npm's cache and the network.
 */
function linkCommand() {
  const folder = join(root, 'node_modules/.bin');
  mkdirSync(folder, { recursive: true });
  if (process.platform === 'win32') {
    writeFileSync(join(folder, 'deskbell.cmd'), '@node "%~dp0\\..\\..\\bin\\deskbell.js" %*\r\n');
    return;
  }
  const fresh = join(folder, `.deskbell-${process.pid}`);
  symlinkSync('../../bin/deskbell.js', fresh);
  renameSync(fresh, join(folder, 'deskbell'));
}

/** An installation without development packages, or a container layer before the sources, has nothing to build with or from. */
function canBuild() {
  return ['node_modules/esbuild', 'node_modules/terser', 'src/cli/main.ts'].every((path) =>
    existsSync(join(root, path)),
  );
}

async function run(flag) {
  if (flag === '--sdk') return buildSdk(await import('esbuild'));
  if (flag !== undefined && flag !== '--prepare') throw new Error(`unknown flag ${flag}`);
  if (flag === undefined || canBuild()) await build(await import('esbuild'));
  if (flag === '--prepare' && existsSync(join(root, 'node_modules'))) linkCommand();
}

const isProgram = process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename;
if (isProgram) await run(process.argv[2]);

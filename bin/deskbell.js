#!/usr/bin/env node
// Owns: the first thing that runs. Refuses a Node that Deskbell cannot run on with one sentence,
// keeps new files private, then hands over to the bundle. Must not hold anything else, and must
// parse on any Node: no import statement, no syntax newer than `import()`.

// The database driver crashes without a word on older Nodes, and CVE-2026-21710 lets one request
// header stop a server below these versions. Odd lines get no fixes. Keep "engines" in agreement.
var FLOORS = { 22: [22, 2], 24: [14, 1] };
var FIRST_NEWER_LINE = 26;

var parts = process.versions.node.split('.').map(Number);
var floor = FLOORS[parts[0]];
var usable = parts[0] >= FIRST_NEWER_LINE
  || (floor !== undefined && (parts[1] > floor[0] || (parts[1] === floor[0] && parts[2] >= floor[1])));

function fail(sentence) {
  process.stderr.write(sentence + '\n');
  process.exitCode = 1;
}

/** Keeps compiled code between runs, a third of a short command's time; in a folder of the user's own,
 *  since whoever can write there decides what is run. Without a home there is simply no cache. */
function keepCompiledCode() {
  var os = process.getBuiltinModule('os');
  var path = process.getBuiltinModule('path');
  try {
    var caches = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
    // A home may be named that does not exist (service accounts): it is not ours to make.
    if (process.getBuiltinModule('fs').existsSync(path.dirname(caches))) {
      process.getBuiltinModule('module').enableCompileCache(path.join(caches, 'deskbell'));
    }
  } catch (error) {
    if (error.code !== 'ERR_SYSTEM_ERROR') throw error;
  }
}

if (usable) {
  // Before anything can make a file: the database would be born readable for everyone.
  process.umask('077');
  keepCompiledCode();
  import('../dist/cli.mjs').then(
    function (cli) {
      return cli.main(process.argv.slice(2)).then(function (code) { process.exitCode = code; });
    }
  ).catch(function (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND' && /dist[/\\]cli\.mjs$/.test(String(error.url))) {
      fail('Deskbell is not built yet: run "npm run build" in this folder, then try again.');
    } else {
      fail(error.stack || String(error));
    }
  });
} else {
  fail('Deskbell needs Node.js 22.22.2 or newer of the 22 line, 24.14.1 or newer of the 24 line, or 26 and later, and this is '
    + process.versions.node + ': install one from https://nodejs.org, or try "npx -p node@24 -p deskbell deskbell".');
}

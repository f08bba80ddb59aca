#!/usr/bin/env node
// Owns: the first thing that runs. On a Node that Deskbell cannot run on, it starts the checkout's own
// Node, or says in one sentence what is needed. Otherwise it keeps new files private and loads the bundle.
// Must not hold anything else, and must parse on any Node: no import statement, no syntax newer than `import()`.

// The database driver crashes without a word on older Nodes, and CVE-2026-21710 lets one request
// header stop a server below these versions. Odd lines get no fixes. Keep "engines" in agreement.
var FLOORS = { 22: [22, 2], 24: [14, 1] };
var FIRST_NEWER_LINE = 26;

var parts = process.versions.node.split('.').map(Number);
var floor = FLOORS[parts[0]];
var usable =
  parts[0] >= FIRST_NEWER_LINE ||
  (floor !== undefined && (parts[1] > floor[0] || (parts[1] === floor[0] && parts[2] >= floor[1])));

function fail(sentence) {
  process.stderr.write(sentence + '\n');
  process.exitCode = 1;
}

/** Keeps compiled code between runs, a third of a short command's time; in a folder of the user's own,
 *  since a user who can write there decides what is run. Without a home there is no cache. */
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

/** What is loaded stays: room in which new objects would die young is of no use while it is loaded, and is never given
 *  back. From the first second on it grows again as it is needed. */
function keepYoungSpaceSmall() {
  var v8 = process.getBuiltinModule('v8');
  v8.setFlagsFromString('--semi-space-growth-factor=1');
  setTimeout(function () {
    v8.setFlagsFromString('--semi-space-growth-factor=2');
  }, 1000).unref();
}

/** The command of this command line; these two options alone may stand before it. */
function command() {
  var words = process.argv.slice(2);
  while (/^--(json$|data(=|$))/.test(words[0])) words.splice(0, words[0] === '--data' ? 2 : 1);
  return words[0];
}

/** A backup loads, reads and checks a lot: a server beside it comes first. This thread gives way, and the threads that it
 *  starts from here on. What is written in idle time gives way further. */
function giveWay() {
  var os = process.getBuiltinModule('os');
  try {
    os.setPriority(os.constants.priority.PRIORITY_LOW);
  } catch (error) {
    // Where it may not be set, the backup is made all the same.
    void error;
  }
}

/** The Node that `npm ci` puts into a checkout; null in an installed package, which has none. */
function checkoutNode(fs, path) {
  try {
    var root = path.dirname(path.dirname(fs.realpathSync(process.argv[1])));
    var node = fs.realpathSync(
      path.join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    );
    // The one that runs already, if it were too old itself, would start itself for ever.
    return node === fs.realpathSync(process.execPath) ? null : node;
  } catch (error) {
    void error;
    return null;
  }
}

/** Runs the same command line on another Node: its streams are these, its end becomes the end of this process. */
function runOn(node, spawn) {
  var child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  var forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK'];
  var onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  function forward(signal) {
    // Ctrl-C on a terminal reaches both processes; a second SIGINT would mean "end at once".
    if (signal !== 'SIGINT' || !onTerminal) child.kill(signal);
  }
  forwarded.forEach(function (signal) {
    process.on(signal, forward);
  });
  child.on('error', function (error) {
    fail(
      'The Node.js of this folder (' +
        node +
        ') cannot be started: ' +
        error.message +
        '. Install again: npm ci'
    );
  });
  child.on('exit', function (code, signal) {
    forwarded.forEach(function (name) {
      process.removeListener(name, forward);
    });
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}

function refuse() {
  fail(
    'Deskbell needs Node.js 22.22.2 or newer of the 22 line, 24.14.1 or newer of the 24 line, or 26 and later, and this is ' +
      process.versions.node +
      ': install one from https://nodejs.org, or try "npx -p node@24 -p deskbell deskbell".'
  );
}

if (usable) {
  // Before anything can make a file: the database would be born readable for everyone.
  process.umask('077');
  if (command() === 'backup') giveWay();
  keepCompiledCode();
  keepYoungSpaceSmall();
  import('../dist/cli.mjs')
    .then(function (cli) {
      return cli.main(process.argv.slice(2)).then(function (code) {
        process.exitCode = code;
      });
    })
    .catch(function (error) {
      if (error.code === 'ERR_MODULE_NOT_FOUND' && /dist[/\\]cli\.mjs$/.test(String(error.url))) {
        fail('Deskbell is not built yet: run "npm run build" in this folder, then try again.');
      } else {
        fail(error.stack || String(error));
      }
    });
} else {
  Promise.all([import('fs'), import('path'), import('child_process')])
    .then(function (modules) {
      var node = checkoutNode(modules[0].default, modules[1].default);
      if (node === null) refuse();
      else runOn(node, modules[2].default.spawn);
    })
    .catch(refuse);
}

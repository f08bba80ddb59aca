// The page on which members manage their sign-in: passkeys, authenticator, recovery codes, sessions. Its script is built
// from widget/security and served with the other files of browsers.

export const securityPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Sign-in security</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="security.css">
<main>
  <noscript>This page needs JavaScript: passkeys are made by the browser.</noscript>
</main>
<script type="module" src="security.js"></script>
</html>
`;

export const securityStyle = `:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #fff; --well: #f6f8fa; --link: #0a58ca; --on-link: #fff; --alarm: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b1; --line: #30363d; --paper: #0d1117; --well: #161b22; --link: #6cb6ff; --on-link: #0d1117; --alarm: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
main { max-width: 40rem; margin: 0 auto; padding: 3rem 1rem; }
h1 { margin: 0; font-size: 1.6rem; line-height: 1.2; }
h2 { margin: 0 0 .25rem; font-size: 1.1rem; }
p { margin: .5rem 0; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: start; justify-content: space-between; }
section { margin-top: 1.5rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
form { display: grid; gap: .75rem; margin-top: 1rem; max-width: 24rem; }
label { display: grid; gap: .25rem; font-weight: 600; }
input, button { font: inherit; color: inherit; padding: .5rem .75rem; border: 1px solid var(--soft); border-radius: .4rem; background: var(--paper); min-height: 2.75rem; }
button { cursor: pointer; background: var(--well); }
button.main { background: var(--link); border-color: var(--link); color: var(--on-link); font-weight: 600; }
button.link { border: 0; padding: 0; background: none; color: var(--link); text-decoration: underline; }
button:disabled { opacity: .6; cursor: default; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code { font: .95em/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
ul { margin: .75rem 0; padding: 0; list-style: none; }
.list li { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; padding: .75rem 0; border-bottom: 1px solid var(--line); }
.list strong { overflow-wrap: anywhere; }
.buttons { display: flex; flex-wrap: wrap; gap: .5rem; }
.soft { color: var(--soft); }
.soft, .list .soft { font-size: .9rem; }
.or { margin: 1rem 0 0; color: var(--soft); }
.note { padding: .5rem .75rem; background: var(--well); border-left: 3px solid var(--link); }
.problem { margin: 0; color: var(--alarm); }
.problem:empty { display: none; }
.codes { padding: 1rem; border: 1px solid var(--link); border-radius: .4rem; background: var(--well); }
.codes ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr)); gap: .25rem 1rem; }
.qr { display: block; width: 13rem; max-width: 100%; background: #fff; border-radius: .4rem; shape-rendering: crispEdges; }
.qr path { fill: #000; }
dialog { width: min(28rem, calc(100vw - 2rem)); padding: 1.5rem; border: 1px solid var(--line); border-radius: .6rem; color: var(--ink); background: var(--paper); }
dialog::backdrop { background: rgb(0 0 0 / .5); }
@media (max-width: 30rem) { main { padding-top: 1.5rem; } }
`;

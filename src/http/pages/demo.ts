// The page of `deskbell demo`: a small made-up tea shop with the real widget on it, embedded the way a customer would.
// Served by the demo only.

/**
 * @param appId the demo's application
 * @returns the page for /demo and the script for /demo.js, which it loads
 */
export function demoPage(appId: string): { readonly html: string; readonly script: string } {
  return { html: page(appId), script };
}

interface Product {
  readonly name: string;
  readonly note: string;
  readonly price: string;
  readonly colours: readonly [string, string, string];
}

const products: readonly Product[] = [
  {
    name: 'Morning Harbour',
    note: 'Black tea, malt and a little smoke',
    price: '€ 9.80',
    colours: ['#8a3b12', '#d98e4a', '#f6e3cf'],
  },
  {
    name: 'Slow Meadow',
    note: 'Camomile, lemon balm, linden',
    price: '€ 8.40',
    colours: ['#b7861b', '#ead07a', '#faf3d9'],
  },
  {
    name: 'North Window',
    note: 'Green tea from a cool spring',
    price: '€ 11.20',
    colours: ['#2f6b4f', '#8fc1a3', '#e4f1e9'],
  },
  {
    name: 'Late Garden',
    note: 'Rose, hibiscus, dried apple',
    price: '€ 9.20',
    colours: ['#9c2f52', '#e08aa4', '#fae4ea'],
  },
  {
    name: 'Stone Cup',
    note: 'Thrown by hand, holds 240 ml',
    price: '€ 24.00',
    colours: ['#4b5563', '#a8b1bd', '#eceff3'],
  },
  {
    name: 'Everyday Pot',
    note: 'Cast iron, keeps an hour',
    price: '€ 62.00',
    colours: ['#26323f', '#5d7186', '#dfe6ee'],
  },
];

function card({ name, note, price, colours: [dark, middle, light] }: Product): string {
  return `<li class="card">
<svg viewBox="0 0 200 150" aria-hidden="true"><rect width="200" height="150" fill="${light}"/><ellipse cx="100" cy="128" rx="58" ry="7" fill="${dark}" opacity=".18"/><path d="M58 62h76v30a34 34 0 0 1-34 34h-8a34 34 0 0 1-34-34z" fill="${middle}"/><path d="M134 70h8a15 15 0 0 1 0 30h-10" fill="none" stroke="${middle}" stroke-width="8"/><ellipse cx="96" cy="62" rx="38" ry="8" fill="${dark}"/><path d="M84 44c-6-8 6-12 0-20M104 44c-6-8 6-12 0-20" fill="none" stroke="${dark}" stroke-width="4" stroke-linecap="round" opacity=".45"/></svg>
<h3>${name}</h3><p>${note}</p><div class="buy"><b>${price}</b><button type="button" class="add">Add to basket</button></div></li>`;
}

const style = `
  :root { color-scheme: light; --ink: #22302a; --soft: #5d6b64; --leaf: #1f5a43; --paper: #fbfaf6; --line: #e3e0d6; }
  * { box-sizing: border-box; }
  body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
  .wrap { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
  header .wrap { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; padding-block: 1rem; }
  header { border-bottom: 1px solid var(--line); background: #fff; }
  .brand { font: 700 1.35rem/1 Georgia, serif; letter-spacing: .01em; color: var(--leaf); text-decoration: none; margin-right: auto; }
  nav a { color: var(--ink); text-decoration: none; padding: .4rem .6rem; }
  nav a:hover { text-decoration: underline; }
  .basket { font-weight: 600; }
  .hero { display: grid; gap: 1rem; padding-block: 3.5rem 2.5rem; }
  .hero > * { max-width: 38rem; }
  h1 { margin: 0; font: 700 clamp(2rem, 5vw, 3.2rem)/1.1 Georgia, serif; }
  .hero p { margin: 0; font-size: 1.15rem; color: var(--soft); }
  button { font: inherit; cursor: pointer; border: 1px solid var(--leaf); border-radius: .5rem; padding: .5rem .9rem; background: #fff; color: var(--leaf); }
  button:hover { background: #eef5f1; }
  .main { background: var(--leaf); color: #fff; padding: .75rem 1.25rem; font-weight: 600; justify-self: start; }
  .main:hover { background: #174834; }
  ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
  .card { background: #fff; border: 1px solid var(--line); border-radius: .9rem; overflow: hidden; display: flex; flex-direction: column; }
  .card svg { display: block; width: 100%; }
  .card h3 { margin: .9rem 1rem 0; font: 700 1.1rem/1.3 Georgia, serif; }
  .card p { margin: .2rem 1rem .9rem; color: var(--soft); font-size: .95rem; }
  .buy { margin: auto 1rem 1rem; display: flex; align-items: center; justify-content: space-between; }
  .note { margin: 2.5rem 0 6rem; padding: 1.25rem; border: 1px dashed #a9b8b0; border-radius: .9rem; background: #f3f7f4; }
  .note h2 { margin: 0 0 .3rem; font-size: 1.05rem; }
  .note p { margin: 0 0 .8rem; color: var(--soft); }
  .try { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
  select { font: inherit; padding: .5rem; border: 1px solid var(--leaf); border-radius: .5rem; background: #fff; color: var(--leaf); }
`;

function page(appId: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kettle &amp; Leaf</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<style>${style}</style>
</head>
<body>
<header><div class="wrap"><a class="brand" href="#top">Kettle &amp; Leaf</a><nav aria-label="Shop"><a href="#tea">Tea</a><a href="#tea">Cups</a><a href="#try">About</a></nav><span class="basket" role="status">Basket: 0</span></div></header>
<main id="top">
<div class="wrap hero"><h1>Tea for people who let it steep.</h1><p>Small harvests, plain tins, sent the same day. Not sure which one? We are one message away.</p><button type="button" class="main" id="ask">Ask us about a tea</button></div>
<div class="wrap" id="tea"><ul>${products.map(card).join('\n')}</ul>
<section class="note" id="try"><h2>This shop is made up; the chat on it is real</h2><p>It is Deskbell’s widget, embedded with one tag. Ask how long a delivery takes, or about caffeine, and the assistant answers. Ask for a person, and answer as the operator, in the dashboard whose link stands in your terminal.</p>
<div class="try"><button type="button" data-theme="light">Light</button><button type="button" data-theme="dark">Dark</button><label>Language <select id="language"><option>en</option><option>ar</option><option>de</option><option>es</option><option>fr</option><option>it</option><option>nl</option><option>pl</option><option>pt</option></select></label></div></section></div>
</main>
<script async src="/widget.js" data-app-id="${appId}"></script>
<script type="module" src="/demo.js"></script>
</body>
</html>
`;
}

const script = `
const basket = document.querySelector('.basket');
let count = 0;
// The widget's own script may still be on its way: calls wait for it.
window.deskbell ??= function () { (window.deskbell.q ??= []).push(arguments); };
for (const button of document.querySelectorAll('.add')) {
  button.addEventListener('click', () => { basket.textContent = 'Basket: ' + ++count; });
}
document.getElementById('ask').addEventListener('click', () => window.deskbell('open'));
for (const button of document.querySelectorAll('[data-theme]')) {
  button.addEventListener('click', () => window.deskbell('setTheme', button.dataset.theme));
}
const language = document.getElementById('language');
language.addEventListener('change', () => window.deskbell('setLocale', language.value));
`;

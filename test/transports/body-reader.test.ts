// Owns: that no body brings a key `__proto__` past the reader, whatever the schema behind it would do with one.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readBody } from '../../src/http/body-reader.ts';

let server: Server;
let url: string;
beforeAll(async () => {
  const koa = new Koa();
  koa.use(async (ctx) => {
    ctx.body = JSON.stringify(await readBody(ctx));
  });
  const handle = koa.callback();
  server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

it.each([
  ['at the top', '{"a":1,"__proto__":{"admin":true}}', '{"a":1}'],
  ['inside', '{"a":{"b":[{"__proto__":{"admin":true},"c":2}]}}', '{"a":{"b":[{"c":2}]}}'],
  ['written by escapes', '{"a":1,"\\u005f_proto__":{"admin":true}}', '{"a":1}'],
  ['written by escapes alone', '{"\\u005f\\u005fproto\\u005f\\u005f":1}', '{}'],
  ['as a text, which stays', '{"a":"__proto__"}', '{"a":"__proto__"}'],
  ['none, with other escapes', '{"\\u0061":"\\u00e9"}', '{"a":"é"}'],
])('a key __proto__ is left out: %s', async (_where, body, expected) => {
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(url, { method: 'POST', headers, body });
  // As JSON an own key `__proto__` is seen, too.
  expect(await reply.text()).toBe(expected);
});

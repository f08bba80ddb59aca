// Names that customers chose are looked up beside each other: those whose servers never answer keep no one else waiting.
import { lookup, Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createDnsLookup } from '../../src/net/dns-lookup.ts';
import { createSsrfGuard, type ResolvedAddress } from '../../src/net/ssrf-guard.ts';
import { DnsServer } from '../helpers/dns-server.ts';
import { eventually } from '../helpers/eventually.ts';

const dns = new DnsServer();
let address: string;

beforeAll(async () => {
  address = await dns.start();
  dns.known.set('hooks.example', '198.51.100.7');
});
afterAll(() => dns.stop());

type Answer = readonly ResolvedAddress[] | { readonly code: unknown };

const ask = (name: string, resolve = createDnsLookup({ servers: [address] })): Promise<Answer> =>
  new Promise((settle) => {
    resolve(name, (error, found) => settle(error === null ? found : { code: Reflect.get(error, 'code') }));
  });

it('finds what the DNS knows, and says what is wrong where it does not', async () => {
  expect(await ask('hooks.example')).toEqual([{ address: '198.51.100.7', family: 4 }]);
  expect(await ask('nowhere.example')).toEqual({ code: 'ENOTFOUND' });
  expect(await ask(`${'a'.repeat(70)}.example`)).toEqual({ code: 'ENOTFOUND' });
  const hasty = createDnsLookup({ servers: [address], timeoutMs: 50 });
  expect(await ask('a.silent.example', hasty)).toEqual({ code: 'EAI_AGAIN' });
});

it('keeps no one waiting for names whose servers never answer', async () => {
  const resolve = createDnsLookup({ servers: [address], timeoutMs: 60_000 });
  const ended: string[] = [];
  for (let at = 0; at < 80; at += 1) resolve(`name${at}.silent.example`, () => ended.push(`name${at}`));
  await eventually(() => expect(dns.asked).toContain('name79.silent.example'));
  expect(await ask('hooks.example', resolve)).toEqual([{ address: '198.51.100.7', family: 4 }]);
  // Nor who asks in the system's own way, as the clients of the owner's servers do.
  expect((await lookup('localhost')).address).toMatch(/^127\.|^::1$/);
  expect(ended).toEqual([]);
});

it('is how a guard looks names up, unless those of this machine may be reached', async () => {
  const resolve4 = vi.spyOn(Resolver.prototype, 'resolve4').mockResolvedValue(['1.1.1.1', '10.0.0.7']);
  const resolve6 = vi.spyOn(Resolver.prototype, 'resolve6').mockResolvedValue([]);
  const through = (allowPrivate: boolean, name: string): Promise<unknown> =>
    new Promise((settle) => {
      createSsrfGuard(allowPrivate).lookup(name, { all: true }, (error, found) => settle(error ?? found));
    });
  try {
    expect(await through(false, 'hooks.example')).toEqual([{ address: '1.1.1.1', family: 4 }]);
    expect(resolve4).toHaveBeenCalledTimes(1);
    expect(await through(true, 'localhost')).toContainEqual({
      address: expect.stringMatching(/^127\.|^::1$/),
      family: expect.any(Number),
    });
    expect(resolve4).toHaveBeenCalledTimes(1);
  } finally {
    resolve4.mockRestore();
    resolve6.mockRestore();
  }
});

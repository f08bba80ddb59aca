// Attacks the caller's address: forged and malformed forwarded headers, other ways to write one address.

import { describe, expect, it } from 'vitest';
import { clientAddress } from '../../src/net/client-address.ts';
import { addressKey, isLoopbackAddress } from '../../src/net/ip-ranges.ts';

describe('callerAddress', () => {
  it.each([
    ['10.0.0.1', '1.2.3.4', 0, '10.0.0.1'],
    ['10.0.0.1', undefined, 1, '10.0.0.1'],
    ['10.0.0.1', '1.2.3.4', 1, '1.2.3.4'],
    ['10.0.0.1', '1.2.3.4, 5.6.7.8', 1, '5.6.7.8'],
    ['10.0.0.1', '9.9.9.9, 1.2.3.4, 5.6.7.8', 2, '1.2.3.4'],
    ['10.0.0.1', '1.2.3.4', 2, '10.0.0.1'],
    ['10.0.0.1', '', 1, '10.0.0.1'],
    ['10.0.0.1', '1.2.3.4,', 1, '10.0.0.1'],
    ['10.0.0.1', '1.2.3.4, , 5.6.7.8', 2, '10.0.0.1'],
    ['10.0.0.1', '1.2.3.4, unknown', 1, '10.0.0.1'],
    ['10.0.0.1', '5.6.7.8, 01.2.3.4', 1, '10.0.0.1'],
    ['10.0.0.1', '1.2.3', 1, '10.0.0.1'],
    ['10.0.0.1', '[1.2.3.4]', 1, '10.0.0.1'],
    ['10.0.0.1', 'localhost', 1, '10.0.0.1'],
    ['10.0.0.1', '1.2.3.4\n', 1, '1.2.3.4'],
    ['10.0.0.1', '1.2.3.4:5678', 1, '1.2.3.4'],
    ['10.0.0.1', '[2001:DB8::1]:443', 1, '2001:db8::1'],
    ['10.0.0.1', '2001:db8:0:0:0:0:0:1', 1, '2001:db8::1'],
    ['10.0.0.1', '::ffff:1.2.3.4', 1, '1.2.3.4'],
    ['10.0.0.1', '::ffff:102:304', 1, '1.2.3.4'],
    ['::ffff:10.0.0.1', undefined, 0, '10.0.0.1'],
    ['fe80::1%eth0', undefined, 0, 'fe80::1'],
    [undefined, '1.2.3.4', 0, 'unknown'],
    [undefined, '1.2.3.4', 1, '1.2.3.4'],
    ['10.0.0.1', '1.2.3.4', -1, '10.0.0.1'],
    ['10.0.0.1', '1.2.3.4', 0.5, '10.0.0.1'],
    ['10.0.0.1', '1.2.3.4', Number.NaN, '10.0.0.1'],
  ] as const)('socket %s, forwarded %j, %s proxies: %s', (socket, forwarded, hops, expected) => {
    expect(clientAddress(socket, forwarded, hops)).toBe(expected);
  });

  it('reads repeated headers as one list', () => {
    expect(clientAddress('10.0.0.1', ['1.1.1.1', '2.2.2.2, 3.3.3.3'], 1)).toBe('3.3.3.3');
    expect(clientAddress('10.0.0.1', ['1.1.1.1', '2.2.2.2, 3.3.3.3'], 3)).toBe('1.1.1.1');
  });
});

describe('addressKey', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::5:6:7:8:9', '2001:db8:0:5::/64'],
    ['::1', '0:0:0:0::/64'],
    ['unknown', 'unknown'],
  ])('%s counts as %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});

describe('isLoopback', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.255.0.9', true],
    ['::1', true],
    ['0:0:0:0:0:0:0:1', true],
    ['::ffff:127.0.0.1', true],
    ['::ffff:7f00:1', true],
    ['128.0.0.1', false],
    ['0.0.0.0', false],
    ['::', false],
    ['::127.0.0.1', false],
    ['127.0.0.1.evil.com', false],
    ['localhost', false],
    ['', false],
    ['unknown', false],
  ])('%s: %s', (address, expected) => {
    expect(isLoopbackAddress(address)).toBe(expected);
  });
});

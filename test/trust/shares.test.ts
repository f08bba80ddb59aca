// No stranger uses up what a team or a known visitor needs: every limit has a share that others can't take.
import { afterEach, describe, expect, it } from 'vitest';
import type { Flags } from '../../src/config.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;

async function start(flags: Flags = {}): Promise<void> {
  app = await startApp({ flags: { trustProxy: '1', ...flags } });
  acme = await createOrganization(app, 'acme', 'free');
}
afterEach(() => app.stop());

const config = async (address: string): Promise<number> => {
  const headers = {
    'x-app-id': acme.application.id,
    origin: acme.application.origin,
    'x-forwarded-for': address,
  };
  return (await request(app.url, 'GET', '/api/v1/widget/config', headers)).status;
};
const count = (statuses: readonly number[], status: number): number =>
  statuses.filter((one) => one === status).length;

describe('a flood of widget/config', () => {
  it('from one address is cut off, and uses up nothing of the organization', async () => {
    await start({ limitAddressConfig: '10/s,120/m' });
    const member = await createMember(app, 'acme');
    const visitor = createVisitor(app, acme.application);
    const flood: number[] = [];
    const staff: number[] = [];
    // Sixteen a second for a minute: more than the plan's 600.
    for (let second = 0; second < 60; second += 1) {
      flood.push(...(await Promise.all(Array.from({ length: 16 }, () => config('203.0.113.7')))));
      staff.push((await member.call('GET', '/conversations')).status);
      app.clock.advance(1_000);
    }
    expect([count(flood, 200), count(flood, 429)]).toEqual([120, 840]);
    expect(count(staff, 200)).toBe(60);
    expect((await visitor.call('GET', '/conversations')).status).toBe(200);
    expect(await config('203.0.113.8')).toBe(200);
  });
});

describe('a flood of fresh visitor ids', () => {
  it('from many addresses leaves staff a fifth of the plan', async () => {
    await start();
    const member = await createMember(app, 'acme');
    const statuses: number[] = [];
    for (let at = 0; at < 700; at += 1) {
      const stranger = createVisitor(app, acme.application);
      statuses.push(
        (
          await stranger.call('GET', '/conversations', undefined, {
            'x-forwarded-for': `10.1.${at >> 8}.${at & 255}`,
          })
        ).status,
      );
    }
    expect([count(statuses, 200), count(statuses, 429)]).toEqual([480, 220]);
    const staff: number[] = [];
    for (let at = 0; at < 120; at += 1) staff.push((await member.call('GET', '/conversations')).status);
    expect(count(staff, 200)).toBe(120);
  });

  it('leaves visitors who have a conversation their share of the application', async () => {
    await start({ limitApplication: '50/s' });
    const known = createVisitorByKey(app, acme.application);
    await createConversation(known);
    app.clock.advance(1_000);
    const strangers: number[] = [];
    for (let at = 0; at < 60; at += 1)
      strangers.push((await createVisitorByKey(app, acme.application).call('GET', '/conversations')).status);
    expect(count(strangers, 200)).toBe(40);
    const own: number[] = [];
    for (let at = 0; at < 12; at += 1) own.push((await known.call('GET', '/conversations')).status);
    expect([count(own, 200), count(own, 429)]).toEqual([10, 2]);
  });

  it('from one address is cut off before it uses up the application', async () => {
    await start({ limitAddress: '30/s' });
    const statuses: number[] = [];
    for (let at = 0; at < 50; at += 1)
      statuses.push((await createVisitor(app, acme.application).call('GET', '/conversations')).status);
    expect([count(statuses, 200), count(statuses, 429)]).toEqual([30, 20]);
    // By API key an address is the customer's own server.
    expect((await createVisitorByKey(app, acme.application).call('GET', '/conversations')).status).toBe(200);
  });
});

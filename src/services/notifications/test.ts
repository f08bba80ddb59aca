// Tells a member something by every way, on purpose, and says which link of it is broken and what to do.
import type { LimitWindow } from '../../engine/engine.ts';
import type { PushDeviceRow } from '../../engine/rows.ts';
import { isLoopbackHost } from '../../net/ip-ranges.ts';
import { createPushClient, type PushResponse, type SendPush } from '../../net/push-client.ts';
import { createSmtpClient } from '../../net/smtp-client.ts';
import type { NotificationTestResult } from '../../protocol/notifications.ts';
import type { Output } from '../../protocol/operations.ts';
import { accessMember } from '../core/access.ts';
import { notFound, rateLimited } from '../core/errors.ts';
import { automaticHeaders } from '../mail/mail-effects.ts';
import { headerText } from '../mail/header-text.ts';
import { domainOf, mailRoute, noMailServer } from '../mail/mail-server.ts';
import type { MemberCall, ReadTx, Service } from '../service.ts';
import { sendBell } from './bell.ts';
import { readNotifications } from './preferences.ts';
import { sendToDevice } from './push-handler.ts';
import { isQuiet } from './quiet-hours.ts';
import { textIn } from './texts.ts';

const testWindows: readonly LimitWindow[] = [
  { limit: 5, windowMs: 60_000 },
  { limit: 50, windowMs: 24 * 3_600_000 },
];
/** For all ways together. */
const timeoutMs = 20_000;

const clients = new WeakMap<Service, SendPush>();

/** What sends this service's pushes. */
export function pushClientOf(service: Service): SendPush {
  const known = clients.get(service);
  if (known !== undefined) return known;
  const made = createPushClient({ clock: service.engine.clock, hosts: service.settings.pushHosts });
  clients.set(service, made);
  return made;
}

/**
 * Tells the calling member by every way, whatever they have chosen.
 * @throws ServiceError rate_limit_exceeded
 */
export async function testNotifications(call: MemberCall): Promise<Output<'notifications.test'>> {
  const { service, actor } = call;
  const { engine } = service;
  const verdict = await engine.limiter.take([{ key: `notify-test:${actor.memberId}`, windows: testWindows }]);
  if (!verdict.ok) {
    service.metrics.rateLimited.per_address += 1;
    throw rateLimited('per_address', testWindows, verdict.window, verdict.retryAfterMs, 'Too many tests');
  }
  const subject = await engine.store.read((tx) => readSubject(tx, call));
  const timeout = new AbortController();
  const cancel = engine.clock.after(timeoutMs, () => timeout.abort());
  try {
    const [pushes, email, bell] = await Promise.all([
      testPushes(service, subject, timeout.signal),
      testMail(service, subject, timeout.signal),
      testBell(service, subject),
    ]);
    const { quietHours } = readNotifications(subject.member);
    return { results: [...pushes, email, bell], quiet: isQuiet(quietHours, engine.clock.now()) };
  } finally {
    cancel();
  }
}

type Subject = Awaited<ReturnType<typeof readSubject>>;

async function readSubject(tx: ReadTx, { actor }: MemberCall) {
  const member = await accessMember(tx, actor, actor.memberId);
  const organization = await tx.repositories.organizations.byId(member.organization_id);
  if (organization === undefined) throw notFound('organization');
  return { member, organization, devices: await tx.repositories.pushDevices.ofMember(member.id) };
}

async function testPushes(
  service: Service,
  { organization, devices }: Subject,
  signal: AbortSignal,
): Promise<NotificationTestResult[]> {
  if (devices.length === 0) return [{ way: 'push', ok: false, problem: noDevice(service) }];
  return Promise.all(
    devices.map(async (device): Promise<NotificationTestResult> => {
      const response = await sendToDevice(service, pushClientOf(service), {
        device,
        urgency: 'high',
        signal,
        message: {
          title: textIn(device.locale, 'test'),
          body: textIn(device.locale, 'testBody'),
          conversationId: null,
          organization: organization.slug,
        },
      });
      await recordResponse(service, device, response);
      const { id, label } = device;
      return {
        way: 'push',
        device: { id, label },
        ok: response.outcome === 'sent',
        problem: adviceFor(response),
      };
    }),
  );
}

function noDevice(service: Service): string {
  const url = service.settings.baseUrl();
  const host = url === null ? '' : new URL(url).hostname;
  const isSecure = url?.startsWith('https:') === true || isLoopbackHost(host);
  return isSecure
    ? 'no browser of yours is sent pushes: open the page "Notifications" of the dashboard in it, and press "Push in this browser"'
    : 'the dashboard is reached over plain http, where browsers take no pushes: serve it over https and set --base-url';
}

function adviceFor({ outcome, status, error }: PushResponse): string | null {
  const why = error ?? 'the push service refused it';
  switch (outcome) {
    case 'sent':
      return null;
    case 'gone':
      return `${why}: the browser was removed here; press "Push in this browser" there once more`;
    case 'refused':
      return status === 401 || status === 403
        ? `${why}: press "Push in this browser" there once more, so that it is given the present key`
        : why;
    case 'failed':
      return status === null
        ? `${why}: the server must reach the push service on port 443`
        : `${why}: it is not this server's fault; try again later`;
  }
}

async function recordResponse(
  { engine: { store, clock } }: Service,
  { id, organization_id, member_id }: PushDeviceRow,
  { outcome, error }: PushResponse,
): Promise<void> {
  await store.write(
    { organization: organization_id, part: `member:${member_id}` },
    async ({ repositories: { pushDevices } }) => {
      if (outcome === 'sent') await pushDevices.setSent(id, clock.now());
      else if (outcome === 'gone') await pushDevices.remove(id);
      else await pushDevices.setProblem(id, error ?? outcome);
    },
  );
}

async function testMail(
  service: Service,
  { member, organization }: Subject,
  signal: AbortSignal,
): Promise<NotificationTestResult> {
  const { engine } = service;
  const route = await engine.store.read((tx) => mailRoute(service, tx, organization.id));
  if (route === null) return { way: 'email', ok: false, problem: noMailServer };
  const title = textIn(member.locale, 'test');
  const result = await createSmtpClient({ clock: engine.clock })(
    route.server,
    {
      from: { name: headerText(organization.name), address: route.address },
      to: member.email,
      subject: headerText(title),
      text: `${title}\n\n${textIn(member.locale, 'testBody')}\n`,
      messageId: `${engine.clock.newId()}@${domainOf(route.address)}`,
      headers: automaticHeaders,
    },
    signal,
  );
  return {
    way: 'email',
    ok: result.ok,
    problem: result.ok ? null : `the mail server did not take the mail: ${result.error}`,
  };
}

async function testBell(service: Service, { member }: Subject): Promise<NotificationTestResult> {
  const present = await service.engine.presence.present([member.id]);
  if (present.size === 0)
    return {
      way: 'bell',
      ok: false,
      problem: 'no dashboard or console of yours is connected: open one, or look at its connection',
    };
  sendBell(service, member, {
    event: 'test',
    conversationId: null,
    messageId: null,
    name: null,
    minutes: null,
  });
  return { way: 'bell', ok: true, problem: null };
}

// GET /metrics: what the whole server counted, as Prometheus text. For its owner: no organization's credential opens it,
// and no label holds an id or a person.
import { createHash, timingSafeEqual } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type Koa from 'koa';
import type { Context } from 'koa';
import type { Histogram } from '../engine/engine.ts';
import type { Redacted } from '../config.ts';
import { countFailedAuth } from '../services/auth/rate-limits.ts';
import { ServiceError } from '../services/core/errors.ts';
import { noSuchPath } from './responses.ts';
import { isLoopbackAddress, isLoopbackHost } from '../net/ip-ranges.ts';
import type { FilesOverview } from '../services/files/file-store.ts';
import type { Service } from '../services/service.ts';
import { readCredentials, clientAddressOf } from './request.ts';

export const metricsPath = '/metrics';

/** Headers by which a proxy says that it forwards. They can only take a right away. */
const forwardingHeaders = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'forwarded',
  'via',
  'cf-connecting-ip',
  'true-client-ip',
];
const eventLoopResolutionMs = 20;
const nanosecondsPerMs = 1e6;
const nanosecondsPerSecond = 1e9;

/**
 * Counts stored messages and the event loop's delay from now on, and serves everything that is counted.
 * @param config how many proxies in front of the service to believe, and the token that is asked for; without one,
 * callers on this machine are answered
 */
export function serveMetrics(
  service: Service,
  config: { readonly trustProxy: number; readonly metricsToken: Redacted | null },
): Koa.Middleware {
  const { store } = service.engine;
  const delay = monitorEventLoopDelay({ resolution: eventLoopResolutionMs });
  delay.enable();
  store.subscribe(({ events }) => {
    for (const { type, own } of events) if (own && type === 'message:new') service.metrics.messages += 1;
  });
  return async (ctx, next) => {
    if (ctx.path !== metricsPath) {
      await next();
      return undefined;
    }
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', 'GET, HEAD');
      throw new ServiceError('method_not_allowed', `${ctx.method} is not possible here.`);
    }
    if (config.metricsToken !== null)
      await assertToken(service, ctx, config.metricsToken.reveal(), config.trustProxy);
    else if (!isLocalRequest(ctx)) throw noSuchPath();
    const databaseBytes = await service.engine.maintenance.sizeBytes();
    const eventLoopDelaySeconds = p99DelaySeconds(delay);
    delay.reset();
    ctx.type = 'text/plain; version=0.0.4; charset=utf-8';
    const staffOnline = await service.engine.presence.memberCount();
    const files = await service.engine.store.read(({ repositories }) => repositories.files.overview());
    ctx.body = metricsText(service, {
      databaseBytes,
      staffOnline,
      files,
      eventLoopDelaySeconds,
    });
    return undefined;
  };
}

/**
 * By how much the loop was late, 99th percentile; 0 before the first sample.
 * @param samples in nanoseconds, as Node takes them: from one to the next, so that each has the pause between them in it
 */
export function p99DelaySeconds(samples: {
  readonly count: number;
  percentile(percentile: number): number;
}): number {
  if (samples.count === 0) return 0;
  const late = samples.percentile(99) - eventLoopResolutionMs * nanosecondsPerMs;
  return Math.max(0, late) / nanosecondsPerSecond;
}

/**
 * True for a program on this machine that asks this service itself: its socket says so, it used a name of this machine,
 * and no proxy has put a word in. A web page whose name was made to lead here is caught by its Host.
 */
function isLocalRequest(ctx: Context): boolean {
  if (!isLoopbackAddress(ctx.req.socket.remoteAddress ?? '')) return false;
  if (forwardingHeaders.some((name) => ctx.req.headers[name] !== undefined)) return false;
  const host = (ctx.req.headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  return isLoopbackHost(host);
}

/** @throws ServiceError not_found without a credential, unauthorized with another one, rate_limit_exceeded */
async function assertToken(service: Service, ctx: Context, token: string, trustProxy: number): Promise<void> {
  const address = clientAddressOf(ctx, trustProxy);
  const { authorization } = readCredentials(ctx, address);
  if (authorization.length === 0) throw noSuchPath();
  const sent = (authorization[0] ?? '').replace(/^bearer /i, 'Bearer ');
  if (authorization.length === 1 && isSame(sent, `Bearer ${token}`)) return;
  await countFailedAuth(service, address);
  throw new ServiceError('unauthorized', 'The token is not the one in DESKBELL_METRICS_TOKEN.');
}

/** In a time that says nothing of where they differ. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

/** Everything as text in the Prometheus exposition format, version 0.0.4. */
export function metricsText(
  service: Service,
  {
    databaseBytes,
    staffOnline,
    files,
    eventLoopDelaySeconds,
  }: {
    readonly databaseBytes: number;
    readonly staffOnline: number;
    readonly files: FilesOverview;
    readonly eventLoopDelaySeconds: number;
  },
): string {
  const { metrics, engine } = service;
  const { groupSizes, commitMs } = engine.store.stats();
  const logBytes = engine.maintenance.logBytes();
  const requests = [...metrics.requests.keys()]
    .toSorted((one, other) => one.localeCompare(other, 'en'))
    .map((key): Sample => {
      const [method = '', route = '', status = ''] = key.split(' ');
      return [{ method, route, status }, metrics.requests.get(key) ?? 0];
    });
  return [
    metric(
      'deskbell_http_requests_total',
      'counter',
      'Requests answered, by route and class of status.',
      requests,
    ),
    metric(
      'deskbell_http_stalled_answers_total',
      'counter',
      'Connections that were ended because their readers took nothing of an answer for a minute.',
      [[{}, metrics.stalledAnswers]],
    ),
    metric(
      'deskbell_socket_connections',
      'gauge',
      'Open WebSocket connections that were let in.',
      byLabel('kind', metrics.connections),
    ),
    metric(
      'deskbell_socket_frames_total',
      'counter',
      'WebSocket frames received and sent.',
      byLabel('direction', { in: metrics.framesIn, out: metrics.framesOut }),
    ),
    metric('deskbell_messages_stored_total', 'counter', 'Messages stored.', [[{}, metrics.messages]]),
    metric(
      'deskbell_refused_by_limit_total',
      'counter',
      'Requests and messages refused by a limit, by what it was counted against.',
      byLabel('cause', metrics.rateLimited),
    ),
    metric(
      'deskbell_webhook_attempts_total',
      'counter',
      'Webhook deliveries by how the attempt ended; retried ones are tried again.',
      byLabel('outcome', metrics.webhooks),
    ),
    metric(
      'deskbell_outbox_attempts_total',
      'counter',
      'Mails and pushes of the outbox by how the attempt ended; retried ones are tried again.',
      byLabel('outcome', metrics.effects),
    ),
    metric(
      'deskbell_mails_received_total',
      'counter',
      'Mails that came in, by what became of them; astray ones were addressed to no one here.',
      byLabel('outcome', metrics.mails),
    ),
    metric('deskbell_staff_online', 'gauge', 'Members with a live connection to this server.', [
      [{}, staffOnline],
    ]),
    metric('deskbell_files', 'gauge', 'Files that are stored.', [[{}, files.files]]),
    metric('deskbell_file_bytes', 'gauge', 'Bytes of the files that are stored.', [[{}, files.bytes]]),
    metric('deskbell_files_waiting', 'gauge', 'Files that wait for the scanner, and bytes to be removed.', [
      [{ for: 'scanner' }, files.scanning],
      [{ for: 'removal' }, files.removals],
    ]),
    histogram('deskbell_store_group_size', 'Operations that shared one commit.', groupSizes, 1),
    histogram('deskbell_store_commit_seconds', 'Duration of a commit, sync included.', commitMs, 1_000),
    metric('deskbell_database_bytes', 'gauge', 'Size of the database.', [[{}, databaseBytes]]),
    metric(
      'deskbell_database_log_bytes',
      'gauge',
      "Size of the database's write-ahead log.",
      logBytes === null ? [] : [[{}, logBytes]],
    ),
    metric(
      'deskbell_event_loop_delay_p99_seconds',
      'gauge',
      'How late the event loop ran, 99th percentile since it was last asked for.',
      [[{}, eventLoopDelaySeconds]],
    ),
    metric('process_resident_memory_bytes', 'gauge', 'Resident memory of the process.', [
      [{}, process.memoryUsage.rss()],
    ]),
  ].join('');
}

function byLabel(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => [{ [label]: name }, value]);
}

function metric(name: string, type: 'counter' | 'gauge', help: string, samples: readonly Sample[]): string {
  return `${heading(name, type, help)}${samples.map(([labels, value]) => line(name, labels, value)).join('')}`;
}

/** @param perUnit how many of the histogram's units are one of the metric's */
function histogram(name: string, help: string, { bounds, counts, sum }: Histogram, perUnit: number): string {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const bound = bounds[index];
    return line(`${name}_bucket`, { le: bound === undefined ? '+Inf' : String(bound / perUnit) }, total);
  });
  return `${heading(name, 'histogram', help)}${buckets.join('')}${line(`${name}_sum`, {}, sum / perUnit)}${line(`${name}_count`, {}, total)}`;
}

function heading(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, labels: Labels, value: number): string {
  const inside = Object.entries(labels).map(([label, text]) => `${label}="${text.replace(/[\\"\n]/g, '_')}"`);
  return `${name}${inside.length === 0 ? '' : `{${inside.join(',')}}`} ${value}\n`;
}

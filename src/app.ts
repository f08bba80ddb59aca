// The composition root of the server: createApp(config) → start(), stop(). Each
// step remembers how to undo itself; stop() undoes them in reverse, once.
import { createServer, type Server } from 'node:http';
import type { Config, ListenAddress } from './config.ts';
import { describeDatabase } from './engine/open-engine.ts';
import type { MailListener } from './mail/smtp-listener.ts';
import type { PurgeReport } from './protocol/entities.ts';
import { createHttpHandler } from './http/koa-app.ts';
import { createSmtpClient } from './net/smtp-client.ts';
import { createWebhookClient } from './net/webhook-client.ts';
import { refuseConnect, refuseUpgrade, sendClientError } from './http/client-error.ts';
import { readInTurns } from './http/connections.ts';
import { drain } from './http/drain.ts';
import { maxRequestMs } from './http/receive-time.ts';
import { endStalledAnswers } from './http/send-time.ts';
import { createLog, type Log } from './log.ts';
import { openService, type ServiceOverrides } from './open-service.ts';
import { startAutoRelease } from './services/chat/auto-release.ts';
import { startAutoReply } from './services/assistant/auto-reply.ts';
import { startFileJob } from './services/files/file-job.ts';
import { startRemovalJob } from './services/data/begun-removals.ts';
import { completeApplication, completeOrganization } from './services/data/deletion.ts';
import { completeErasure } from './services/data/erasure.ts';
import { startMaintenance } from './services/data/maintenance.ts';
import { startCrawlJob } from './services/assistant/knowledge/crawl/crawl-job.ts';
import { startReindexJob } from './services/assistant/knowledge/reindex.ts';
import { startSearchIndexer } from './services/chat/search.ts';
import { startSnoozeJob } from './services/chat/snooze-job.ts';
import { createMailHandler } from './services/mail/mail-effects.ts';
import { createReplyComposer } from './services/mail/reply-mail.ts';
import { CoveredConversations, createReplyPlanner } from './services/mail/reply-planner.ts';
import { createTranscriptComposer } from './services/mail/transcript.ts';
import { startOutbox } from './services/outbox/outbox.ts';
import type { Service } from './services/service.ts';
import { createEscalationHandler } from './services/notifications/escalation.ts';
import { memberMailComposers } from './services/notifications/member-mails.ts';
import { createNotificationPlanner } from './services/notifications/planner.ts';
import { createPushHandler } from './services/notifications/push-handler.ts';
import { pushClientOf } from './services/notifications/test.ts';
import { startWebhookDelivery } from './services/webhooks/delivery.ts';
import { isSocketUpgrade, SocketServer } from './ws/socket-server.ts';

export interface AppOverrides extends ServiceOverrides {
  readonly log?: Log | undefined;
  /** Serves the demo page under /demo, for `deskbell demo` only. */
  readonly demo?: { readonly appId: string } | undefined;
}

export interface RunningApp {
  readonly url: string;
  readonly port: number;
  /** Where mails are taken; null: nowhere. */
  readonly mailPort: number | null;
  readonly service: Service;
}

export interface App {
  /** Opens the data folder and accepts connections. @throws Error with a sentence for the person who started it */
  start(): Promise<RunningApp>;
  /** Stops accepting, tells the sockets, finishes what is under way, closes the store. Twice is once. */
  stop(): Promise<void>;
}

/** How long a request that is under way may take once the server stops, ms. */
const drainTimeoutMs = 5_000;

export function createApp(config: Config, overrides: AppOverrides = {}): App {
  const undo: (() => Promise<void> | void)[] = [];
  let baseUrl = config.baseUrl;
  let mailPort: number | null = null;
  let stopping: Promise<void> | null = null;
  const log = overrides.log ?? createLog(config.logLevel);

  async function start(): Promise<RunningApp> {
    try {
      // Before the data folder is made or touched: a port that is taken must leave no trace.
      await assertPortFree(config);
      const {
        service,
        cancelModelRequests: withdrawQuestions,
        close,
      } = await openService(config, 'server', () => baseUrl, {
        ...overrides,
        onCheckpointThread: (failure) => logCheckpointThread(log, failure),
        onClockApart: (ms) => logClockApart(log, ms),
        onUnavailable: (why) => logUnavailable(log, why),
        onModelTrouble: (why) => logModelTrouble(log, why),
      });
      undo.push(close);
      for (const startJob of backgroundJobs(service, log))
        undo.push(service.engine.jobs.whileLeading(startJob));
      const http = createHttpHandler({ service, config, log, demo: overrides.demo });
      const server = createServer(
        {
          headersTimeout: 10_000,
          requestTimeout: maxRequestMs,
          keepAliveTimeout: 5_000,
          connectionsCheckingInterval: 5_000,
          requireHostHeader: false,
          // Others are no upgrades to Node, but requests: a client that offers HTTP/2 is answered in HTTP/1.1 (RFC 9110, 7.8).
          shouldUpgradeCallback: isSocketUpgrade,
        },
        http.handle,
      );
      // Node 22 leaves out what comes behind a thousand, such as the address that a proxy has appended. All together take no
      // more than Node's 16 KiB.
      server.maxHeadersCount = 0;
      server.on('clientError', sendClientError);
      readInTurns(server, {
        clock: service.engine.clock,
        mostOfAddress: config.trustProxy === 0 ? 2 * config.maxConnectionsPerAddress : null,
        onRefused: () => {
          service.metrics.rateLimited.per_address += 1;
        },
      });
      // What is expected and not known may be passed over (RFC 9110, 10.1.1); Node's own refusal has not the shape of ours.
      server.on('checkExpectation', http.handle);
      server.on('connect', refuseConnect);
      undo.push(
        endStalledAnswers(server, service.engine.clock, () => {
          service.metrics.stalledAnswers += 1;
        }),
      );
      undo.push(() => drain(server, drainTimeoutMs));
      const sockets = new SocketServer({ service, config, log, refuseUpgrade });
      undo.push(() => sockets.stop());
      sockets.start(server);
      // What requests wait for is over at once, and they are answered; what the assistant was about to say waits for the next start.
      undo.push(withdrawQuestions);
      undo.push(
        service.engine.jobs.whileLeading(() =>
          startAutoReply(service, (error) =>
            log.error({ err: String(error) }, 'the assistant could not answer'),
          ),
        ),
      );
      if (config.mailListen !== null) {
        const listener = await listenForMail(config, config.mailListen, service, log);
        mailPort = listener.port;
        undo.push(() => listener.stop());
      }
      if (config.imapUrl !== null) {
        const url = config.imapUrl.reveal();
        // Loaded only where a mailbox is read.
        const { startMailboxReader } = await import('./mail/mailbox-reader.ts');
        undo.push(service.engine.jobs.whileLeading(() => startMailboxReader({ service, url, log })));
      }
      undo.push(() => http.stopAccepting());
      const port = await listen(server, config);
      const place = config.databaseUrl === null ? config.data : describeDatabase(config.databaseUrl.reveal());
      const url = baseUrl ?? `http://${urlHost(config.host)}:${port}`;
      baseUrl = url;
      log.info({ url: `http://${urlHost(config.host)}:${port}`, data: place }, 'serving');
      undo.push(() => log.info('stopping'));
      return { url: `http://${urlHost(config.host)}:${port}`, port, mailPort, service };
    } catch (error) {
      // Why it did not start is what counts; what the stop met is in the log.
      await stop().catch(() => undefined);
      throw error;
    }
  }

  function stop(): Promise<void> {
    stopping ??= (async () => {
      let failure: { readonly error: unknown } | null = null;
      for (const step of undo.splice(0).toReversed())
        try {
          await step();
        } catch (error) {
          // What is left is to be stopped all the same, the store before all.
          log.error({ err: String(error) }, 'a part of the server could not be stopped');
          failure ??= { error };
        }
      if (failure !== null) throw failure.error;
    })();
    return stopping;
  }

  return { start, stop };
}

/** Loaded only where mails are taken: no other server needs it. */
async function listenForMail(
  { mailAddress, mailTlsKey, mailTlsCertificate }: Config,
  listen: ListenAddress,
  service: Service,
  log: Log,
): Promise<MailListener> {
  const { startMailListener } = await import('./mail/smtp-listener.ts');
  return startMailListener({
    listen,
    service,
    log,
    tls:
      mailTlsKey === null || mailTlsCertificate === null
        ? null
        : { key: mailTlsKey, certificate: mailTlsCertificate },
    name: mailAddress?.split('@')[1] ?? 'localhost',
  });
}

/** How to start each job that one node does for all; the answer stops it. */
function backgroundJobs(service: Service, log: Log): (() => () => Promise<void> | void)[] {
  const onError =
    (message: string) =>
    (error: unknown): void =>
      log.error({ err: String(error) }, message);
  const send = createWebhookClient({
    clock: service.engine.clock,
    allowPrivate: service.settings.webhookPrivate,
  });
  const covered = new CoveredConversations();
  const smtp = createSmtpClient({ clock: service.engine.clock });
  return [
    () => startMaintenance(service, onError('maintenance failed'), (report) => logPurge(log, report)),
    () =>
      startRemovalJob(
        service,
        {
          visitor: completeErasure,
          application: completeApplication,
          organization: completeOrganization,
        },
        onError('an erasure or deletion that was cut off could not be gone on with'),
      ),
    () => startFileJob(service, onError('files could not be looked after')),
    () => startAutoRelease(service, onError('absent operators could not be looked for')),
    () => startSnoozeJob(service, onError('snoozed conversations could not be woken')),
    () => startSearchIndexer(service, onError('the search index could not be updated')),
    () => startCrawlJob(service, onError('a site could not be read')),
    () => startReindexJob(service, onError('knowledge could not be kept up')),
    () =>
      startOutbox(service, {
        planners: [createNotificationPlanner(service), createReplyPlanner(service, covered)],
        handlers: [
          createMailHandler(service, smtp, {
            ...memberMailComposers(service),
            reply: createReplyComposer(service, covered),
            transcript: createTranscriptComposer(service),
          }),
          createPushHandler(service, pushClientOf(service)),
          createEscalationHandler(service),
        ],
        onError: onError('the outbox could not be run'),
      }),
    () => startWebhookDelivery(service, send, onError('webhooks could not be delivered')),
  ];
}

function logCheckpointThread(log: Log, failure: string | null): void {
  if (failure === null) log.info('the thread that moves the log of the database works again');
  else
    log.warn(
      { why: failure },
      'the thread that moves the log of the database fails, so that messages may wait for it and the file deskbell.db-wal may grow; it is tried again. Look at the limits of threads and memory, and at the disk: deskbell doctor',
    );
}

function logClockApart(log: Log, ms: number): void {
  log.warn(
    { seconds: Math.round(ms / 1_000) },
    'the clocks of this machine and of the database are apart: other servers may refuse the tokens that this one makes, and times are wrong. Set the clocks of all machines right: timedatectl set-ntp true',
  );
}

function logUnavailable(log: Log, why: string | null): void {
  if (why === null) log.info('the database can be used again');
  else
    log.error(
      { why },
      'the database can’t be used: nothing is stored or read, requests are answered 503, and after 15 seconds clients are sent to another server. It is tried again each second. Look at the database and the network to it: deskbell doctor',
    );
}

function logModelTrouble(log: Log, why: string | null): void {
  if (why === null) log.info('the language model answers again');
  else
    log.warn(
      { why },
      'the language model gave no usable answer: visitors are offered a person, and drafts fail. Look at DESKBELL_AI_URL, DESKBELL_AI_MODEL and DESKBELL_AI_KEY: deskbell doctor',
    );
}

/** Logs what was removed, and warns of each organization whose purge waits for a confirmation. */
function logPurge(log: Log, { organizations, total, audit, expiredBackups }: PurgeReport): void {
  const auditEntries = audit.state === 'purged' ? audit.entries : 0;
  if (total.messages + total.conversations + total.visitors + auditEntries + expiredBackups > 0)
    log.info({ ...total, auditEntries, expiredBackups }, 'retention removed what is too old');
  if (audit.state === 'held')
    log.warn(
      { entries: audit.entries },
      'retention would remove more than half of the audit log at once: check the clock, then run deskbell purge --yes',
    );
  for (const { slug, state, live } of organizations) {
    if (state !== 'held') continue;
    log.warn(
      { organization: slug, ...live },
      'retention would remove more than half of the conversations at once: check the clock, then run deskbell purge --yes',
    );
  }
}

/** As it stands in a URL: IPv6 in brackets, a wildcard as the loopback address that reaches it. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function listen(server: Server, { host, port }: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(listenErrorMessage(error, host, port), { cause: error })),
    );
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

function listenErrorMessage(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is taken. Stop what uses it, or choose another with --port.`;
    case 'EACCES':
      return `Port ${port} needs rights that this user does not have. Choose one above 1023 with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine. Choose another with --host.`;
    default:
      return `Listening on ${host}:${port} failed: ${error.message}. Choose another address with --host.`;
  }
}

/** @throws Error what to do, where a server can't listen at the port */
export async function assertPortFree(config: Config): Promise<void> {
  const probe = createServer();
  await listen(probe, config);
  await new Promise((resolve) => probe.close(resolve));
}

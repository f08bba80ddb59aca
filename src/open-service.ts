// Data folder or database → service: the steps that the server and every command share.
// Knows nothing of HTTP, sockets or terminals.
import manifest from '../package.json' with { type: 'json' };
import type { Config } from './config.ts';
import { createSystemClock } from './engine/clock.ts';
import type { Clock, Engine } from './engine/engine.ts';
import { openDatabaseEngine, openEngine, prepareFolder } from './engine/open-engine.ts';
import { openFiles } from './files/open-files.ts';
import { createOpenAiModel } from './llm/openai-client.ts';
import { tellOfTrouble } from './llm/trouble.ts';
import { givenMasterKey, loadMasterKey } from './secret-key.ts';
import { createConfigCache } from './services/core/config-cache.ts';
import { createMetrics } from './services/core/metrics.ts';
import { settlePasswordResets } from './services/auth/password-reset.ts';
import { createSecrets } from './services/auth/secrets.ts';
import { FocusBoard } from './services/notifications/focus.ts';
import type { LanguageModel } from './services/assistant/language-model.ts';
import type { Service } from './services/service.ts';

export { openFiles };

export interface ServiceOverrides {
  readonly clock?: Clock | undefined;
  /** log2 of scrypt's N; tests lower it. */
  readonly passwordCost?: number | undefined;
  /** Told once why the thread fails that moves the database's log into it, and once with null when it works again. */
  readonly onCheckpointThread?: ((failure: string | null) => void) | undefined;
  /** Told how far a server's clock is from the database's, where that is too far, ms. */
  readonly onClockApart?: ((ms: number) => void) | undefined;
  /** Told once why a database that servers share can't be used any more, and once with null when it can again. */
  readonly onUnavailable?: ((why: string | null) => void) | undefined;
  /** Told once why the language model gives no answers, and once with null when it does again. */
  readonly onModelTrouble?: ((why: string | null) => void) | undefined;
  /** Puts something around the engine; tests do. */
  readonly wrapEngine?: ((engine: Engine) => Promise<Engine>) | undefined;
}

export interface OpenedService {
  readonly service: Service;
  /** Ends every question to the language model, now and later. */
  cancelModelRequests(): void;
  close(): Promise<void>;
}

/**
 * Opens the service on its data folder, made where it is missing, or on the database that takes its place.
 * @param as a server holds the folder's lock; a command works beside one
 * @param baseUrl the address of the service, null while it is not known
 * @throws EngineError, SchemaError
 */
export async function openService(
  config: Config,
  as: 'server' | 'command',
  baseUrl: () => string | null,
  overrides: ServiceOverrides = {},
): Promise<OpenedService> {
  const secrets = createSecrets(await masterKey(config), overrides.passwordCost);
  const engineOptions = {
    durability: config.durability,
    clock: overrides.clock ?? createSystemClock(),
    keyCheck: secrets.keyCheck,
    as,
  };
  const opened =
    config.databaseUrl === null
      ? await openEngine({
          ...engineOptions,
          folder: config.data,
          onCheckpointThread: overrides.onCheckpointThread,
        })
      : await openDatabaseEngine({
          ...engineOptions,
          url: config.databaseUrl.reveal(),
          version: manifest.version,
          onClockApart: overrides.onClockApart,
          onUnavailable: overrides.onUnavailable,
        });
  const engine = (await overrides.wrapEngine?.(opened)) ?? opened;
  const closing = new AbortController();
  const model = openModel(config, engine.clock, closing.signal);
  const { onModelTrouble } = overrides;
  const service: Service = {
    engine,
    secrets,
    configCache: createConfigCache(engine.store),
    metrics: createMetrics(),
    focus: new FocusBoard(engine.signals, engine.clock),
    files: await openFiles(config),
    model:
      model === null || onModelTrouble === undefined
        ? model
        : tellOfTrouble(model, engine.clock, onModelTrouble, closing.signal),
    settings: {
      baseUrl,
      rateLimits: {
        visitor: config.limitVisitor,
        application: config.limitApplication,
        addressNew: config.limitAddressNew,
        address: config.limitAddress,
        addressConfig: config.limitAddressConfig,
        addressFailed: config.limitAddressFailed,
        accountFailed: config.limitAccountFailed,
        mailSender: config.limitMailSender,
        mailApplication: config.limitMailApplication,
        mailNew: config.limitMailNew,
        aiVisitor: config.limitAiVisitor,
        aiOrganization: config.limitAiOrganization,
      },
      mail: {
        smtpUrl: () => config.smtpUrl?.reveal() ?? null,
        address: config.mailAddress,
        receives: config.mailListen !== null || config.imapUrl !== null,
      },
      maxPendingPerVisitor: config.maxPendingPerVisitor,
      selfServicePlans: config.selfServicePlans === 'allow',
      auditDays: config.auditDays,
      webhookPrivate: config.webhookPrivate === 'allow',
      pushHosts: config.pushHosts ?? [],
      crawlPrivate: config.crawlPrivate === 'allow',
    },
  };
  const withdrawQuestions = (): void => closing.abort();
  const close = async (): Promise<void> => {
    withdrawQuestions();
    // Their askers have been told that a mail comes.
    await settlePasswordResets(service);
    await engine.close();
    await service.files.close();
  };
  return { service, cancelModelRequests: withdrawQuestions, close };
}

/** With a database there is no folder, and the key comes from the environment alone. */
async function masterKey({ data, databaseUrl, secretKey }: Config): Promise<Uint8Array> {
  if (databaseUrl !== null && secretKey !== null) return givenMasterKey(secretKey);
  await prepareFolder(data);
  return loadMasterKey(data, secretKey);
}

/** The configured model, which is not asked anything yet; null: none is configured. */
export function openModel(
  config: Config,
  clock: Clock = createSystemClock(),
  closing?: AbortSignal,
): LanguageModel | null {
  const { aiUrl, aiModel, aiEmbeddingModel, aiTimeout, aiKey } = config;
  if (aiUrl === null || aiModel === null) return null;
  const timeoutMs = aiTimeout * 1000;
  return createOpenAiModel({
    url: aiUrl,
    model: aiModel,
    embeddingModel: aiEmbeddingModel,
    key: aiKey,
    timeoutMs,
    clock,
    closing,
  });
}

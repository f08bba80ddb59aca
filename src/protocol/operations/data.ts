// What is kept, for how long, who has asked for it, and webhooks.
// Rows of the one table in ../operations.ts; holds no rule.
import { z } from 'zod';
import * as entity from '../entities.ts';
import * as webhook from '../webhooks.ts';
import { done, listOut, operation, organizationRef, ownerPage, page } from './shared.ts';

export const dataOperations = {
  'visitors.export': operation({
    who: 'admin',
    rest: ['GET', '/admin/visitors/:visitorId'],
    input: z.object({ visitorId: entity.uuid, applicationId: entity.uuid.optional(), mode: entity.mode.optional() }),
    output: entity.visitorData,
  }),
  'visitors.erase': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/visitors/:visitorId'],
    input: z.object({ visitorId: entity.uuid, applicationId: entity.uuid.optional(), mode: entity.mode.optional() }),
    output: done.extend({
      /** False when a reader kept the log of the database from being emptied: it is tried again every hour. */
      filesClean: z.boolean(),
      /** Copies of the database from before this erasure, and when they go. */
      copies: z.array(z.object({ name: z.string(), until: entity.timestamp })),
    }),
  }),
  'audit.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/audit'],
    input: z.object({ organization: organizationRef, ...page }),
    output: z.object({ entries: z.array(entity.auditEntry), ...listOut }),
  }),
  'retention.purge': operation({
    who: 'local',
    rest: null,
    input: z.object({ dryRun: z.boolean().default(false), force: z.boolean().default(false) }),
    output: entity.purgeReport,
  }),
  'webhooks.create': operation({
    who: 'admin',
    rest: ['POST', '/admin/webhooks'],
    status: 201,
    envelope: 'webhook',
    input: z.object({ organization: organizationRef, url: webhook.webhookUrl, events: webhook.webhookSelection.default(null) }),
    output: webhook.webhookWithSecret,
  }),
  'webhooks.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/webhooks'],
    input: z.object({ organization: organizationRef, ...ownerPage }),
    output: z.object({ webhooks: z.array(webhook.webhook), ...listOut }),
  }),
  'webhooks.get': operation({
    who: 'admin',
    rest: ['GET', '/admin/webhooks/:webhookId'],
    envelope: 'webhook',
    input: z.object({ webhookId: entity.uuid }),
    output: webhook.webhook,
  }),
  'webhooks.update': operation({
    who: 'admin',
    rest: ['PATCH', '/admin/webhooks/:webhookId'],
    envelope: 'webhook',
    input: z.object({
      webhookId: entity.uuid,
      url: webhook.webhookUrl.optional(),
      events: webhook.webhookSelection.optional(),
      enabled: z.boolean().optional(),
    }),
    output: webhook.webhook,
  }),
  'webhooks.delete': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/webhooks/:webhookId'],
    input: z.object({ webhookId: entity.uuid }),
    output: done,
  }),
  'webhooks.reveal': operation({
    who: 'admin',
    rest: ['POST', '/admin/webhooks/:webhookId/reveal'],
    envelope: 'webhook',
    input: z.object({ webhookId: entity.uuid }),
    output: webhook.webhookWithSecret,
  }),
  'webhooks.test': operation({
    who: 'admin',
    rest: ['POST', '/admin/webhooks/:webhookId/test'],
    envelope: 'delivery',
    input: z.object({ webhookId: entity.uuid }),
    output: webhook.webhookDelivery,
  }),
  'webhooks.deliveries': operation({
    who: 'admin',
    rest: ['GET', '/admin/webhooks/:webhookId/deliveries'],
    input: z.object({ webhookId: entity.uuid, status: webhook.deliveryStatus.optional(), ...page }),
    output: z.object({ deliveries: z.array(webhook.webhookDelivery), ...listOut }),
  }),
  'webhooks.replay': operation({
    who: 'admin',
    rest: ['POST', '/admin/webhooks/:webhookId/deliveries/:deliveryId/replay'],
    envelope: 'delivery',
    input: z.object({ webhookId: entity.uuid, deliveryId: entity.uuid }),
    output: webhook.webhookDelivery,
  }),
} as const;

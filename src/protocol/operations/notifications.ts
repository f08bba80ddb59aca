// The operations of being told: browsers that are sent pushes, what a member wants to be told of, and a test of it.
// Rows of the one table in ../operations.ts; holds no logic.
import { z } from 'zod';
import { locale } from '../application-settings.ts';
import * as entity from '../entities.ts';
import {
  notificationSettings,
  notificationSettingsPatch,
  notificationTestResult,
  pushDevice,
  pushSubscription,
} from '../notifications.ts';
import { defineOperation, name, noInput, successOutput } from './shared.ts';

export const notificationOperations = {
  'push.get': defineOperation({
    summary: 'Get the key that a browser subscribes with, and the own browsers that are sent pushes',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/push'],
    input: noInput,
    output: z.object({
      publicKey: z.string().describe('an applicationServerKey in base64url'),
      devices: z.array(pushDevice),
    }),
  }),
  'push.add': defineOperation({
    summary: 'Have pushes sent to this browser, until the session ends',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/push'],
    status: 201,
    envelope: 'device',
    input: pushSubscription.extend({
      label: name.describe('how people call it, as Firefox on Linux'),
      locale: locale.unwrap().default('en').describe('the language of its notifications'),
    }),
    output: pushDevice,
  }),
  'push.remove': defineOperation({
    summary: 'Send no more pushes to one of the own browsers',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/push/:deviceId'],
    input: z.object({ deviceId: entity.uuid }),
    output: successOutput,
  }),
  'push.rotateKey': defineOperation({
    summary:
      'Make a new key for pushes; browsers that were given an older one keep it until they subscribe again',
    audience: 'Administration',
    errors: [],
    who: 'local',
    rest: null,
    input: noInput,
    output: z.object({ publicKey: z.string() }),
  }),
  'push.check': defineOperation({
    summary: 'Say whether the keys for pushes can be read, and how many browsers use them',
    audience: 'Administration',
    errors: [],
    who: 'local',
    rest: null,
    input: noInput,
    output: z.object({
      keys: z.int().describe('0: none was made yet'),
      devices: z.int(),
      failing: z.int().describe('browsers whose last push did not arrive'),
      problem: z.string().nullable(),
    }),
  }),
  'notifications.get': defineOperation({
    summary: 'Get what the member wants to be told of, and how',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/notifications'],
    envelope: 'notifications',
    input: noInput,
    output: notificationSettings,
  }),
  'notifications.update': defineOperation({
    summary: 'Change what the member wants to be told of, and how; what is left out stays',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['PUT', '/staff/notifications'],
    envelope: 'notifications',
    input: notificationSettingsPatch,
    output: notificationSettings,
  }),
  'notifications.test': defineOperation({
    summary: 'Tell the member something by every way, and say what came of each',
    audience: 'Staff',
    errors: ['rate_limit_exceeded'],
    who: 'operator',
    rest: ['POST', '/staff/notifications/test'],
    input: noInput,
    output: z.object({
      results: z.array(notificationTestResult),
      quiet: z.boolean().describe('whether it is in the quiet hours: nothing is told until they are over'),
    }),
  }),
} as const;

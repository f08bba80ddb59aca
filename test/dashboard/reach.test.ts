// Holds that the settings leave nothing out: every operation of members and admins that REST serves is either called by
// the file that is named here, or belongs to the inbox.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Text } from '../../src/desk/texts.ts';
import { operationNames, operationRow } from '../../src/protocol/operations.ts';
import { repository } from '../helpers/command.ts';

/** Acts on conversations and the queue: the inbox's, through the desk's model. */
const ofTheInbox =
  /^(?:staff\.(?:token|conversations|messages|drafts|ai|members|files)|conversations|visitors\.(?:block|unblock)|views|session\.(?:get|delete))/;

/** Where the settings call an operation: the file below src/dashboard/settings, and what stands in it. */
const called: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'me.get': ['account.tsx', "'/staff/me'"],
  'me.update': ['account.tsx', "rest('PATCH', '/staff/me', body)"],
  'push.get': ['notifications.tsx', "'/staff/push'"],
  'push.add': ['../push.ts', "call('POST', '/push'"],
  'push.remove': ['notifications.tsx', "rest('DELETE', `/staff/push/${id}`)"],
  'notifications.get': ['notifications.tsx', "'/staff/notifications'"],
  'notifications.update': ['notifications.tsx', "'PUT', '/staff/notifications'"],
  'notifications.test': ['notifications.tsx', "'POST', '/staff/notifications/test'"],
  'sessions.list': ['account.tsx', "'/staff/sessions'"],
  'sessions.end': ['account.tsx', "rest('DELETE', `/staff/sessions/${id}`)"],
  'tokens.list': ['account.tsx', "'/staff/tokens'"],
  'tokens.create': ['account.tsx', "'POST', '/staff/tokens'"],
  'tokens.revoke': ['account.tsx', "rest('DELETE', `/staff/tokens/${id}`)"],
  'cannedReplies.list': ['canned.tsx', '`/staff/canned-replies?limit=100&offset='],
  'cannedReplies.create': ['canned.tsx', "rest('POST', '/staff/canned-replies'"],
  'cannedReplies.update': ['canned.tsx', "rest('PATCH', `/staff/canned-replies/${open.id}`"],
  'cannedReplies.delete': ['canned.tsx', "rest('DELETE', `/staff/canned-replies/${reply.id}`)"],
  'tags.list': ['canned.tsx', "'/staff/tags'"],
  'tags.create': ['canned.tsx', "rest('POST', '/staff/tags'"],
  'tags.update': ['canned.tsx', "rest('PATCH', `/staff/tags/${open.id}`"],
  'tags.delete': ['canned.tsx', "rest('DELETE', `/staff/tags/${tag.id}`)"],
  'blocks.list': ['people.tsx', "'/staff/blocks'"],
  'blocks.create': ['people.tsx', "'POST', '/staff/blocks'"],
  'blocks.remove': ['people.tsx', "rest('DELETE', `/staff/blocks/${id}`)"],
  'visitors.export': ['people.tsx', "rest('GET', path)"],
  'visitors.erase': ['people.tsx', "rest('DELETE', path)"],
  'staff.stats': ['statistics.tsx', '/staff/stats?from='],
  'organizations.get': ['organization.tsx', "'/admin/organization'"],
  'organizations.update': ['organization.tsx', "rest('PATCH', '/admin/organization'"],
  'organizations.usage': ['organization.tsx', "'/admin/organization/usage'"],
  'applications.create': ['applications.tsx', "rest('POST', '/admin/applications'"],
  'applications.list': ['applications.tsx', "'/admin/applications'"],
  'applications.get': ['applications.tsx', '(path);\n  const save'],
  'applications.update': ['applications.tsx', "rest('PATCH', path, body)"],
  'applications.delete': ['applications.tsx', "rest('DELETE', path)"],
  'applications.identitySecret': ['applications.tsx', "show('GET')"],
  'applications.rotateIdentitySecret': ['applications.tsx', "show('POST')"],
  'domains.list': ['applications.tsx', 'useRest<DomainList>(path)'],
  'domains.add': ['applications.tsx', "'POST', path, body)"],
  'domains.remove': ['applications.tsx', "rest('DELETE', `${path}/${encodeURIComponent(domain)}`)"],
  'keys.list': ['applications.tsx', '/keys`'],
  'keys.create': ['applications.tsx', 'show(path, body)()'],
  'keys.reveal': ['applications.tsx', '${key.id}/reveal`'],
  'keys.rotate': ['applications.tsx', '${key.id}/rotate`'],
  'keys.revoke': ['applications.tsx', "rest('DELETE', `${path}/${key.id}`)"],
  'members.list': ['members.tsx', "'/admin/members'"],
  'members.add': ['members.tsx', "rest('POST', '/admin/members', body)"],
  'members.invite': ['members.tsx', "'/admin/members/invitations'"],
  'members.update': ['members.tsx', "rest('PATCH', path, { disabled: !disabled })"],
  'members.remove': ['members.tsx', "rest('DELETE', path)"],
  'members.signOut': ['members.tsx', '`${path}/sessions`'],
  'members.resetSecondFactor': ['members.tsx', '`${path}/second-factor`'],
  'audit.list': ['audit.tsx', '/admin/audit?limit='],
  'webhooks.list': ['webhooks.tsx', "'/admin/webhooks'"],
  'webhooks.create': ['webhooks.tsx', "'POST',"],
  'webhooks.get': ['webhooks.tsx', '(path);'],
  'webhooks.update': ['webhooks.tsx', "rest('PATCH', path, eventsOf(body))"],
  'webhooks.delete': ['webhooks.tsx', "rest('DELETE', path)"],
  'webhooks.reveal': ['webhooks.tsx', "showSecret('reveal')"],
  'webhooks.rotate': ['webhooks.tsx', "showSecret('rotate')"],
  'webhooks.endOverlap': ['webhooks.tsx', '/end-overlap`'],
  'webhooks.test': ['webhooks.tsx', '`${path}/test`'],
  'webhooks.deliveries': ['webhooks.tsx', '/deliveries?limit=50`'],
  'webhooks.replay': ['webhooks.tsx', '${one.id}/replay`'],
  'knowledge.list': ['knowledge.tsx', '/admin/knowledge?applicationId='],
  'knowledge.add': ['knowledge.tsx', "rest('POST', '/admin/knowledge', {"],
  'knowledge.addFile': ['knowledge.tsx', 'sendFile(`/admin/knowledge/files?${query}`'],
  'knowledge.crawl': ['crawl.tsx', "rest('POST', '/admin/knowledge/crawls'"],
  'knowledge.crawls': ['crawl.tsx', '/admin/knowledge/crawls?applicationId='],
  'knowledge.getCrawl': ['crawl.tsx', '`/admin/knowledge/crawls/${id}`'],
  'knowledge.cancelCrawl': ['crawl.tsx', '`${path}/cancel`'],
  'applications.preview': ['preview.tsx', '/preview`, body'],
  'knowledge.get': ['knowledge.tsx', '(path);\n  const questions'],
  'knowledge.remove': ['knowledge.tsx', "rest('DELETE', path)"],
  'knowledge.search': ['knowledge.tsx', "'/admin/knowledge/search'"],
  'knowledge.ask': ['knowledge.tsx', "'/admin/knowledge/ask'"],
  'knowledge.synonyms': ['knowledge.tsx', 'useRest<{ synonyms: Synonyms }>(path)'],
  'knowledge.setSynonyms': ['knowledge.tsx', "rest('PUT', path, { synonyms: given })"],
  'knowledge.gaps': ['knowledge.tsx', '/gaps?limit=50`'],
  'knowledge.settleGaps': ['knowledge.tsx', '/gaps/settle`'],
  'knowledge.keepReply': ['knowledge.tsx', '/replies`'],
  'knowledge.keepQuestion': ['knowledge.tsx', '/questions`, {'],
  'knowledge.questions': ['knowledge.tsx', '`${path}/questions`)'],
  'knowledge.forgetQuestion': ['knowledge.tsx', '/questions/${one.id}`'],
  'ai.log': ['knowledge.tsx', '/admin/ai-log?applicationId='],
  'email.get': ['mail.tsx', "useRest<MailState>('/admin/email')"],
  'email.update': ['mail.tsx', "rest('PATCH', '/admin/email', body)"],
  'email.createKey': ['mail.tsx', "'/admin/email/keys'"],
  'email.test': ['mail.tsx', "'/admin/email/test'"],
  'email.deliveries': ['mail.tsx', "'/admin/email/deliveries?limit=50'"],
  'outbox.list': ['mail.tsx', "'/admin/outbox?kind=push&limit=50'"],
  'outbox.replay': ['mail.tsx', '/replay`'],
  // The page /security, which the own account leads to.
  ...Object.fromEntries(
    [
      ['totp.get', "'/me/totp'"],
      ['totp.begin', "'/me/totp'"],
      ['totp.confirm', "'/me/totp/confirm'"],
      ['totp.disable', "'/me/totp/disable'"],
      ['passkeys.list', "'/me/passkeys'"],
      ['passkeys.begin', "'/me/passkeys/options'"],
      ['passkeys.add', "'/me/passkeys'"],
      ['passkeys.rename', '/me/passkeys/'],
      ['passkeys.remove', '/remove`'],
      ['recoveryCodes.create', "'/me/recovery-codes'"],
    ].map(([name = '', text = '']) => [name, ['../../../widget/security/account.ts', text] as const]),
  ),
};

const folder = join(repository, 'src/dashboard/settings');
const members = operationNames.filter((name) => {
  const { who, rest } = operationRow(name);
  return rest !== null && (who === 'operator' || who === 'admin');
});

describe('the settings', () => {
  it('reach every operation of members and admins that is not of the inbox', () => {
    const ownOf = members.filter((name) => name === 'staff.stats' || !ofTheInbox.test(name));
    expect(ownOf.filter((name) => called[name] === undefined)).toEqual([]);
    expect(Object.keys(called).filter((name) => !ownOf.some((one) => one === name))).toEqual([]);
  });

  it.each(Object.entries(called))('call %s', (_name, [file, text]) => {
    expect(readFileSync(join(folder, file), 'utf8')).toContain(text);
  });
});

describe('the languages', () => {
  it.each(['ar', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt'])(
    '%s has every text, with its places and a form for every number',
    async (code) => {
      const { words } = await import(`../../src/dashboard/settings/languages/en.ts`);
      const other: Record<string, Text> = (await import(`../../src/dashboard/settings/languages/${code}.ts`))
        .words;
      const { pluralCategories } = new Intl.PluralRules(code).resolvedOptions();
      const formsOf = (text: Text): readonly string[] =>
        typeof text === 'string' ? [text] : Object.values(text);
      const placesOf = (text: string): string[] => text.match(/\{\w+\}/g)?.toSorted() ?? [];
      for (const [key, text] of Object.entries<Text>(words)) {
        const own = other[key] ?? '';
        for (const form of formsOf(own)) expect(form, key).toMatch(/\S/);
        // A form for one thing may leave the number out, the last one never.
        expect(placesOf(formsOf(own).at(-1) ?? ''), key).toEqual(placesOf(formsOf(text).at(-1) ?? ''));
        expect(typeof own, key).toBe(typeof text);
        if (typeof own === 'string') continue;
        for (const category of pluralCategories.filter(
          (one) => one !== 'many' || ['pl', 'ar'].includes(code),
        ))
          expect(own, key).toHaveProperty(category);
      }
    },
  );
});

// What those may ask who own an organization: its settings, applications, domains, keys, members.
// Rows of the one table in ../operations.ts; holds no rule.
import { z } from 'zod';
import * as entity from '../entities.ts';
import { done, email, listOut, moment, name, nothing, operation, organizationRef, ownerPage, password, settingsPart } from './shared.ts';

export const ownerOperations = {
  'organizations.create': operation({
    who: 'local',
    rest: null,
    input: z.object({ name, slug: z.string().trim().toLowerCase().max(63).optional() }),
    output: entity.organization,
  }),
  'organizations.list': operation({
    who: 'local',
    rest: null,
    input: nothing,
    output: z.object({ organizations: z.array(entity.organizationDetail) }),
  }),
  'organizations.get': operation({
    who: 'admin',
    rest: ['GET', '/admin/organization'],
    envelope: 'organization',
    input: z.object({ organization: organizationRef }),
    output: entity.organizationDetail,
  }),
  'organizations.setPlan': operation({
    who: 'admin',
    rest: null,
    input: z.object({ organization: organizationRef, plan: entity.plan }),
    output: entity.organizationDetail,
  }),
  'organizations.setLimits': operation({
    who: 'admin',
    rest: null,
    input: z.object({ organization: organizationRef, ...entity.organizationLimits.partial().shape }),
    output: entity.organizationDetail,
  }),
  'organizations.update': operation({
    who: 'admin',
    rest: ['PATCH', '/admin/organization'],
    envelope: 'organization',
    input: z.object({
      organization: organizationRef,
      name: name.optional(),
      plan: entity.plan.optional(),
      limits: entity.organizationLimits.partial().optional(),
      releaseAfterMinutes: z.int().min(1).max(1_440).nullable().optional(),
    }),
    output: entity.organizationDetail,
  }),
  'organizations.usage': operation({
    who: 'admin',
    rest: null,
    input: z.object({ organization: organizationRef }),
    output: entity.organizationUsage,
  }),
  'organizations.stats': operation({
    who: 'admin',
    rest: null,
    input: z.object({ organization: organizationRef, from: moment.optional(), to: moment.optional() }),
    output: z.object({ stats: entity.stats }),
  }),
  'organizations.delete': operation({
    who: 'local',
    rest: null,
    input: z.object({ organization: z.string().trim().min(1).max(100) }),
    output: done,
  }),
  'applications.create': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications'],
    status: 201,
    envelope: 'application',
    input: z.object({ organization: organizationRef, name, domains: z.array(z.string()).max(100).default([]) }),
    output: entity.application,
  }),
  'applications.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications'],
    input: z.object({ organization: organizationRef, ...ownerPage }),
    output: z.object({ applications: z.array(entity.application), ...listOut }),
  }),
  'applications.get': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId'],
    envelope: 'application',
    input: z.object({ applicationId: entity.uuid }),
    output: entity.applicationDetail,
  }),
  'applications.configure': operation({
    who: 'admin',
    rest: null,
    input: z.object({
      applicationId: entity.uuid,
      settings: z
        .array(z.object({ path: z.string().min(1).max(100), value: z.unknown() }))
        .min(1)
        .max(50),
    }),
    output: entity.applicationDetail,
  }),
  'applications.update': operation({
    who: 'admin',
    rest: ['PATCH', '/admin/applications/:applicationId'],
    envelope: 'application',
    input: z.object({
      applicationId: entity.uuid,
      name: name.optional(),
      appearance: settingsPart.optional(),
      behavior: settingsPart.optional(),
      ai: settingsPart.optional(),
      locale: z.string().nullable().optional(),
    }),
    output: entity.applicationDetail,
  }),
  'applications.identitySecret': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/identity-secret'],
    input: z.object({ applicationId: entity.uuid }),
    output: z.object({ identitySecret: z.string() }),
  }),
  'applications.rotateIdentitySecret': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/identity-secret'],
    status: 201,
    input: z.object({ applicationId: entity.uuid }),
    output: z.object({ identitySecret: z.string() }),
  }),
  'applications.delete': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/applications/:applicationId'],
    input: z.object({ applicationId: entity.uuid }),
    output: done,
  }),
  'domains.add': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/domains'],
    status: 201,
    envelope: 'domain',
    input: z.object({ applicationId: entity.uuid, domain: z.string().max(300) }),
    output: entity.domain.extend({ warning: z.string().optional() }),
  }),
  'domains.remove': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/applications/:applicationId/domains/:domain'],
    input: z.object({ applicationId: entity.uuid, domain: z.string().max(300) }),
    output: done,
  }),
  'domains.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/domains'],
    input: z.object({ applicationId: entity.uuid, ...ownerPage }),
    output: z.object({ domains: z.array(entity.domain), ...listOut }),
  }),
  'keys.create': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/keys'],
    status: 201,
    envelope: 'key',
    input: z.object({ applicationId: entity.uuid, mode: entity.mode.default('live'), name: name.optional() }),
    output: entity.apiKeyWithSecret,
  }),
  'keys.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/keys'],
    input: z.object({ applicationId: entity.uuid, ...ownerPage }),
    output: z.object({ keys: z.array(entity.apiKey), ...listOut }),
  }),
  'keys.reveal': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/keys/:keyId/reveal'],
    envelope: 'key',
    input: z.object({ keyId: entity.uuid, applicationId: entity.uuid.optional() }),
    output: entity.apiKeyWithSecret,
  }),
  'keys.rotate': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/keys/:keyId/rotate'],
    status: 201,
    envelope: 'key',
    input: z.object({
      applicationId: entity.uuid.optional(),
      keyId: entity.uuid,
      graceSeconds: z
        .int()
        .min(0)
        .max(90 * 86_400)
        .default(86_400),
    }),
    output: entity.apiKeyWithSecret,
  }),
  'keys.revoke': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/applications/:applicationId/keys/:keyId'],
    input: z.object({ keyId: entity.uuid, applicationId: entity.uuid.optional() }),
    output: done,
  }),
  'members.add': operation({
    who: 'admin',
    rest: ['POST', '/admin/members'],
    status: 201,
    envelope: 'member',
    input: z.object({ organization: organizationRef, email, name, role: entity.role, password }),
    output: entity.member,
  }),
  'members.invite': operation({
    who: 'admin',
    rest: ['POST', '/admin/members/invitations'],
    status: 201,
    input: z.object({ organization: organizationRef, email, name, role: entity.role }),
    output: z.object({ member: entity.member, token: z.string(), url: z.string().nullable(), expiresAt: entity.timestamp }),
  }),
  'members.update': operation({
    who: 'admin',
    rest: ['PATCH', '/admin/members/:memberId'],
    envelope: 'member',
    input: z.object({
      memberId: entity.uuid,
      role: entity.role.optional(),
      disabled: z.boolean().optional(),
      password: password.optional(),
    }),
    output: entity.member,
  }),
  'members.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/members'],
    input: z.object({ organization: organizationRef, ...ownerPage }),
    output: z.object({ members: z.array(entity.member), ...listOut }),
  }),
  'members.setRole': operation({
    who: 'admin',
    rest: null,
    input: z.object({ memberId: entity.uuid, role: entity.role }),
    output: entity.member,
  }),
  'members.setPassword': operation({
    who: 'admin',
    rest: null,
    input: z.object({ memberId: entity.uuid, password }),
    output: entity.member,
  }),
  'members.disable': operation({ who: 'admin', rest: null, input: z.object({ memberId: entity.uuid }), output: entity.member }),
  'members.enable': operation({ who: 'admin', rest: null, input: z.object({ memberId: entity.uuid }), output: entity.member }),
  'members.remove': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/members/:memberId'],
    input: z.object({ memberId: entity.uuid }),
    output: done,
  }),
} as const;

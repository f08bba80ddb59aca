// Owns: the synonym lists of the evaluation, as the owner of each application might write
// them from the trade's usual words, before anybody asked. Must not follow the questions.
import type { Synonyms } from '../../../src/protocol/assistant.ts';
import type { ApplicationName } from './question.ts';

export const synonyms: Record<ApplicationName, Synonyms> = {
  teashop: [
    ['delivery', 'shipping', 'shipment', 'postage'],
    ['parcel', 'package', 'box'],
    ['return', 'send back', 'give back'],
    ['refund', 'money back', 'reimbursement'],
    ['voucher', 'coupon', 'promo code'],
    ['gift card', 'gift certificate'],
    ['tea room', 'shop', 'store'],
    ['open', 'opening hours', 'business hours'],
    ['damaged', 'broken', 'cracked', 'smashed'],
    ['subscription', 'monthly box'],
    ['leaf points', 'loyalty points', 'bonus points', 'reward'],
    ['invoice', 'bill'],
    ['brew', 'steep', 'infuse'],
    ['caffeine', 'theine'],
  ],
  teatrade: [['reseller', 'retailer', 'wholesale customer']],
  bicycles: [
    ['bicycle', 'bike', 'cycle'],
    ['e-bike', 'electric bicycle', 'pedelec'],
    ['flat tyre', 'puncture'],
    ['rent', 'hire', 'borrow'],
    ['deposit', 'security', 'caution money'],
    ['price', 'cost', 'fee', 'charge'],
    ['station', 'branch'],
    ['child seat', 'baby seat'],
    ['stolen', 'theft', 'thief'],
  ],
  timesheets: [
    ['workspace', 'team account', 'organization'],
    ['rate limit', 'throttling', 'requests per minute'],
    ['two-factor', '2FA', 'second factor', 'MFA'],
    ['single sign-on', 'SSO', 'SAML'],
    ['token', 'API key'],
    ['entry', 'time record'],
    ['export', 'download'],
    ['remove', 'delete', 'erase'],
    ['plan', 'subscription', 'tier'],
    ['invoice', 'bill', 'receipt'],
  ],
};

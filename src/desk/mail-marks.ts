// What a message has to do with mail, in words for behind its text: how it came, and how the mail stands by which it went
// out. Pure.
import type { StaffMessage } from '../sdk/staff-types.ts';
import type { DeskText, Say } from './texts.ts';

export interface MailMark {
  readonly text: string;
  /** It calls for an act. */
  readonly bad: boolean;
}

const standings = {
  queued: 'mailWaits',
  sent: 'mailed',
  bounced: 'mailBounced',
} as const satisfies Readonly<Record<NonNullable<StaffMessage['emailed']>['state'], DeskText>>;

/** Nothing for a message that came and stayed in the chat. */
export function mailMarks({ via, emailed }: StaffMessage, say: Say): readonly MailMark[] {
  return [
    ...(via === 'email' ? [{ text: say('cameByMail'), bad: false }] : []),
    ...(emailed === undefined
      ? []
      : [{ text: say(standings[emailed.state]), bad: emailed.state === 'bounced' }]),
  ];
}

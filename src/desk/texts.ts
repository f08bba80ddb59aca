// Owns the sentences that the desk says first, in English. A face may bring them in another language; which one is not known
// here. What is seldom said is in more-texts.ts.
import type { Dictionary, Translate } from '../text/fill-text.ts';
import type { MoreText } from './more-texts.ts';

export { fillText, translator } from '../text/fill-text.ts';
export type { Dictionary, PluralText, Text, Translate, Values } from '../text/fill-text.ts';

/** What the model says while conversations are read and written. */
export const deskTexts = {
  // Who.
  theVisitor: 'the visitor',
  visitorNumber: 'Visitor {id}',
  aColleague: 'A colleague',
  online: '● online',
  offline: '○ offline',
  // What became of it.
  accepted: 'You have the conversation with {name}.',
  acceptedAlready: 'It is accepted already.',
  isClosed: 'It is closed.',
  conversationClosed: 'This conversation is closed.',
  closedByColleague: 'A colleague has closed it.',
  yoursAlready: 'It is already yours.',
  fasterColleague: '{name} was faster.',
  backInQueue: 'It went back to the queue in between.',
  nothingUnread: 'No conversation is unread or waiting.',
  // Messages.
  deleted: 'Deleted.',
  changed: 'Changed.',
  copied: 'Copied.',
  draftIsNote: 'Your draft here is an internal note.',
  draftIsAnswer: 'Your draft here is an answer.',
  tooLong: {
    one: 'Too long by {n} character: shorten it or send it in parts.',
    other: 'Too long by {n} characters: shorten it or send it in parts.',
  },
  closedKeepsDraft: 'This conversation is closed. Your text is kept as a draft.',
  colleagueHasIt: '{name} has this conversation: only notes can be added.',
  fileTooLarge: '{name} is too large: at most {n} MiB.',
  filesTooMany: 'At most {n} files go with one message.',
  fileBlocked: 'Files of this kind can’t be sent: {name}',
  fileEmpty: '{name} is empty.',
  fileRejected: 'Refused: its kind, or what is in it, is not allowed.',
  fileNoSpace: 'The organization’s storage is full: delete what is not needed, or choose a larger plan.',
  fileNotUploaded: 'Not uploaded: the server can’t be reached.',
  fileFailed: 'A file was not uploaded: try again or take it out.',
  messageNotSent: 'A message was not sent: send it again or discard it.',
  messageToNotSent: 'A message to {name} was not sent.',
  // The connection and errors.
  cameByMail: 'by e-mail',
  mailWaits: 'mail waits',
  mailed: 'mailed',
  mailBounced: 'the mail came back',
  begunByMail: 'E-mail',
  continuesEarlier: 'Continues an earlier conversation',
  conversationGone: 'This conversation is not there any more.',
  unreachable: 'The server can’t be reached just now.',
  gone: 'That is not there any more.',
  tooMany: 'Too many requests. Try again in a moment.',
  tooManyFor: 'Too many requests. Try again in {n} s.',
  editWindowOver: 'Only messages of the last 15 minutes can be changed.',
  cancelled: 'The request was cancelled.',
  wentWrong: 'Something went wrong.',
  // Empty: in English the server's own sentence says more.
  mayNot: '',
  unavailable: '',
  notActive: '',
  planLimit: '',
  tooLarge: '',
  modelAway: '',
  modelMissing: '',
  rightsChanged: 'Your rights have changed.',
  sessionEnded: 'Your session has ended. Sign in again; your drafts are kept.',
  signedInAgain: 'Signed in again.',
  connectedAgain: 'Connected again; everything is up to date.',
  // Being notified.
  visitorWaits: 'A visitor is waiting',
  mentionedBy: '{name} mentioned you in a note',
  givenToYou: 'You have been given a conversation',
  snoozeOver: 'The time of a snoozed conversation has come',
  waitsLong: 'No one has accepted a visitor within {n} min',
  notifyTest: 'Notifications work',
  notificationsOn: 'Notifications are on.',
  notificationsOff: 'Notifications are off until you turn them on again.',
  // Menus.
  priorityLow: 'Low',
  priorityNormal: 'Normal',
  priorityHigh: 'High',
  priorityUrgent: 'Urgent',
  writeAnswer: 'write an answer',
} as const satisfies Dictionary;

export type FirstText = keyof typeof deskTexts;
export type DeskText = FirstText | MoreText;
/** How the model says something. */
export type Say = Translate<DeskText>;

// Owns the sentences that the desk says, in English, and how a text's places are filled in. A face may bring them in another
// language; which one is not known here.

/** A text by number, in the categories of Intl.PluralRules; `{n}` is the number. */
export type PluralText = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };
export type Text = string | PluralText;
/** All texts of a part, by key. */
export type Dictionary<K extends string = string> = Readonly<Record<K, Text>>;
export type Values = Readonly<Record<string, string | number>>;
/** @param values take the places of `{name}` in the text; `n` also chooses the plural */
export type Translate<K extends string> = (key: K, values?: Values) => string;

/** A text with its places filled in. @param tag a language tag */
export function fillText(text: Text, tag: string, values: Values = {}): string {
  const chosen =
    typeof text === 'string'
      ? text
      : (text[new Intl.PluralRules(tag).select(Number(values['n'] ?? 0))] ?? text.other);
  return chosen.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) return place;
    return typeof value === 'number' ? new Intl.NumberFormat(tag).format(value) : value;
  });
}

/** How texts of a dictionary are asked for. @param tag the language's tag */
export function translator<K extends string>(dictionary: Dictionary<K>, tag: string): Translate<K> {
  return (key, values) => fillText(dictionary[key], tag, values);
}

/** Everything that the model says, in English. */
export const deskTexts = {
  // Who.
  theVisitor: 'the visitor',
  visitorNumber: 'Visitor {id}',
  aColleague: 'A colleague',
  adminRole: 'admin',
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
  released: 'The conversation with {name} is back in the queue.',
  resolved: 'Resolved: {name}.',
  transferred: '{colleague} has the conversation with {name} now.',
  blocked: 'Blocked: {name}.',
  unblocked: 'Not blocked any more: {name}.',
  tagged: '{name} has the tag “{tag}” now.',
  untagged: 'The tag “{tag}” is taken off {name}.',
  prioritySet: 'Priority of {name}: {priority}.',
  snoozed: 'Snoozed until {time}: {name}.',
  awake: 'Back in the queue: {name}.',
  reopened: 'Open again: you have the conversation with {name}.',
  markedUnread: 'Marked as unread: {name}.',
  notClosed: 'It is not closed.',
  notSnoozed: 'It is not snoozed.',
  bulkDone: { one: '{n} conversation changed.', other: '{n} conversations changed.' },
  bulkRefused: { one: '{n} refused:', other: '{n} refused:' },
  nothingUnread: 'No conversation is unread or waiting.',
  chooseConversation: 'Choose a conversation first.',
  closedAlready: 'It is closed already.',
  notAccepted: 'It is not accepted yet.',
  notAllowed: 'Only its operator or an admin can do that.',
  // Questions.
  askResolve: 'Resolve the conversation with {name}?',
  askResolveMany: { one: 'Resolve {n} marked conversation?', other: 'Resolve {n} marked conversations?' },
  askBlock: 'Block {name}? Their chat closes at once.',
  askDiscard: 'Discard the message that is not sent yet?',
  askDelete: 'Delete this message, for the visitor too?',
  askKeep: 'Keep “{question}” with “{title}”?',
  askQuit: '{what} Quit?',
  yesResolve: 'resolve',
  yesBlock: 'block',
  yesDiscard: 'discard',
  yesDelete: 'delete',
  yesKeep: 'keep',
  yesQuit: 'quit',
  unsentDrafts: {
    one: '{n} draft is unsent and will be here when you come back.',
    other: '{n} drafts are unsent and will be here when you come back.',
  },
  unsentDraft: 'Your draft is unsent and will be here when you come back.',
  unsentDraftTo: 'Your draft to {name} is unsent and will be here when you come back.',
  unsentMessage: 'A message is not sent yet. It is sent when you come back.',
  // Messages.
  chooseMessage: 'Choose a message first.',
  copied: 'Copied.',
  everythingSent: 'Every message is sent.',
  onlyOwn: 'Only your own messages can be changed.',
  deleted: 'Deleted.',
  changed: 'Changed.',
  draftIsNote: 'Your draft here is an internal note.',
  draftIsAnswer: 'Your draft here is an answer.',
  tooLong: {
    one: 'Too long by {n} character: shorten it or send it in parts.',
    other: 'Too long by {n} characters: shorten it or send it in parts.',
  },
  closedKeepsDraft: 'This conversation is closed. Your text is kept as a draft.',
  colleagueHasIt: '{name} has this conversation: only notes can be added.',
  fileTooLarge: '{name} is too large: at most {n} MB.',
  filesTooMany: 'At most {n} files go with one message.',
  fileBlocked: 'Files of this kind can’t be sent: {name}',
  fileEmpty: '{name} is empty.',
  fileRejected: 'Refused: its kind, or what is in it, is not allowed.',
  fileNoSpace: 'The organization’s storage is full: delete what is not needed, or choose a larger plan.',
  fileNotUploaded: 'Not uploaded: the server can’t be reached.',
  fileFailed: 'A file was not uploaded: try again or take it out.',
  fileGone: 'This file is not there any more.',
  fileSaved: 'Saved as {name}.',
  fileOpens: '{name} opens in another program.',
  noFileHere: 'There is no file here.',
  messageNotSent: 'A message was not sent: send it again or discard it.',
  messageToNotSent: 'A message to {name} was not sent.',
  // Mail.
  cameByMail: 'by e-mail',
  mailWaits: 'mail waits',
  mailed: 'mailed',
  mailBounced: 'the mail came back',
  begunByMail: 'E-mail',
  continuesEarlier: 'Continues an earlier conversation',
  askTranscript: 'Mail this conversation, without notes, to {address}?',
  yesTranscript: 'mail it',
  transcriptSent: 'The conversation is on its way to {address}.',
  transcriptRefused:
    'It can’t be mailed: there is no mail server, or this address takes no mails. An admin finds more in the settings.',
  noAddress: 'The visitor has left no e-mail address.',
  // The connection and errors.
  conversationGone: 'This conversation is not there any more.',
  unreachable: 'The server can’t be reached just now.',
  gone: 'That is not there any more.',
  tooMany: 'Too many requests. Try again in a moment.',
  tooManyFor: 'Too many requests. Try again in {n} s.',
  editWindowOver: 'Only messages of the last 15 minutes can be changed.',
  cancelled: 'The request was cancelled.',
  wentWrong: 'Something went wrong.',
  sessionEnded: 'Your session has ended. Sign in again; your drafts are kept.',
  signedInAgain: 'Signed in again.',
  connectedAgain: 'Connected again; everything is up to date.',
  // Being notified.
  visitorWaits: 'A visitor is waiting',
  mentionedBy: '{name} mentioned you in a note',
  givenToYou: 'You have been given a conversation',
  waitsLong: 'A visitor has been waiting for {n} min',
  notifyTest: 'Notifications work',
  notificationsOn: 'Notifications are on.',
  notificationsOff: 'Notifications are off until you turn them on again.',
  // The assistant.
  noteBeforeDraft: 'Your draft here is an internal note: send it or clear it first.',
  noAnswerFound: 'The assistant found no answer in your documents.',
  drafted: 'A draft: read it before you send it.',
  draftedFrom: 'A draft from {titles}: read it before you send it.',
  undoBringsBack: 'Undo brings your text back.',
  planHasNoDrafts: 'This organization’s plan has no drafts by the assistant; premium has.',
  modelSilent: 'The assistant’s model did not answer. Try again in a moment.',
  answerFirst: 'Answer the visitor first, then keep your answer.',
  makeItFit: 'Make it fit for everyone: take out what concerns this visitor alone.',
  kept: 'Kept. Questions like it find the answer from now on.',
  firstLineIsQuestion: 'The first line is the question: write the answer below it.',
  changeOrKeep: 'Change it, or press Enter again to keep it so.',
  mayNamePerson: 'It may name a person: {found}.',
  onlyAdminTeaches: 'Only an admin teaches the assistant.',
  // Menus.
  menuPalette: 'Commands',
  menuTransfer: 'Transfer to',
  menuCanned: 'Canned replies',
  menuGaps: 'Questions without an answer',
  menuLoading: 'Loading…',
  menuNoMatch: 'No match.',
  menuNoCommand: 'No command applies here.',
  menuNoMember: 'There is no other member.',
  menuNoCanned: 'No canned replies yet: deskbell canned set NAME TEXT',
  menuNoGaps: 'The documents answered every question.',
  menuTag: 'Tags',
  menuPriority: 'Priority',
  menuSnooze: 'Snooze until',
  menuViews: 'Views',
  menuNoTag: 'No tag yet. Write one.',
  menuNoTime: 'Write a time: 18:30, 2h, 3d, 1w or 2026-11-24 09:00.',
  tagAdd: 'Add “{tag}”',
  tagTakeOff: 'take off',
  priorityLow: 'Low',
  priorityNormal: 'Normal',
  priorityHigh: 'High',
  priorityUrgent: 'Urgent',
  snoozeHour: 'In one hour',
  snoozeFour: 'In four hours',
  snoozeTomorrow: 'Tomorrow',
  snoozeWeek: 'Next week',
  snoozeOwn: 'Another time…',
  viewSnoozed: 'Snoozed',
  viewUnread: 'Unread',
  viewUrgent: 'Urgent and high',
  viewUntagged: 'Without a tag',
  viewShared: 'shared',
  viewNew: 'New view…',
  viewChange: 'Change “{name}”…',
  viewFirst: 'Put “{name}” first',
  viewDelete: 'Delete “{name}”',
  viewSave: 'Save “{name}”',
  viewSaved: 'Saved: {name}.',
  viewDeleted: 'Deleted: {name}.',
  askDeleteView: 'Delete the view “{name}”?',
  menuViewText: 'View: what it shows = its name',
  menuNoViewText: 'Such as: pending tag:late = Late parcels',
  menuAttach: 'Attach a file',
  menuSaveFile: 'Save which file?',
  menuSavePath: 'Save as',
  menuOpenFile: 'Open which file?',
  menuNoPath: 'Write a path, such as ~/plan.pdf',
  takeOutFile: 'Take out {name}',
  retryFile: 'Upload {name} again',
  attachThis: 'Attach {name}',
  saveHere: 'Save as {name}',
  keepWith: 'keep with: {title}',
  writeAnswer: 'write an answer',
} as const satisfies Dictionary;

export type DeskText = keyof typeof deskTexts;
/** How the model says something. */
export type Say = Translate<DeskText>;
export const inEnglish: Say = translator<DeskText>(deskTexts, 'en');

// What an open conversation needs, in a file of its own: the queue is there before it.
export { ConversationPane } from './conversation-pane.tsx';
export { VisitorDetails } from './visitor-pane.tsx';

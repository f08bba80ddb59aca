// Owns: the row of a new message, for tests that store it past every handler.
import type { NewMessage } from '../../src/engine/repositories/messages.ts';

type Given = Pick<NewMessage, 'id' | 'conversation_id' | 'organization_id' | 'sender_id' | 'created_at'>;

/** A visitor's message of plain text with nothing beside it, but for what is given. */
export function newMessage(given: Given & Partial<NewMessage>): NewMessage {
  return {
    sender_role: 'visitor',
    sender_label: null,
    content: 'text',
    content_format: 'plain',
    content_html: null,
    content_text: null,
    internal: 0,
    choices: null,
    choice: null,
    attachments: null,
    client_message_id: null,
    edited_at: null,
    deleted_at: null,
    ...given,
  };
}

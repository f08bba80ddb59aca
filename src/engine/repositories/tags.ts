// Queries on tags, and on which conversations have them.
import type { TagRow } from '../rows.ts';

/** The tags of an organization, and which conversations have them. */
export interface TagsRepository {
  byId(id: string): Promise<TagRow | undefined>;
  byName(organizationId: string, folded: string): Promise<TagRow | undefined>;
  /** By their folded names. */
  page(organizationId: string, limit: number, offset: number): Promise<TagRow[]>;
  count(organizationId: string): Promise<number>;
  insert(row: TagRow): Promise<number>;
  rename(values: Pick<TagRow, 'id' | 'name' | 'folded'>): Promise<number>;
  remove(id: string): Promise<number>;
  /** The names that a conversation has, by their folded names. */
  ofConversation(conversationId: string): Promise<string[]>;
  /** 0 when the conversation has it already. */
  add(conversationId: string, tagId: string): Promise<number>;
  /** 0 when the conversation does not have it. */
  take(conversationId: string, tagId: string): Promise<number>;
  /** Takes a tag off at most `limit` conversations. */
  takeOffSome(tagId: string, limit: number): Promise<number>;
}

// How a tag is found by its name.
import type { ReadTx } from '../service.ts';

/** Under which a tag is found: letter case makes no other tag. */
export function foldTag(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

/** The ids of tags by name; null: one of them is no tag, so no conversation has them all. */
export async function tagIdsOf(
  tx: ReadTx,
  organizationId: string,
  names: readonly string[],
): Promise<string[] | null> {
  const ids: string[] = [];
  for (const name of new Set(names.map(foldTag))) {
    const row = await tx.repositories.tags.byName(organizationId, name);
    if (row === undefined) return null;
    ids.push(row.id);
  }
  return ids;
}

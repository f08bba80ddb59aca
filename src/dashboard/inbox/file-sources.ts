// Owns files of the browser as the desk's model takes them: pictures are made smaller, then all are uploaded.
import type { FileSource } from '../../desk/composer-files.ts';
import { staffClient } from '../api.ts';

/** The browser's own file behind each, for a small drawing of it. */
const originals = new WeakMap<FileSource, File>();

export function fileSources(files: Iterable<File>): readonly FileSource[] {
  return Array.from(files, (file) => {
    const source: FileSource = {
      name: file.name,
      // A photo is smaller once it is uploaded.
      size: /^image\/(?!gif|svg)/.test(file.type) && file.size > 0 ? null : file.size,
      upload: async (options) => {
        // The first file brings what it needs.
        const [{ uploadFile }, { shrinkPicture }] = await Promise.all([
          import('../../sdk/files.ts'),
          import('../../../widget/shared/shrink-picture.ts'),
        ]);
        return uploadFile(staffClient().fileTarget(), await shrinkPicture(file), options);
      },
    };
    originals.set(source, file);
    return source;
  });
}

/** A small drawing of a picture; null: it is none. */
export async function thumbnailOf(source: FileSource, side: number): Promise<HTMLCanvasElement | null> {
  const file = originals.get(source);
  if (file === undefined) return null;
  const { drawThumbnail } = await import('../../../widget/shared/shrink-picture.ts');
  return drawThumbnail(file, side);
}

/** What a paste or a drop brings: files, where it brings no text to write. */
export function filesOf(data: DataTransfer | null): readonly File[] {
  if (data === null || data.getData('text/plain') !== '') return [];
  return [...data.files];
}

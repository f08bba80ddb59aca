// Owns showing the files of a message, loaded with the first that has any: the widget's own drawing of them.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { drawAttachments } from '../../../widget/shared/draw-attachments.ts';
import type { ShownMessage } from '../../desk/desk-state.ts';
import { freshFile } from '../../desk/file-commands.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { desk } from '../desk.ts';
import { say, locale, t } from '../words.ts';
import './file-look.ts';

/** The place for a picture. */
const picturePlace = { width: 360, height: 320 };

export function Attachments({ message }: { readonly message: ShownMessage }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const { attachments } = message;
  useLayoutEffect(() => {
    ref.current?.replaceChildren(
      ...drawAttachments(attachments, {
        words: {
          open: (name) => t('openPicture', { name: sanitizeLine(name) }),
          download: (name) => t('download', { name: sanitizeLine(name) }),
          gone: say('fileGone'),
        },
        tag: locale.tag,
        place: picturePlace,
        base: desk().model.context.client.fileTarget().address,
        renew: ({ id }) => freshFile(desk().model.context, message, id),
      }),
    );
  }, [attachments]);
  return <div ref={ref} class="attached" />;
}

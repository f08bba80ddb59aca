// Owns the button by which files are chosen.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { desk } from '../desk.ts';
import { IconButton } from '../ui/button.tsx';
import { t } from '../words.ts';
import { handles } from './face.ts';
import { fileSources } from './file-sources.ts';

/** The button for files, with the browser's own field behind it. */
export function Clip({ disabled }: { readonly disabled: boolean }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const { model, keymap } = desk();
  useLayoutEffect(() => {
    handles.composer = { chooseFiles: () => field.current?.click() };
    return () => {
      handles.composer = null;
    };
  }, []);
  return (
    <>
      <input
        ref={field}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          const { files } = event.currentTarget;
          if (files !== null) model.composer.attach(fileSources(files));
          // The same file can be chosen again after it was taken out.
          event.currentTarget.value = '';
        }}
      />
      <IconButton
        icon="clip"
        label={t('cmd_attach')}
        hint={keymap.label('attach', 'composer')}
        disabled={disabled}
        onClick={() => field.current?.click()}
      />
    </>
  );
}

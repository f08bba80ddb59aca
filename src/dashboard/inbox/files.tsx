// Owns the files in the composer, loaded with the first of them: how far each is, taken out again.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ComposerFile } from '../../desk/composer-files.ts';
import type { ComposerState } from '../../desk/composer.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { sizeText } from '../../sdk/shown-files.ts';
import { desk } from '../desk.ts';
import { IconButton } from '../ui/button.tsx';
import { locale, t } from '../words.ts';
import { thumbnailOf } from './file-sources.ts';
import './file-look.ts';

const thumbnailSide = 80;

/** The files that go with what is written. */
export function Files({ composer }: { readonly composer: ComposerState }): JSX.Element | null {
  const { files, leaving, editing, keeping } = composer;
  if (files.length === 0 || editing !== null || keeping !== null) return null;
  return (
    <div class="files">
      <ul role="list" aria-label={t('filesToSend')}>
        {files.map((file) => (
          <File key={file.key} file={file} />
        ))}
      </ul>
      <p class="state" role="status">
        {leaving ? t('uploadWaits') : ''}
      </p>
    </div>
  );
}

function File({ file }: { readonly file: ComposerFile }): JSX.Element {
  const { key, source, size, progress, uploaded, problem, mayRetry } = file;
  const { composer } = desk().model;
  const name = sanitizeLine(file.name);
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    void thumbnailOf(source, thumbnailSide).then((drawn) => {
      if (drawn !== null) place.current?.replaceChildren(drawn);
    });
  }, [source]);
  return (
    <li class={problem === null ? '' : 'failed'}>
      <span class="thumb" aria-hidden="true" ref={place} />
      <span class="what">
        <b>
          <bdi>{name}</bdi>
        </b>
        <small>{problem ?? (size === null ? '' : sizeText(size, locale.tag))}</small>
        {uploaded === null && problem === null ? (
          <progress max={1} value={progress} aria-label={t('uploading', { name })} />
        ) : null}
      </span>
      {problem !== null && mayRetry ? (
        <button type="button" class="link" onClick={() => composer.retryFile(key)}>
          {t('retry')}
        </button>
      ) : null}
      <IconButton icon="close" label={t('takeOut', { name })} onClick={() => composer.removeFile(key)} />
    </li>
  );
}

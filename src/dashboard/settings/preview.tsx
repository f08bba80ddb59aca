// Owns the real widget beside the form: a frame without an origin of its own, which is told the settings as they are written.
// Nothing is saved by it, and nothing that is written in it is sent.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Checkbox } from '../ui/field.tsx';
import { locale } from '../words.ts';
import { Section } from './parts.tsx';
import { problemOf, rest } from './rest.ts';
import { s } from './words.ts';

const afterMs = 300;

export interface PreviewProps {
  readonly applicationId: string;
  /** What was written and is not saved yet, as it would be sent. */
  readonly body: object;
}

/** Whether a message of the frame is of that kind. */
function says(data: unknown, type: string): boolean {
  return typeof data === 'object' && data !== null && 'type' in data && data.type === `deskbell:${type}`;
}

export function Preview({ applicationId, body }: PreviewProps): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  const [isReady, setReady] = useState(false);
  const [open, setOpen] = useState(true);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const hear = ({ data, source }: MessageEvent<unknown>): void => {
      if (source === null || source !== frame.current?.contentWindow) return;
      if (says(data, 'preview-ready')) setReady(true);
    };
    addEventListener('message', hear);
    return () => removeEventListener('message', hear);
  }, []);
  useEffect(() => {
    if (!isReady) return undefined;
    let gone = false;
    const timer = setTimeout(() => {
      rest<{ application: object }>('POST', `/admin/applications/${applicationId}/preview`, body).then(
        ({ application: config }) => {
          if (gone) return;
          setProblem('');
          // Its origin is none, so none can be named.
          frame.current?.contentWindow?.postMessage(
            { type: 'deskbell:preview', config, theme: 'auto', locale: locale.tag, open },
            '*',
          );
        },
        (error: unknown) => {
          if (!gone) setProblem(problemOf(error));
        },
      );
    }, afterMs);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [applicationId, body, isReady, open]);
  return (
    <aside class="preview-pane">
      <Section title="preview" about="previewAbout">
        <iframe ref={frame} title={s('preview')} src="widget-preview" sandbox="allow-scripts" />
        <Checkbox label={s('previewOpen')} checked={open} onChange={setOpen} />
        <p class="problem" role="status">
          {problem}
        </p>
      </Section>
    </aside>
  );
}

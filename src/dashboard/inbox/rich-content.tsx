// Owns showing a message's content: the widget's own drawing of the checked tree, so that no text becomes markup.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { renderContent } from '../../../widget/conversation/rich-text.ts';

export interface RichContentProps {
  readonly content: string;
  readonly format: string;
}

export function RichContent({ content, format }: RichContentProps): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    ref.current?.replaceChildren(...renderContent(content, format));
  }, [content, format]);
  return <div ref={ref} class={`content ${format === 'lexical' ? 'rich' : 'plain'}`} dir="auto" />;
}

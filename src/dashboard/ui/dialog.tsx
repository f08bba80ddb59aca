// Owns what lies over the page: the browser's own dialog, with a title, closed by Escape and by its button.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import css from '../styles/dialog.css';
import { t } from '../words.ts';
import { adopt } from './adopt.ts';
import { Button, IconButton } from './button.tsx';

adopt(css);

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** At the bottom: the buttons. */
  readonly footer?: ComponentChildren;
  readonly class?: string;
}

/** A dialog that is open as long as it is drawn. The focus goes back where it was when it closes. */
export function Dialog({ title, onClose, children, footer, class: more = '' }: DialogProps): JSX.Element {
  const id = useId();
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog !== null && !dialog.open) dialog.showModal();
    return () => {
      if (dialog?.open === true) dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={`dialog ${more}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label={t('close')} onClick={onClose} />
        </header>
        <div class="dialog-content">{children}</div>
        {footer === undefined ? null : <footer>{footer}</footer>}
      </div>
    </dialog>
  );
}

export interface ConfirmProps {
  readonly question: string;
  /** On the button that does it. */
  readonly yes: string;
  readonly danger?: boolean;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** A question for yes or no. Enter says yes, as the keymap has it, unless what it does can't be undone. */
export function Confirm({ question, yes, danger = false, onYes, onNo }: ConfirmProps): JSX.Element {
  return (
    <Dialog
      title={question}
      onClose={onNo}
      class="confirm"
      footer={
        <>
          <Button autofocus={danger} onClick={onNo}>
            {t('cancel')}
          </Button>
          <Button kind={danger ? 'danger' : 'main'} autofocus={!danger} onClick={onYes}>
            {yes}
          </Button>
        </>
      }
    >
      {null}
    </Dialog>
  );
}

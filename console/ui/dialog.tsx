// Windows above the page: a dialog for a question, a drawer for one entry of a list. The browser's own <dialog> keeps the
// focus inside and closes at Esc; then the focus goes back to where it was.
import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useCallback, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { beforeLeaving } from '../base/leaving.ts';
import { t } from '../text/index.ts';
import { Button, IconButton } from './button.tsx';
import { useSending } from './sending.ts';
import { Toasts } from './toast.tsx';

interface WindowProps {
  readonly title: ComponentChildren;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
}

function Window({
  kind,
  title,
  onClose,
  actions,
  note = null,
  children,
}: Omit<WindowProps, 'onClose'> & {
  readonly kind: 'dialog' | 'drawer' | 'dialog wide' | 'dialog required';
  /** null: nobody closes it but its owner. */
  readonly onClose: (() => void) | null;
  /** Said at its lower edge, however long it is. */
  readonly note?: string | null;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    if (element !== null && !element.open) element.showModal();
    return () => {
      element?.close();
      // The dialog has left the document by now, so that the browser gives nothing back.
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={kind}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault(); // it closes when its owner no longer shows it
        onClose?.();
      }}
      onClose={({ currentTarget: element }) => {
        // The browser itself closes it at the second Esc in a row.
        if (element.isConnected && !element.open) element.showModal();
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose?.(); // beside it
      }}
    >
      <div class="window">
        <header>
          <h2 id={id}>{title}</h2>
          {actions}
          {onClose === null ? null : <IconButton icon="close" label={t().common.close} onClick={onClose} />}
        </header>
        <div class="content">{children}</div>
        {note === null ? null : (
          <p class="form-error note" role="alert">
            {note}
          </p>
        )}
      </div>
      <Toasts inWindow />
    </dialog>
  );
}

/** Told by a form that something was changed in it. */
export const Changed = createContext<() => void>(() => undefined);

/** A question in the middle. What would be lost with it is: at first it asks, whatever was to close it. */
export function Dialog({
  wide = false,
  loses = null,
  onClose,
  children,
  ...props
}: WindowProps & {
  readonly wide?: boolean;
  /** Said before it closes. null: nothing is lost until its form was changed. */
  readonly loses?: string | null;
}): JSX.Element {
  const [isChanged, setChanged] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const lost = loses ?? (isChanged ? t().common.unsaved : null);
  const mayLeave = lost === null || isAsked;
  // Before the next event: it may be the one that leaves.
  useLayoutEffect(() => {
    if (lost === null) return undefined;
    return beforeLeaving(() => {
      setAsked(true);
      return !mayLeave;
    });
  }, [lost, mayLeave]);
  const changed = useCallback(() => {
    setChanged(true);
    setAsked(false);
  }, []);
  return (
    <Window
      {...props}
      kind={wide ? 'dialog wide' : 'dialog'}
      onClose={() => (mayLeave ? onClose() : setAsked(true))}
      note={isAsked ? lost : null}
    >
      <Changed.Provider value={changed}>{children}</Changed.Provider>
    </Window>
  );
}

/** A question without which nothing goes on. It covers the page: what stands there is not for whoever comes by. */
export function Required(props: Pick<WindowProps, 'title' | 'children'>): JSX.Element {
  return <Window {...props} kind="dialog required" onClose={null} />;
}

/** One entry, at the side; the list stays behind it. */
export function Drawer(props: WindowProps): JSX.Element {
  return <Window {...props} kind="drawer" />;
}

/** Asks before something that cannot be taken back. `act` may fail: the dialog stays and says why. */
export function Confirm({
  title,
  children,
  action,
  act,
  onClose,
  danger = true,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The verb on the button. */
  readonly action: string;
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly danger?: boolean;
}): JSX.Element {
  const sending = useSending();
  const run = (): Promise<void> =>
    sending.send(async () => {
      await act();
      onClose();
    });
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="prose">{children}</div>
      {sending.error === null ? null : (
        <p class="form-error" role="alert">
          {sending.error}
        </p>
      )}
      <div class="form-actions">
        <Button onClick={onClose}>{t().common.cancel}</Button>
        <Button kind={danger ? 'danger' : 'primary'} busy={sending.busy} onClick={() => void run()}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}

/** The actions of a form in a dialog: leave it, or send it. */
export function FormButtons({
  action,
  busy,
  disabled = false,
  onCancel,
}: {
  readonly action: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
  readonly onCancel: () => void;
}): JSX.Element {
  return (
    <>
      <Button kind="quiet" onClick={onCancel}>
        {t().common.cancel}
      </Button>
      <Button kind="primary" type="submit" busy={busy} disabled={disabled}>
        {action}
      </Button>
    </>
  );
}

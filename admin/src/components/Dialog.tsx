"use client";

import { useEffect, useId, useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { Button } from "@/components/Button";
import { messageOf } from "@/lib/api";

/** A modal dialog of the browser: Escape closes it, focus stays in it and goes back afterwards. Whether it closes is
 * up to `onClose`: there may be a question first. */
export function Dialog({
  title,
  onClose,
  children,
  isWide = false,
  first,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  isWide?: boolean;
  first?: RefObject<HTMLElement | null>; // has the focus when it opens, instead of the first control
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const before = useRef<Element | null>(null); // has the focus again when it is closed
  const id = useId();
  // With the commit that shows it: no key that is pressed then goes to the page.
  useLayoutEffect(() => {
    const dialog = ref.current;
    before.current = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    first?.current?.focus();
    return () => dialog?.close();
  }, [first]);
  // After the commit: nothing behind a dialog that closes together with this one can be focused earlier.
  useEffect(
    () => () => {
      if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus();
    },
    [],
  );
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape works wherever the focus is
    <dialog
      ref={ref}
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault(); // the browser may close several dialogs at once, and asks only once
        event.stopPropagation();
        onClose();
      }}
      onCancel={(event) => {
        if (event.target !== event.currentTarget) return; // of a dialog in it, or of a choice of files
        event.preventDefault();
        onClose();
      }}
      onClose={() => {
        if (ref.current?.isConnected) ref.current.showModal(); // the browser has closed it by itself
        onClose();
      }}
      className={`m-auto max-h-[90vh] w-[calc(100vw-2rem)] scroll-pb-24 overflow-y-auto rounded-xl border border-line bg-card p-5 text-ink shadow-card ${isWide ? "max-w-3xl" : "max-w-md"}`}
    >
      <h2 id={id} className="mb-3">
        {title}
      </h2>
      {children}
    </dialog>
  );
}

/** The buttons of a dialog: at its end, and on the screen however long the dialog is. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return (
    <div className="sticky -bottom-5 z-10 -mx-5 -mb-5 flex flex-wrap justify-end gap-2 border-t border-line bg-card px-5 py-3">
      {children}
    </div>
  );
}

/** Asks before something that can't be undone. `onYes` may fail: its reason is shown. */
export function Confirm({
  title,
  children,
  yes,
  no = "Cancel",
  onYes,
  onClose,
  isDangerous = true,
}: {
  title: string;
  children: ReactNode;
  yes: string;
  no?: string;
  onYes: () => Promise<unknown>;
  onClose: () => void;
  isDangerous?: boolean;
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const harmless = useRef<HTMLButtonElement>(null);
  return (
    <Dialog title={title} onClose={onClose} first={harmless}>
      <div className="text-soft">{children}</div>
      {error && (
        <p role="alert" className="mt-3 text-bad">
          {error}
        </p>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <Button ref={harmless} onClick={onClose}>
          {no}
        </Button>
        <Button
          kind={isDangerous ? "danger" : "primary"}
          isBusy={isBusy}
          onClick={async () => {
            setBusy(true);
            setError(null);
            try {
              await onYes();
              onClose();
            } catch (failure) {
              setError(messageOf(failure));
              setBusy(false);
            }
          }}
        >
          {yes}
        </Button>
      </div>
    </Dialog>
  );
}

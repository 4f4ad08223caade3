"use client";

import { useEffect, useId, useRef, useState, type ReactNode, type RefObject } from "react";
import { Button } from "@/components/Button";
import { messageOf } from "@/lib/api";

/** A modal dialog of the browser: Escape closes it, focus stays in it and goes back afterwards. */
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
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    first?.current?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [first]);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className={`m-auto max-h-[90vh] w-[calc(100vw-2rem)] overflow-y-auto rounded-xl border border-line bg-card p-5 text-ink shadow-card ${isWide ? "max-w-3xl" : "max-w-md"}`}
    >
      <h2 id={id} className="mb-3">
        {title}
      </h2>
      {children}
    </dialog>
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

"use client";

import { Button } from "@/components/Button";
import { To } from "@/components/Links";
import { Followed, useFollowed } from "@/lib/store";
import { messageOf } from "@/lib/api";

type Undo = () => unknown;
type Options = { isBad?: boolean; undo?: Undo; to?: string };
type Toast = Options & { id: number; text: string };

const NONE: Toast[] = [];
const SHOWN_MS = 8000;
const ACT_MS = 30_000; // time to read, to decide, and to get there by keyboard
const toasts = new Followed<Toast[]>(NONE);
let last = 0;

/** Says in a corner of the screen what has happened, and offers to undo it, or to go where it is shown. */
export function say(text: string, options: Options = {}) {
  const id = ++last;
  toasts.set([...toasts.get(), { id, text, ...options }]);
  setTimeout(() => dismiss(id), options.undo || options.to ? ACT_MS : SHOWN_MS);
}

export function sayError(error: unknown) {
  say(messageOf(error), { isBad: true });
}

function dismiss(id: number) {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export function Toasts() {
  const shown = useFollowed(toasts, NONE);
  return (
    <div role="status" aria-live="polite" className="flex flex-col gap-2">
      {shown.map(({ id, text, isBad, undo, to }) => (
        <div
          key={id}
          className={`flex items-start gap-2 rounded-lg border bg-card p-3 shadow-card ${isBad ? "border-bad text-bad" : "border-accent text-ink"}`}
        >
          <p className="min-w-0 flex-1 wrap-anywhere">{text}</p>
          {to && <To href={to}>Back to the list</To>}
          {undo && (
            <Button
              aria-label={`Undo: ${text}`}
              onClick={() => {
                dismiss(id);
                undo();
              }}
            >
              Undo
            </Button>
          )}
          <button type="button" className="size-6 shrink-0 rounded" onClick={() => dismiss(id)}>
            <span aria-hidden="true">×</span>
            <span className="sr-only">Dismiss</span>
          </button>
        </div>
      ))}
    </div>
  );
}

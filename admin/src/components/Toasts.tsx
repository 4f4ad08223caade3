"use client";

import { Followed, useFollowed } from "@/lib/store";
import { messageOf } from "@/lib/api";

type Toast = { id: number; text: string; isBad: boolean };

const NONE: Toast[] = [];
const SHOWN_MS = 8000;
const toasts = new Followed<Toast[]>(NONE);
let last = 0;

/** Says in a corner of the screen what has happened. */
export function say(text: string, isBad = false) {
  const id = ++last;
  toasts.set([...toasts.get(), { id, text, isBad }]);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function sayError(error: unknown) {
  say(messageOf(error), true);
}

function dismiss(id: number) {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export function Toasts() {
  const shown = useFollowed(toasts, NONE);
  return (
    <div role="status" aria-live="polite" className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2">
      {shown.map(({ id, text, isBad }) => (
        <div
          key={id}
          className={`flex items-start gap-2 rounded-lg border bg-card p-3 shadow-card ${isBad ? "border-bad text-bad" : "border-accent text-ink"}`}
        >
          <p className="min-w-0 flex-1 wrap-anywhere">{text}</p>
          <button type="button" className="size-6 shrink-0 rounded" onClick={() => dismiss(id)}>
            <span aria-hidden="true">×</span>
            <span className="sr-only">Dismiss</span>
          </button>
        </div>
      ))}
    </div>
  );
}

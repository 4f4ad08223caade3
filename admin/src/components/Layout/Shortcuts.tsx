"use client";

import { useRouter } from "next/navigation";
import { useEffect, useState, type ReactNode } from "react";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { Checkbox } from "@/components/Form";
import { Keys, PLACES, runPageKey, turnShortcuts, usePageKeysShown, useShortcutsOn } from "@/lib/shortcuts";
import { leave } from "@/lib/unsaved";

/** Handles shortcuts on every page. `?` and the button list them. */
export function Shortcuts() {
  const router = useRouter();
  const isOn = useShortcutsOn();
  const [isShown, setShown] = useState(false);
  const ofPage = usePageKeysShown();
  useEffect(() => {
    if (!isOn) return;
    const keys = new Keys();
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      const action = keys.read(event.key, event.timeStamp);
      if (action === null || (action.kind === "page" && !runPageKey(action.key))) return;
      event.preventDefault();
      if (action.kind === "go") leave(() => router.push(action.href));
      else if (action.kind === "help") setShown(true);
      else if (action.kind === "search") document.querySelector<HTMLInputElement>("main input[type=search]")?.focus();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [isOn, router]);
  return (
    <>
      <button
        type="button"
        title="Keyboard shortcuts"
        className="hidden size-9 rounded text-soft hover:text-ink md:block"
        onClick={() => setShown(true)}
      >
        <span aria-hidden="true">?</span>
        <span className="sr-only">Keyboard shortcuts</span>
      </button>
      {isShown && (
        <Dialog title="Keyboard shortcuts" onClose={() => setShown(false)}>
          <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2">
            <Row keys={[isMac() ? "⌘" : "Ctrl", "K"]}>Add an address</Row>
            <Row keys={["/"]}>Search on this page</Row>
            {[...PLACES].map(([key, { name }]) => (
              <Row key={key} keys={["g", key]}>
                {name}
              </Row>
            ))}
            {ofPage.map(({ key, name }) => (
              <Row key={key} keys={[key]}>
                {name}
              </Row>
            ))}
            <Row keys={["?"]}>This list</Row>
            <Row keys={["Esc"]}>Close a dialog</Row>
          </dl>
          <div className="mt-4 flex flex-wrap items-center justify-between gap-3">
            <Checkbox
              label="Shortcuts with single keys"
              checked={isOn}
              onChange={(event) => turnShortcuts(event.target.checked)}
            />
            <Button onClick={() => setShown(false)}>Close</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Row({ keys, children }: { keys: string[]; children: ReactNode }) {
  return (
    <div className="contents">
      <dt className="flex gap-1">
        {keys.map((key) => (
          <kbd key={key} className="min-w-7 rounded border border-line bg-page px-2 text-center font-mono">
            {key}
          </kbd>
        ))}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

function isMac(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent);
}

/** Whether a key belongs to what has the focus, or to a dialog. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input, textarea, select") || target.closest("dialog") !== null;
}

"use client";

import { lazy, Suspense, useEffect, useState } from "react";
import type { Begun } from "@/components/AddAddress";
import { Dialog } from "@/components/Dialog";
import { Field, Input } from "@/components/Form";
import { AddIcon } from "@/components/Icons";
import { whenIdle } from "@/lib/idle";
import { useKeyWanted } from "@/lib/key";
import { useUnsaved } from "@/lib/unsaved";

const NOTHING: Begun = { text: "", then: null };
const load = () => import("@/components/AddAddress"); // not part of the first load
const AddAddress = lazy(async () => ({ default: (await load()).AddAddress }));

/** The field for any address, on every page: by Ctrl-K (on a Mac Cmd-K), or the button. */
export function AddAnywhere() {
  const keyWanted = useKeyWanted();
  const [begun, setBegun] = useState<Begun | null>(null); // null: it is closed
  const close = () => setBegun(null);
  useEffect(() => {
    if (keyWanted) return;
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
      event.preventDefault(); // the browser would leave the page for its own search
      if (!document.querySelector("dialog[open]")) setBegun(NOTHING);
    };
    window.addEventListener("keydown", onKey);
    const cancel = whenIdle(() => void load().catch(() => {})); // it is asked for again when it is wanted
    return () => {
      window.removeEventListener("keydown", onKey);
      cancel();
    };
  }, [keyWanted]);
  if (keyWanted) return null;
  return (
    <>
      <button
        type="button"
        title="Add an address (Ctrl K)"
        className="grid size-9 place-items-center rounded text-soft hover:text-ink"
        onClick={() => setBegun(NOTHING)}
      >
        <AddIcon />
        <span className="sr-only">Add an address</span>
      </button>
      {begun && (
        <Suspense fallback={<OnlyField begun={begun} onChange={setBegun} onClose={close} />}>
          <AddAddress begun={begun} onClose={close} />
        </Suspense>
      )}
    </>
  );
}

/** Takes what is typed while the rest of the dialog is loaded. */
function OnlyField({
  begun: { text, then },
  onChange,
  onClose,
}: {
  begun: Begun;
  onChange: (to: Begun) => void;
  onClose: () => void;
}) {
  const isList = then === "paste" && /^[<{[]|\n/.test(text.trim());
  const close = useUnsaved(isList, false, onClose);
  return (
    <Dialog title="Add an address" onClose={close}>
      <form
        className="mb-13" // about what follows it later
        onSubmit={(event) => {
          event.preventDefault();
          onChange({ text, then: then ?? "look" });
        }}
      >
        <Field label="Address">
          <Input
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            placeholder="example.com/jobs"
            value={text}
            onChange={(event) => onChange({ text: event.target.value, then: null })}
            onPaste={(event) => {
              if (text.trim()) return; // a part of an address
              event.preventDefault();
              onChange({ text: event.clipboardData.getData("text"), then: "paste" });
            }}
          />
        </Field>
      </form>
    </Dialog>
  );
}

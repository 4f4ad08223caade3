"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { Field, Input, Textarea } from "@/components/Form";
import { Head, Table, Td } from "@/components/Table";
import { api, messageOf, type Schema } from "@/lib/api";
import { counted, number } from "@/lib/format";

/** A list of pages to watch, from a file or as text, and what became of each entry. */
export function ImportDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [result, setResult] = useState<Schema<"WatchesImported"> | null>(null);

  async function add() {
    setBusy(true);
    setError(null);
    try {
      setResult(await api.post("/api/watches/import", { body: text, contentType: "text/plain" }));
      onDone();
    } catch (failure) {
      setError(messageOf(failure));
    } finally {
      setBusy(false);
    }
  }

  if (result) {
    return (
      <Dialog title="List imported" onClose={onClose} isWide>
        <p role="status">
          {counted(result.added, "watch", "watches")} added, {number(result.refused)} refused.
        </p>
        {result.refusals.length > 0 && (
          <div className="mt-4 px-4 sm:px-5">
            <Table label="Rejected entries">
              <Head columns={{ Entry: "text", Why: "text" }} />
              <tbody>
                {result.refusals.map(({ entry, reason }, index) => (
                  <tr key={index}>
                    <Td className="min-w-40 wrap-anywhere">{entry}</Td>
                    <Td className="min-w-40 wrap-anywhere">{reason}</Td>
                  </tr>
                ))}
              </tbody>
            </Table>
          </div>
        )}
        {result.refused > result.refusals.length && (
          <p className="mt-2 text-soft">These are the first {number(result.refusals.length)} of them.</p>
        )}
        <div className="mt-5 flex justify-end gap-2">
          <Button onClick={() => setResult(null)}>Another list</Button>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Import a list of pages" onClose={onClose} isWide>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <Field label="File" hint="URLs line by line, OPML, or JSON: an array of URLs or of watches">
          <Input
            type="file"
            accept=".txt,.opml,.xml,.json,text/plain,application/json"
            onChange={async (event) => {
              const file = event.target.files?.[0];
              if (file) setText(await file.text());
            }}
          />
        </Field>
        <Field label="List" hint="The contents of the file, or your own list. Each entry becomes a watch.">
          <Textarea rows={10} value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />
        </Field>
        {error && (
          <p role="alert" className="text-bad wrap-anywhere">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={isBusy} disabled={text.trim() === ""}>
            Import
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

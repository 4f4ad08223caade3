"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { Field, Input } from "@/components/Form";
import { ErrorBox } from "@/components/States";
import { say, sayError } from "@/components/Toasts";
import { send, type Schema } from "@/lib/api";
import { download } from "@/lib/download";
import { counted, number } from "@/lib/format";

type Imported = Schema<"OpmlImported">;

/** Saves all feeds as a file. */
export function ExportOpml() {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      await download("/api/feeds/opml", "webloom-feeds.opml");
      say("Feeds saved as webloom-feeds.opml.");
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button isBusy={isBusy} onClick={save}>
      Export OPML
    </Button>
  );
}

/** Adds the feeds of a file that was chosen or dropped. */
export function ImportOpml({ onClose, onImported }: { onClose: () => void; onImported: () => void }) {
  const [file, setFile] = useState<string | null>(null);
  const [result, setResult] = useState<Imported | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [isOver, setOver] = useState(false);
  const take = async (given: File | undefined) => {
    if (!given || isBusy) return;
    setFile(given.name);
    setBusy(true);
    setError(null);
    setResult(null);
    try {
      // As it is: the document says itself how it is encoded.
      const response = await send("/api/feeds/opml", {
        method: "POST",
        body: given,
        headers: { "Content-Type": "text/x-opml" },
      });
      setResult((await response.json()) as Imported);
      onImported();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title="Import OPML" onClose={onClose}>
      <div
        className={`rounded-lg border-2 border-dashed p-4 ${
          isOver ? "border-accent bg-accent-pale" : "border-control"
        }`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer.files[0]);
        }}
      >
        <Field
          label="OPML file"
          hint="Choose a file or drop one here. New feeds in it are added; existing ones don't change."
        >
          <Input
            type="file"
            accept=".opml,.xml,text/xml,text/x-opml,application/xml"
            disabled={isBusy}
            onChange={(event) => {
              void take(event.target.files?.[0]);
              event.target.value = ""; // the same file may be chosen again
            }}
          />
        </Field>
      </div>
      <div aria-live="polite" className="mt-4 flex flex-col gap-3">
        {isBusy && <p className="text-soft wrap-anywhere">Reading {file}…</p>}
        {error !== null && <ErrorBox error={error} title={`${file} could not be imported`} />}
        {result && <Outcome result={result} file={file ?? ""} />}
      </div>
      <div className="mt-5 flex justify-end">
        <Button kind={result ? "primary" : "plain"} onClick={onClose}>
          {result ? "Done" : "Cancel"}
        </Button>
      </div>
    </Dialog>
  );
}

function Outcome({ result, file }: { result: Imported; file: string }) {
  const { added, known, refused, refusals } = result;
  return (
    <>
      <p className="wrap-anywhere">
        {file}: {counted(added, "feed")} added, {number(known)} known already, {number(refused)} refused.
      </p>
      {added + known + refused === 0 && <p className="text-soft">There are no feeds in it.</p>}
      {refusals.length > 0 && (
        <>
          <h3>Refused</h3>
          <div role="region" aria-label="Refused feeds" tabIndex={0} className="max-h-60 overflow-y-auto">
            <ul className="flex flex-col gap-2">
              {refusals.map(({ url, name, reason }, index) => (
                <li key={index} className="wrap-anywhere">
                  {name && <b>{name} </b>}
                  <span className="text-soft">{url}</span>
                  <div className="text-bad">{reason}</div>
                </li>
              ))}
            </ul>
          </div>
          {refused > refusals.length && <p className="text-soft">And {number(refused - refusals.length)} more.</p>}
        </>
      )}
    </>
  );
}

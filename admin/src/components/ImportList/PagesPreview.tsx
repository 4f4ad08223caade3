"use client";

import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { DialogButtons } from "@/components/Dialog";
import { Checkbox } from "@/components/Form";
import { counted, number } from "@/lib/format";
import type { PagePreview } from "@/lib/lists";
import { scheduleWords } from "@/lib/watch";
import { PreviewTable, type Row } from "./PreviewTable";

const KINDS: Record<PagePreview["kind"], string> = {
  lines: "A list of addresses",
  opml: "OPML",
  json: "JSON",
  changedetection: "A backup of changedetection.io",
};

export function PagesPreview({
  preview,
  onBack,
  onAdd,
}: {
  preview: PagePreview;
  onBack: () => void;
  onAdd: (skipKnown: boolean, total: number) => void;
}) {
  const [skipKnown, setSkipKnown] = useState(true);
  const said = useRef<HTMLParagraphElement>(null);
  useEffect(() => said.current?.focus(), []);
  const { kind, total, known, repeated, refused } = preview;
  const adds = skipKnown ? preview.new : total - refused;
  return (
    <>
      <p ref={said} tabIndex={-1} role="status">
        {KINDS[kind]}: {number(preview.new)} new, {number(known)} watched already, {number(repeated)} listed twice,{" "}
        {number(refused)} refused.
      </p>
      <Lost preview={preview} />
      <PreviewTable label="Entries of the list" counts={preview} rows={preview.entries.map(rowOf)} />
      {known + repeated > 0 && (
        <Checkbox
          label="Also add pages that are watched already or listed twice"
          checked={!skipKnown}
          onChange={(event) => setSkipKnown(!event.target.checked)}
        />
      )}
      <DialogButtons>
        <Button onClick={onBack}>Back</Button>
        <Button kind="primary" disabled={adds === 0} onClick={() => onAdd(skipKnown, total)}>
          Add {counted(adds, "watch", "watches")}
        </Button>
      </DialogButtons>
    </>
  );
}

/** What a backup has and Webloom does not. */
function Lost({ preview: { notes, noteCounts } }: { preview: PagePreview }) {
  if (notes.length === 0 && noteCounts.length === 0) return null;
  return (
    <details className="rounded-lg border border-warn bg-warn-pale p-3 text-warn wrap-anywhere" open>
      <summary className="cursor-pointer font-medium">Not carried over</summary>
      <ul className="mt-2 list-disc pl-5">
        {notes.map((note, index) => (
          <li key={index}>{note}</li>
        ))}
        {noteCounts.map(({ note, count }) => (
          <li key={note}>
            {note} ({counted(count, "entry", "entries")})
          </li>
        ))}
      </ul>
    </details>
  );
}

function rowOf({ state, name, watch, reason, notes }: PagePreview["entries"][number]): Row {
  if (!watch) return { state, name, url: null, facts: [], reason, notes };
  const { url, pages, schedule, enabled, tags, targets } = watch;
  const facts = [enabled ? scheduleWords(schedule) : "paused"];
  if (pages > 1) facts.push(counted(pages, "page"));
  if (tags.length > 0) facts.push(`tagged ${tags.join(", ")}`);
  if (targets.length > 0) facts.push(`notifies ${targets.join(", ")}`);
  return { state, name, url, facts, reason, notes };
}

"use client";

import { useState } from "react";
import { Field, Input } from "@/components/Form";

/** A file that is chosen, or dropped here. */
export function ListFile({
  label,
  hint,
  accept,
  isBusy,
  onFile,
}: {
  label: string;
  hint: string;
  accept: string;
  isBusy: boolean;
  onFile: (file: File) => void;
}) {
  const [isOver, setOver] = useState(false);
  const take = (file: File | undefined) => {
    if (file && !isBusy) onFile(file);
  };
  return (
    <div
      className={`rounded-lg border-2 border-dashed p-4 ${isOver ? "border-accent bg-accent-pale" : "border-control"}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer.files[0]);
      }}
    >
      <Field label={label} hint={hint}>
        <Input
          type="file"
          accept={accept}
          disabled={isBusy}
          onChange={(event) => {
            take(event.target.files?.[0]);
            event.target.value = ""; // the same file may be chosen again
          }}
        />
      </Field>
    </div>
  );
}

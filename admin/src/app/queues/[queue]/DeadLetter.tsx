"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Form";
import { SourceText } from "@/components/SourceText";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { counted } from "@/lib/format";

/** One dead letter: why, when, and what is in it. */
export function DeadLetter({
  letter,
  isChosen,
  onChoose,
  onAct,
}: {
  letter: Schema<"DeadLetterResponse">;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
  onAct: (verb: "put-back" | "discard") => void;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="border-b border-line py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <Checkbox
            label={<code className="text-sm wrap-anywhere">{letter.id}</code>}
            checked={isChosen}
            onChange={(event) => onChoose(event.target.checked)}
          />
          <p className="mt-1 text-bad wrap-anywhere">{letter.reason}</p>
          <p className="text-sm text-soft">
            <Time at={letter.buriedAt} ago />, {counted(letter.body.length, "character")}
            {letter.isCut && " and more"}
          </p>
        </div>
        <span className="flex flex-wrap gap-2">
          <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide payload" : "Payload"}
          </Button>
          <Button onClick={() => onAct("put-back")}>Put back</Button>
          <Button kind="danger" onClick={() => onAct("discard")}>
            Discard
          </Button>
        </span>
      </div>
      {isOpen && (
        <div className="mt-3">
          {letter.body === "" ? (
            <p className="text-soft">The message is empty.</p>
          ) : (
            <SourceText text={readable(letter.body)} label={`Payload of ${letter.id}`} />
          )}
          {letter.isCut && <p className="mt-1 text-sm text-warn">Only the beginning of the message is shown.</p>}
        </div>
      )}
    </li>
  );
}

/** JSON laid out in lines; what is not JSON as it came. */
function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

"use client";

import { useState } from "react";
import { confirming } from "@/components/List/forms";
import { List } from "@/components/List/List";
import { RowActions } from "@/components/List/RowActions";
import { Line, Reason } from "@/components/List/Text";
import type { BulkAction, Column } from "@/components/List/types";
import type { Listing } from "@/components/List/useList";
import { SourceText } from "@/components/SourceText";
import { Empty } from "@/components/States";
import { Time } from "@/components/Time";
import { addressOf, type Schema } from "@/lib/api";
import { counted, number } from "@/lib/format";
import type { Resource } from "@/lib/resource";
import { Act, type Verb } from "./Act";

type Letter = Schema<"DeadLetterResponse">;

export const COLUMNS: Column<Letter>[] = [
  {
    id: "id",
    exported: ["id", "reason"],
    name: "Message",
    width: 130,
    grow: 1,
    cell: ({ id }) => (
      <Line title={id}>
        <code>{id}</code>
      </Line>
    ),
  },
  { id: "buriedAt", name: "Since", width: 118, cell: ({ buriedAt }) => <Time at={buriedAt} ago /> },
  {
    id: "size",
    exported: ["body", "isCut"],
    name: "Size",
    width: 120,
    cell: ({ body, isCut }) => <Line>{`${counted(body.length, "character")}${isCut ? " and more" : ""}`}</Line>,
  },
];

const BULK: BulkAction[] = [
  {
    name: "Put back",
    Form: confirming({
      title: (count) => `Put ${count} back?`,
      text: "They are delivered again, as if new. What still can't be handled comes back here.",
      yes: "Put back",
      body: { action: "put-back" },
      isDangerous: false,
    }),
    done: "put back",
  },
  {
    name: "Discard",
    Form: confirming({
      title: (count) => `Discard ${count}?`,
      text: "The messages are removed for good. This can't be undone.",
      yes: "Discard",
      body: { action: "discard" },
    }),
    done: "discarded",
    isDangerous: true,
  },
];

/** The dead letters of a queue, and what can be done with one, many or all of them. */
export function DeadLetters({
  queue,
  dead,
  letters,
  list,
}: {
  queue: string;
  dead: number | null; // how many there are; null: not known
  letters: Resource<Schema<"DeadLettersPage">>;
  list: Listing<Letter>;
}) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<{ verb: Verb; id: string } | null>(null);
  const isSearched = list.asked.q !== "";
  const toggle = (id: string) => setOpen(open.has(id) ? new Set([...open].filter((each) => each !== id)) : new Set([...open, id]));
  return (
    <section>
      <h2 className="mb-2">Dead letters{dead === null ? "" : ` (${number(dead)})`}</h2>
      <List
        {...list}
        name="Dead letters"
        what={["dead letter", "dead letters"]}
        search="Reason or payload"
        from={{ ...letters, data: letters.data && { ...letters.data, total: isSearched ? null : dead } }}
        keyOf={({ id }) => id}
        nameOf={({ id }) => id}
        bulk={{
          actions: BULK,
          path: addressOf("/api/queues/{queue}/dead/bulk", { queue }),
          // Messages that die while the question is open are left alone: they were not on the screen.
          filter: letters.data ? { q: list.asked.q || null, before: letters.data.at } : null,
        }}
        exports={{
          path: addressOf("/api/queues/{queue}/dead/export", { queue }),
          file: `dead letters of ${queue}`,
          query: { q: list.asked.q },
        }}
        actionsWidth={116}
        actions={({ id }) => (
          <span className="flex justify-end gap-1">
            <button
              type="button"
              aria-expanded={open.has(id)}
              className="min-h-7 rounded-md border border-line px-2 hover:border-accent hover:text-accent"
              onClick={() => toggle(id)}
            >
              Payload<span className="sr-only"> of {id}</span>
            </button>
            <RowActions
              of={id}
              actions={[
                { name: "Put back", act: () => setAsking({ verb: "put-back", id }) },
                { name: "Discard", act: () => setAsking({ verb: "discard", id }), isDangerous: true },
              ]}
            />
          </span>
        )}
        below={(letter) => (
          <>
            <Reason>{letter.reason}</Reason>
            {open.has(letter.id) && <Payload letter={letter} />}
          </>
        )}
        nothing={list.asked.cursors.length > 0 && !isSearched && <Empty title="No dead letters left on this page" />}
        empty={
          <Empty title="No dead letters">
            <p>All messages of this queue were handled. One that can&apos;t be handled appears here with its reason.</p>
          </Empty>
        }
      />
      {asking && <Act queue={queue} {...asking} onClose={() => setAsking(null)} onDone={letters.reload} />}
    </section>
  );
}

function Payload({ letter }: { letter: Letter }) {
  return (
    <>
      {letter.body === "" ? (
        <p className="text-soft">The message is empty.</p>
      ) : (
        <SourceText text={readable(letter.body)} label={`Payload of ${letter.id}`} />
      )}
      {letter.isCut && <p className="mt-1 text-warn">Only the beginning of the message is shown.</p>}
    </>
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

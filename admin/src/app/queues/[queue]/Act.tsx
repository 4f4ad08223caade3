"use client";

import { Confirm } from "@/components/Dialog";
import { say } from "@/components/Toasts";
import { api } from "@/lib/api";

export type Verb = "put-back" | "discard";

/** Asks, acts on one dead letter, and reports the result. */
export function Act({
  queue,
  verb,
  id,
  onClose,
  onDone,
}: {
  queue: string;
  verb: Verb;
  id: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const isDiscard = verb === "discard";
  return (
    <Confirm
      title={isDiscard ? "Discard 1 dead letter?" : "Put 1 dead letter back?"}
      yes={isDiscard ? "Discard" : "Put back"}
      isDangerous={isDiscard}
      onClose={onClose}
      onYes={async () => {
        const options = { path: { queue }, body: { ids: [id] } };
        const { done } = isDiscard
          ? await api.post("/api/queues/{queue}/dead/discard", options)
          : await api.post("/api/queues/{queue}/dead/put-back", options);
        if (done === 0) say(`${id} was no longer there.`);
        else say(`1 dead letter ${isDiscard ? "discarded" : "put back"}.`);
        onDone();
      }}
    >
      {isDiscard
        ? "The message is removed for good. This can't be undone."
        : "It is delivered again, as if new. What still can't be handled comes back here."}
    </Confirm>
  );
}

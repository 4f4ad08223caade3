"use client";

import { Confirm } from "@/components/Dialog";
import { say } from "@/components/Toasts";
import { api } from "@/lib/api";
import { counted } from "@/lib/format";

export type Deed = {
  verb: "put-back" | "discard";
  which: { ids: string[] } | { before: string; count: number | null }; // all that had died by then; null: not known
};

/** Asks, does it, and says what became of it. */
export function Act({
  queue,
  deed,
  onClose,
  onDone,
}: {
  queue: string;
  deed: Deed;
  onClose: () => void;
  onDone: () => void;
}) {
  const isDiscard = deed.verb === "discard";
  const { which } = deed;
  const count = "ids" in which ? which.ids.length : which.count;
  const those = count === null ? "all dead letters" : counted(count, "dead letter");
  const isOne = count === 1;
  const all = "before" in which ? `All of ${queue}, including those on other pages. ` : "";
  return (
    <Confirm
      title={isDiscard ? `Discard ${those}?` : `Put ${those} back?`}
      yes={isDiscard ? "Discard" : "Put back"}
      isDangerous={isDiscard}
      onClose={onClose}
      onYes={async () => {
        const body = "ids" in which ? { ids: which.ids } : { all: true, before: which.before };
        const options = { path: { queue }, body };
        const { done, missing } = isDiscard
          ? await api.post("/api/queues/{queue}/dead/discard", options)
          : await api.post("/api/queues/{queue}/dead/put-back", options);
        const gone = missing.length > 0 ? `; ${counted(missing.length, "was", "were")} not there any more` : "";
        say(`${counted(done, "dead letter")} ${isDiscard ? "discarded" : "put back"}${gone}`);
        onDone();
      }}
    >
      {all}
      {isDiscard
        ? `${isOne ? "The message is" : "The messages are"} removed for good. This can't be undone.`
        : `${isOne ? "It is" : "They are"} delivered again, as if new. What still can't be handled comes back here.`}
    </Confirm>
  );
}

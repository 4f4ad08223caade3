// A record and what is under way for it, followed live.

import { useRef, useState } from "react";
import { api, type Schema } from "@/lib/api";
import { useChanges } from "@/lib/changes";
import { useResource, type Resource } from "@/lib/resource";

const SAFETY_MS = 3000; // while something is awaited, should the stream of events be away

export type Known = {
  record: Schema<"RecordResponse"> | null; // null: nothing was fetched yet
  waiting: Schema<"Submitted"> | null; // what the page waits for
};

/** Only looks: a page that is opened, by whomever, makes Webloom fetch nothing. */
export function useRecord(url: string, isHeld: boolean): Resource<Known> {
  const last = useRef<Known>({ record: null, waiting: null });
  const [isWaiting, setWaiting] = useState(false);
  const known = useResource<Known>(
    url,
    async (signal) => {
      const answer = await api.get("/metadata", { query: { url, source: false, submit: false }, signal });
      last.current =
        "metadata" in answer ? { record: answer, waiting: null } : { record: last.current.record, waiting: answer };
      setWaiting(last.current.waiting !== null);
      return last.current;
    },
    { everyMs: isWaiting ? SAFETY_MS : undefined, isHeld },
  );
  useChanges("inventory", known.reload);
  return known;
}

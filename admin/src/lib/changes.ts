// Follows changes of the stored data, no matter who makes them.

import { useRef } from "react";
import { useEvents } from "./live";

/** Calls back at once after a change, also for what was missed meanwhile. Many changes cause few calls, as the server
 * tells of them at intervals. */
export function useChanges(topic: "inventory" | "watch", onChange: () => void) {
  const revision = useRef<unknown>(undefined);
  useEvents(`/api/live?topics=${topic}`, ({ event, data }) => {
    const now = (data as { revision?: unknown }).revision;
    if (event !== topic || now === revision.current) return;
    revision.current = now;
    onChange();
  });
}

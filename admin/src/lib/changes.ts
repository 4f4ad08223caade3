// Something that is stored has changed, whoever did it.

import { useEffect, useRef } from "react";
import { useEvents } from "./live";

/** Calls back at once after a change, also for what was missed meanwhile, and at most every `everyMs`. */
export function useChanges(topic: "inventory" | "watch", onChange: () => void, everyMs: number) {
  const latest = useRef(onChange);
  const revision = useRef<unknown>(undefined);
  const last = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    latest.current = onChange;
  });
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  useEvents(`/api/live?topics=${topic}`, ({ event, data }) => {
    const now = (data as { revision?: unknown }).revision;
    if (event !== topic || now === revision.current) return;
    revision.current = now;
    if (timer.current !== undefined) return;
    const wait = Math.max(0, last.current + everyMs - Date.now());
    timer.current = setTimeout(() => {
      timer.current = undefined;
      last.current = Date.now();
      latest.current();
    }, wait);
  });
}

// Import runs, followed live.

import { useCallback, useEffect, useRef, useState } from "react";
import type { ImportLog } from "./importLogs";
import { useEvents, type LiveEvent } from "./live";

const MOST_HEARD = 300; // runs; the oldest news are forgotten
const STREAM = "/api/import-logs/stream";

/** The latest state of each run. `onRun` gets each change with the state before it; `onListening` is called when changes
 * may have been missed. */
export function useHeardRuns(
  onRun: (run: ImportLog, before: ImportLog | undefined) => void,
  onListening: () => void,
): ReadonlyMap<string, ImportLog> {
  const [heard, setHeard] = useState<ReadonlyMap<string, ImportLog>>(new Map());
  const latest = useRef(heard);
  const hear = ({ event, data }: LiveEvent) => {
    if (event !== "import_log") return;
    const run = data as ImportLog;
    const before = latest.current.get(run.runId);
    if (before && Date.parse(before.updatedAt) > Date.parse(run.updatedAt)) return; // it may come twice
    const next = new Map(latest.current);
    next.delete(run.runId);
    next.set(run.runId, run);
    for (const oldest of [...next.keys()].slice(0, Math.max(0, next.size - MOST_HEARD))) next.delete(oldest);
    latest.current = next;
    setHeard(next);
    onRun(run, before);
  };
  useEvents(STREAM, hear, onListening);
  return heard;
}

/** Calls it at once, and then at most once in `ms`, however often it is asked to. */
export function useCalmly(call: () => void, ms: number): () => void {
  const latest = useRef(call);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const again = useRef(false);
  useEffect(() => {
    latest.current = call;
  });
  const ask = useCallback(function ask() {
    if (timer.current !== null) {
      again.current = true;
      return;
    }
    latest.current();
    timer.current = setTimeout(() => {
      timer.current = null;
      if (again.current) {
        again.current = false;
        ask();
      }
    }, ms);
  }, [ms]);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return ask;
}

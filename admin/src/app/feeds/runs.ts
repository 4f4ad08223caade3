// The runs of feeds, followed live.

import { useState } from "react";
import { useEvents, type LiveEvent } from "@/lib/live";
import type { Schema } from "@/lib/api";
import { isCancelled, shownStatus } from "@/lib/importLogs";

type Feed = Schema<"FeedResponse">;
type Run = Schema<"ImportLog">;

export type LastRun = {
  runId: string;
  status: string;
  at: string | null;
  error: string | null;
  running: Run | null; // how far it is, while it goes on
};

/** The latest run of each feed that was heard of; `onEnded` when one has ended, `onListening` when
 * what was loaded before may be old. */
export function useRuns(onEnded: (run: Run) => void, onListening: () => void): ReadonlyMap<string, Run> {
  const [runs, setRuns] = useState<ReadonlyMap<string, Run>>(new Map());
  const hear = ({ event, data }: LiveEvent) => {
    if (event !== "import_log") return;
    const run = data as Run;
    setRuns((before) => {
      const known = before.get(run.feedId);
      if (known && (isLater(known.startedAt, run.startedAt) || isLater(known.updatedAt, run.updatedAt))) return before;
      return new Map(before).set(run.feedId, run);
    });
    if (run.status !== "running") onEnded(run);
  };
  useEvents("/api/import-logs/stream", hear, onListening);
  return runs;
}

/** As times: of a full second, the fraction is not written. */
function isLater(one: string, other: string): boolean {
  return Date.parse(one) > Date.parse(other);
}

/** The newer of the loaded state and the one from a live event. */
export function lastRunOf(feed: Feed, heard: Run | undefined): LastRun | null {
  const isKnown = heard !== undefined && heard.runId === feed.lastRunId && feed.activeRunId === null;
  if (heard && !isKnown) {
    const isRunning = heard.status === "running";
    const { runId, startedAt } = heard;
    return { runId, ...outcomeOf(heard), at: startedAt, running: isRunning ? heard : null };
  }
  if (feed.activeRunId !== null) {
    return { runId: feed.activeRunId, status: "running", at: null, error: null, running: null };
  }
  if (feed.lastRunId === null) return null;
  const { lastRunId, lastStatus, lastRunAt, lastError } = feed;
  const outcome = outcomeOf({ status: lastStatus ?? "unknown", error: lastError });
  return { runId: lastRunId, ...outcome, at: lastRunAt, running: null };
}

function outcomeOf(run: { status: string; error: string | null }): { status: string; error: string | null } {
  return { status: shownStatus(run), error: isCancelled(run) ? null : run.error };
}

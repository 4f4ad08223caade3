"use client";

import { To } from "@/components/Links";
import { counted, number } from "@/lib/format";
import { runAddress, type StartedRun } from "@/lib/importLogs";

const MOST_NAMED = 5;

/** The runs that were started, as links, and apart from them those that were already running. */
export function RunNotice({ runs, onDismiss }: { runs: StartedRun[]; onDismiss: () => void }) {
  const started = runs.filter((run) => !run.alreadyRunning);
  const running = runs.filter((run) => run.alreadyRunning);
  return (
    <div role="status" className="mb-4 flex items-start gap-3 rounded-lg border border-accent bg-accent-pale p-3">
      <div className="min-w-0 flex-1">
        {started.length > 0 && (
          <p>
            Started {counted(started.length, "import")}: <Named runs={started} />
          </p>
        )}
        {running.length > 0 && (
          <p>
            {started.length > 0 ? "Already running: " : "Nothing new was started. Already running: "}
            <Named runs={running} />
          </p>
        )}
        {runs.length === 0 && (
          <p>
            Nothing was started: every feed is paused. <To href="/feeds">Resume one</To>, or choose one to import now.
          </p>
        )}
      </div>
      <button type="button" className="size-6 shrink-0 rounded" onClick={onDismiss}>
        <span aria-hidden="true">×</span>
        <span className="sr-only">Dismiss</span>
      </button>
    </div>
  );
}

function Named({ runs }: { runs: StartedRun[] }) {
  const more = runs.length - MOST_NAMED;
  return (
    <>
      {runs.slice(0, MOST_NAMED).map((run, index) => (
        <span key={run.runId} className="wrap-anywhere">
          {index > 0 && ", "}
          <To href={runAddress(run.runId)} className="underline">
            {run.sourceName}
          </To>
        </span>
      ))}
      {more > 0 && ` and ${number(more)} more`}.
    </>
  );
}

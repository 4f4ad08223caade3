"use client";

import { Badge, StatusBadge } from "@/components/Badge";
import { LinkButton } from "@/components/Button";
import { To, UrlText } from "@/components/Links";
import { Empty } from "@/components/States";
import { Time } from "@/components/Time";
import { api } from "@/lib/api";
import { counted } from "@/lib/format";
import { useRemoval } from "@/lib/removal";
import { metricWords, runWords, scheduleWords, watchPath, type Run, type Watch } from "@/lib/watch";
import { WatchActions } from "./WatchActions";

const RUNS_AT_ONCE = 50;

export type WatchesSeen = { watches: Watch[]; runs: Map<string, Run>; nextCursor: string | null };

const ended = new Map<string, Run>(); // a run that has ended does not change

/** Watches with the runs that they name, as far as they are kept: most are among the latest of all, the others among the
 * latest of their watch. */
export async function loadWatches(cursor: string | null, signal: AbortSignal): Promise<WatchesSeen> {
  const [page, latest] = await Promise.all([
    api.get("/api/watches", { query: { cursor: cursor ?? undefined }, signal }),
    api.get("/api/watch/runs", { query: { limit: RUNS_AT_ONCE }, signal }),
  ]);
  const runs = new Map(ended);
  for (const run of latest.data) runs.set(run.runId, run);
  const named = page.data.flatMap((watch) => [watch.lastRunId, watch.activeRunId]).filter((id) => id !== null);
  const lacking = page.data.filter((watch) =>
    [watch.lastRunId, watch.activeRunId].some((id) => id !== null && !runs.has(id)),
  );
  const found = await Promise.all(
    lacking.map(({ jobId }) => api.get("/api/watch/runs", { query: { jobId, limit: 2 }, signal }).catch(() => null)),
  );
  for (const run of found.flatMap((each) => each?.data ?? [])) runs.set(run.runId, run);
  ended.clear();
  for (const id of named) {
    const run = runs.get(id);
    if (run && run.status !== "in_progress") ended.set(id, run);
  }
  return { watches: page.data, runs, nextCursor: page.nextCursor };
}

export function Watches({ seen, onChange }: { seen: WatchesSeen; onChange: () => void }) {
  if (seen.watches.length === 0) {
    return (
      <Empty title="No watches yet">
        <p>Give Webloom pages and a schedule: it keeps every version, every change and the price history.</p>
        <LinkButton href="/watch/new" kind="primary">
          Add a watch
        </LinkButton>
      </Empty>
    );
  }
  return (
    <ul className="divide-y divide-line">
      {seen.watches.map((watch) => (
        <li key={watch.jobId} className="flex flex-col gap-2 py-4 first:pt-0 last:pb-0">
          <Row watch={watch} runs={seen.runs} onChange={onChange} />
        </li>
      ))}
    </ul>
  );
}

function Row({ watch, runs, onChange }: { watch: Watch; runs: Map<string, Run>; onChange: () => void }) {
  const last = watch.lastRunId === null ? undefined : runs.get(watch.lastRunId);
  const active = watch.activeRunId === null ? undefined : runs.get(watch.activeRunId);
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="min-w-0 basis-full wrap-anywhere sm:basis-auto">
          <To href={watchPath(watch.jobId)}>
            <UrlText url={watch.name} />
          </To>
        </h3>
        <WatchState watch={watch} active={active} />
      </div>
      <p className="text-sm text-soft">
        {watch.external
          ? "Another program checks its pages and sends events"
          : `${counted(watch.urls.length, "page")}, ${scheduleWords(watch.schedule)}`}
        {watch.nextRunAt !== null && watch.activeRunId === null && (
          <>
            , next <Time at={watch.nextRunAt} ago />
          </>
        )}
      </p>
      <p className="text-sm">
        {watch.lastRunAt === null ? (
          <span className="text-soft">Not checked yet</span>
        ) : (
          <>
            Last run <Time at={watch.lastRunAt} ago />
            {last && `: ${runWords(last)}`}
          </>
        )}
        {watch.pagesProcessed > 0 && <span className="text-soft"> · in all {metricWords(watch)}</span>}
      </p>
      {watch.consecutiveFailures > 0 && (
        <p className="text-sm text-bad wrap-anywhere">
          {watch.consecutiveFailures === 1
            ? "The last run failed"
            : `${watch.consecutiveFailures} consecutive runs failed`}
          {last?.failures[0] && `: ${last.failures[0].reason}`}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <WatchActions watch={watch} onDone={onChange} removal={useRemoval()} onRemoved={onChange} />
      </div>
    </>
  );
}

/** How it is, and what it does now. */
export function WatchState({ watch, active }: { watch: Watch; active: Run | undefined }) {
  return (
    <span className="flex flex-wrap items-center gap-2">
      {watch.external ? <Badge>external</Badge> : !watch.enabled && <Badge>paused</Badge>}
      {watch.lastStatus !== null && <StatusBadge status={watch.lastStatus} />}
      {watch.activeRunId !== null && (
        <Badge tone="busy">
          checking{active?.pagesTotal ? ` ${active.pagesProcessed} of ${active.pagesTotal}` : ""}
        </Badge>
      )}
    </span>
  );
}

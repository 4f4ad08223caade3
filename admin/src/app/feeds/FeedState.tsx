import { Badge, StatusBadge } from "@/components/Badge";
import { To } from "@/components/Links";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { counted, number } from "@/lib/format";
import { intervalWords } from "./formats";
import type { LastRun } from "./runs";

type Feed = Schema<"FeedResponse">;

export function Schedule({ feed }: { feed: Feed }) {
  if (!feed.enabled) return <Badge tone="warn">paused</Badge>;
  return (
    <>
      <div className="whitespace-nowrap">{intervalWords(feed.intervalMinutes)}</div>
      {feed.nextRunAt && (
        <div className="text-sm whitespace-nowrap text-soft in-[.list-row]:text-xs">
          next <Time at={feed.nextRunAt} ago />
        </div>
      )}
    </>
  );
}

/** Why the last run failed, and how many did; empty if none did. */
export function failureOf(feed: Feed, last: LastRun | null): string {
  const failures = feed.consecutiveFailures > 1 ? [`${counted(feed.consecutiveFailures, "failure")} in a row`] : [];
  const error = last === null || last.status === "running" ? null : last.error;
  return [...failures, ...(error ? [error] : [])].join(": ");
}

/** The result of the last run, or the progress of the current one. */
export function LastRunOf({ feed, last }: { feed: Feed; last: LastRun | null }) {
  if (last === null) return <span className="text-soft">never imported</span>;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <To href={`/import-history/${last.runId}`} className="inline-flex min-h-6 items-center">
        <StatusBadge status={last.status} />
        <span className="sr-only"> run of {feed.name}</span>
      </To>
      {last.at && last.status !== "running" && <Time at={last.at} ago />}
      {last.running && (
        <span className="text-soft tabular-nums">
          {counted(last.running.totalFetched, "item")}, {number(last.running.newJobs)} new
        </span>
      )}
    </div>
  );
}

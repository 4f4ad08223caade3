"use client";

import { StatusBadge } from "@/components/Badge";
import { To } from "@/components/Links";
import { List } from "@/components/List/List";
import { Line } from "@/components/List/Text";
import type { Column, Filter, Rows } from "@/components/List/types";
import type { Listing } from "@/components/List/useList";
import { Empty } from "@/components/States";
import { Time } from "@/components/Time";
import { duration, number, shortUrl } from "@/lib/format";
import type { Shown } from "@/lib/resource";
import { pagePath, short, type Run } from "@/lib/watch";

const STATUSES: Run["status"][] = ["in_progress", "completed", "partial", "failed"];

export const FILTERS: Filter[] = [
  {
    name: "status",
    label: "Status",
    kind: "choice",
    any: "Any status",
    options: STATUSES.map((status) => [status, status.replaceAll("_", " ")]),
  },
];

export const COLUMNS: Column<Run>[] = [
  { id: "startedAt", name: "Started", sort: "startedAt", width: 130, grow: 2, cell: ({ startedAt }) => <Time at={startedAt} /> },
  { id: "status", name: "Status", width: 105, grow: 1, cell: ({ status }) => <StatusBadge status={status} /> },
  { id: "trigger", name: "By", width: 80, cell: ({ trigger }) => <Line>{trigger}</Line> },
  {
    id: "pages",
    exported: ["pagesProcessed", "pagesTotal"],
    name: "Pages",
    width: 80,
    isNumber: true,
    cell: (run) => <Progress run={run} />,
  },
  {
    id: "changes",
    exported: ["changesDetected"],
    name: "Changes",
    width: 80,
    isNumber: true,
    cell: (run) => number(run.changesDetected),
  },
  {
    id: "prices",
    exported: ["priceChangesDetected"],
    name: "Price changes",
    width: 105,
    isNumber: true,
    cell: (run) => number(run.priceChangesDetected),
  },
  {
    id: "failed",
    exported: ["pagesFailed", "failures"],
    name: "Failed",
    width: 65,
    isNumber: true,
    cell: ({ pagesFailed }) => <span className={pagesFailed > 0 ? "text-bad" : ""}>{number(pagesFailed)}</span>,
  },
  {
    id: "took",
    exported: ["runDuration"],
    name: "Took",
    width: 90,
    isNumber: true,
    cell: (run) => (run.status === "in_progress" ? null : duration(run.runDuration)),
  },
];

/** The runs of one watch. `asked` is what the API is asked for. */
export function Runs({ list, from, asked }: { list: Listing<Run>; from: Shown<Rows<Run>>; asked: object }) {
  return (
    <List
      {...list}
      name="Runs"
      what={["run", "runs"]}
      from={from}
      keyOf={({ runId }) => runId}
      nameOf={({ runId }) => runId}
      below={(run) => run.failures.length > 0 && <Failures run={run} />}
      usualSort="-startedAt"
      exports={{ path: "/api/watch/runs/export", file: "runs", query: asked }}
      empty={
        <Empty title="No runs stored">
          A run appears when its pages are checked. Run now checks them at once.
        </Empty>
      }
    />
  );
}

function Progress({ run }: { run: Run }) {
  if (run.status !== "in_progress" || run.pagesTotal === null) return number(run.pagesProcessed);
  return (
    <>
      {number(run.pagesProcessed)} of {number(run.pagesTotal)}
      <progress
        className="ml-auto block w-full"
        aria-label="Pages checked"
        value={run.pagesProcessed}
        max={Math.max(run.pagesTotal, 1)}
      />
    </>
  );
}

function Failures({ run }: { run: Run }) {
  return (
    <details>
      <summary className="min-h-6 w-fit cursor-pointer text-accent">Why</summary>
      <ul className="flex flex-col gap-1">
        {run.failures.map(({ url, reason }) => (
          <li key={url} className="wrap-anywhere">
            <To href={pagePath(run.jobId, url)} className="underline">
              {short(shortUrl(url))}
            </To>
            : {reason}
          </li>
        ))}
        {run.pagesFailed > run.failures.length && (
          <li className="text-soft">and {number(run.pagesFailed - run.failures.length)} more</li>
        )}
      </ul>
    </details>
  );
}

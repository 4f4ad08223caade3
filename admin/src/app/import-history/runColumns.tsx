import { Badge, StatusBadge } from "@/components/Badge";
import { Line, Named } from "@/components/List/Text";
import type { Column } from "@/components/List/types";
import { RunProgress } from "@/components/RunProgress";
import { Time } from "@/components/Time";
import { counted, duration, number } from "@/lib/format";
import { durationOf, isCancelled, runAddress, shownStatus, type ImportLog } from "@/lib/importLogs";
import { percent, progressOf } from "@/lib/progress";

function counter(id: keyof ImportLog & `${string}Jobs` | "totalFetched", name: string, width: number): Column<ImportLog> {
  return {
    id,
    name,
    width,
    isNumber: true,
    cell: (run) => <span className={id === "failedJobs" && run[id] > 0 ? "text-bad" : ""}>{number(run[id])}</span>,
  };
}

export const COLUMNS: Column<ImportLog>[] = [
  {
    id: "fileName",
    exported: ["sourceName", "fileName"],
    name: "FileName",
    width: 140,
    grow: 2,
    cell: (run) => <Named href={runAddress(run.runId)} name={run.sourceName} url={run.fileName} />,
  },
  { id: "startedAt", name: "Import Date/Time", sort: "startedAt", width: 130, grow: 1, cell: (run) => <Time at={run.startedAt} /> },
  {
    id: "status",
    exported: ["status", "error"],
    name: "Status",
    width: 114,
    grow: 1,
    isWide: ({ error }) => error !== null,
    cell: (run) => <Status run={run} />,
  },
  counter("totalFetched", "Total", 56),
  counter("newJobs", "New", 52),
  counter("updatedJobs", "Updated", 68),
  counter("unchangedJobs", "Unchanged", 86),
  counter("failedJobs", "Failed", 52),
  { ...counter("duplicateJobs", "Duplicate", 80), isExtra: true },
  { ...counter("closedJobs", "Closed", 66), isExtra: true },
  { id: "trigger", name: "Started by", width: 95, isExtra: true, cell: ({ trigger }) => <Line>{trigger}</Line> },
  {
    id: "duration",
    exported: ["startedAt", "finishedAt"],
    name: "Took",
    width: 95,
    isExtra: true,
    isNumber: true,
    cell: (run) => duration(durationOf(run)),
  },
];

/** Why a run failed. */
export function failureOf(run: ImportLog): string | null {
  return run.status === "running" || isCancelled(run) ? null : run.error;
}

/** No higher than a row is anyway, so that nothing moves when the run ends. */
function Status({ run }: { run: ImportLog }) {
  if (run.status !== "running") {
    const note = failureOf(run) === null && noteOf(run);
    return (
      <>
        <StatusBadge status={shownStatus(run)} />
        {note && <Line className="text-xs leading-4 text-soft tabular-nums">{note}</Line>}
      </>
    );
  }
  const { part, words, phase } = progressOf(run);
  return (
    <span className="block w-28" title={`${phase}: ${words}`}>
      <span className="flex items-center justify-between gap-2">
        {run.cancelRequested ? <Badge tone="warn">ending</Badge> : <StatusBadge status={run.status} />}
        {part !== null && <span className="text-xs text-soft tabular-nums">{percent(part)}</span>}
      </span>
      <RunProgress run={run} className="mt-0.5" />
    </span>
  );
}

/** What the counters don't tell. */
function noteOf(run: ImportLog): string {
  if (run.meta.notModified) return "feed unchanged";
  return run.duplicateJobs > 0 ? counted(run.duplicateJobs, "duplicate") : "";
}

"use client";

import { useRouter } from "next/navigation";
import { useEffect, useRef, useState, type MouseEvent } from "react";
import { Badge, StatusBadge } from "@/components/Badge";
import { To, UrlText } from "@/components/Links";
import { RunProgress } from "@/components/RunProgress";
import { Table, Td, Th } from "@/components/Table";
import { Time } from "@/components/Time";
import { counted, number, shortUrl } from "@/lib/format";
import { isCancelled, runAddress, shownStatus, type ImportLog } from "@/lib/importLogs";
import { useNarrow } from "@/lib/narrow";
import { percent, progressOf } from "@/lib/progress";

const MARKED_MS = 1500;
const TIGHT = "!px-2 last:!pr-4 sm:last:!pr-5";
const COUNTERS: [string, (run: ImportLog) => number][] = [
  ["Total", (run) => run.totalFetched],
  ["New", (run) => run.newJobs],
  ["Updated", (run) => run.updatedJobs],
  ["Unchanged", (run) => run.unchangedJobs],
  ["Failed", (run) => run.failedJobs],
];

type RunProps = { run: ImportLog; isNew: boolean };

/** A table; cards where its counters would be out of sight. `loaded` are the runs that came with the
 * page: others came live, and are marked as new. */
export function RunTable({ rows, loaded }: { rows: ImportLog[]; loaded: ReadonlySet<string> }) {
  const each = rows.map((run) => ({ key: run.runId, run, isNew: !loaded.has(run.runId) }));
  if (useNarrow()) {
    return (
      <ul aria-label="Import runs" className="-mx-4 border-t border-line sm:-mx-5">
        {each.map(({ key, ...props }) => (
          <RunCard key={key} {...props} />
        ))}
      </ul>
    );
  }
  return (
    <Table label="Import runs">
      <thead>
        <tr>
          <Th>FileName</Th>
          <Th>Import Date/Time</Th>
          <Th className="min-w-40">Status</Th>
          {COUNTERS.map(([name]) => (
            <Th key={name} isNumber className={TIGHT}>
              {name}
            </Th>
          ))}
        </tr>
      </thead>
      <tbody>
        {each.map(({ key, ...props }) => (
          <RunRow key={key} {...props} />
        ))}
      </tbody>
    </Table>
  );
}

function RunRow({ run, isNew }: RunProps) {
  return (
    <tr {...useOpenable(run, isNew)}>
      <Td className="min-w-48">
        <Name run={run} />
      </Td>
      <Td>
        <Time at={run.startedAt} />
      </Td>
      <Td>
        <Status run={run} />
      </Td>
      {COUNTERS.map(([name, of]) => (
        <Td key={name} isNumber className={`${TIGHT} ${lookOf(name, of(run))}`}>
          {number(of(run))}
        </Td>
      ))}
    </tr>
  );
}

function RunCard({ run, isNew }: RunProps) {
  const { className, ...openable } = useOpenable(run, isNew);
  return (
    <li className={`border-b border-line px-4 py-3 sm:px-5 ${className}`} {...openable}>
      <Name run={run} />
      <div className="my-2 flex flex-wrap items-center gap-2 text-sm">
        <span className="mr-auto">
          <Time at={run.startedAt} />
        </span>
        <Status run={run} />
      </div>
      <dl className="flex flex-wrap justify-between gap-x-3 gap-y-1 text-sm tabular-nums">
        {COUNTERS.map(([name, of]) => (
          <div key={name}>
            <dt className="text-xs text-soft">{name}</dt>
            <dd className={lookOf(name, of(run))}>{number(of(run))}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

function lookOf(name: string, count: number): string {
  return name === "Failed" && count > 0 ? "text-bad" : "";
}

function Name({ run }: { run: ImportLog }) {
  return (
    <>
      <To href={runAddress(run.runId)} className="font-medium wrap-anywhere">
        <UrlText url={run.sourceName} />
      </To>
      <div title={run.fileName} className="line-clamp-2 text-sm wrap-anywhere text-soft">
        <UrlText url={shortUrl(run.fileName)} />
      </div>
    </>
  );
}

/** No higher than a row is anyway, so that nothing moves when the run ends. */
function Status({ run }: { run: ImportLog }) {
  if (run.status !== "running") {
    const note = noteOf(run);
    return (
      <>
        <StatusBadge status={shownStatus(run)} />
        {note && <div className="text-sm text-soft tabular-nums">{note}</div>}
        {run.error && !isCancelled(run) && (
          <div title={run.error} className="text-sm text-bad wrap-anywhere lg:line-clamp-1 lg:w-36 2xl:w-72">
            {run.error}
          </div>
        )}
      </>
    );
  }
  const { part, words, phase } = progressOf(run);
  return (
    <div className="w-32" title={`${phase}: ${words}`}>
      <div className="flex items-center justify-between gap-2">
        {run.cancelRequested ? <Badge tone="warn">ending</Badge> : <StatusBadge status={run.status} />}
        {part !== null && <span className="text-sm text-soft tabular-nums">{percent(part)}</span>}
      </div>
      <RunProgress run={run} className="mt-1.5" />
    </div>
  );
}

/** What the counters don't tell. */
function noteOf(run: ImportLog): string {
  if (run.meta.notModified) return "feed unchanged";
  return run.duplicateJobs > 0 ? counted(run.duplicateJobs, "duplicate") : "";
}

/** A click anywhere opens the run (by keyboard its link does), and a change marks it for a moment. */
function useOpenable(run: ImportLog, isNew: boolean) {
  const router = useRouter();
  const isMarked = useMark(run.updatedAt, isNew);
  const onClick = (event: MouseEvent) => {
    const isLink = event.target instanceof Element && event.target.closest("a") !== null;
    const isSelecting = window.getSelection()?.isCollapsed === false;
    if (!isLink && !isSelecting) router.push(runAddress(run.runId));
  };
  const look = isMarked ? "bg-accent-pale/60" : "transition-colors duration-1000 hover:bg-page";
  return { onClick, className: `cursor-pointer ${look}`, "data-run": run.runId, "data-updated": run.updatedAt };
}

/** True for a moment after each change. */
function useMark(updatedAt: string, isNew: boolean): boolean {
  const [isMarked, setMarked] = useState(isNew);
  const before = useRef(isNew ? "" : updatedAt);
  useEffect(() => {
    if (before.current === updatedAt) return;
    before.current = updatedAt;
    setMarked(true);
    const timer = setTimeout(() => setMarked(false), MARKED_MS);
    return () => clearTimeout(timer);
  }, [updatedAt]);
  return isMarked;
}

"use client";

import { useEffect, useState, type ReactNode } from "react";
import { Card, Figure } from "@/components/Card";
import { To } from "@/components/Links";
import { RunProgress } from "@/components/RunProgress";
import { Facts } from "@/components/Table";
import { Time } from "@/components/Time";
import { bytes, counted, duration, number } from "@/lib/format";
import { durationOf, handled, isCancelled, runAddress, type ImportLog } from "@/lib/importLogs";
import { percent, progressOf } from "@/lib/progress";

const ENDED: Record<string, string> = { completed: "Finished", partial: "Partly finished", failed: "Failed" };
const TICK_MS = 1000;
const TRIGGERS: Record<string, string> = {
  schedule: "by schedule",
  manual: "by hand",
  cli: "on the command line",
  retry: "as a retry",
};

export function Summary({ run }: { run: ImportLog }) {
  return (
    <>
      <Trouble run={run} />
      <Progress run={run} />
      <section aria-labelledby="records">
        <h2 id="records" className="sr-only">
          Records
        </h2>
        <Figures run={run} />
        {run.status !== "running" && <Sum run={run} />}
      </section>
    </>
  );
}

function Trouble({ run }: { run: ImportLog }) {
  if (isCancelled(run)) {
    return (
      <p className="rounded-lg border border-warn bg-warn-pale p-4 text-warn">
        This run was cancelled. What it had stored by then stays.
      </p>
    );
  }
  if (run.error) {
    return (
      <div className="rounded-lg border border-bad bg-bad-pale p-4 text-bad">
        <p className="font-medium">{run.status === "failed" ? "The import failed" : "Partly failed"}</p>
        <p className="mt-1 wrap-anywhere">{run.error}</p>
      </div>
    );
  }
  if (run.meta.notModified) {
    return (
      <p className="rounded-lg border border-line bg-card p-4">
        The feed had not changed since its last import, so there was nothing to do.
      </p>
    );
  }
  return null;
}

function Progress({ run }: { run: ImportLog }) {
  const { part, words, phase } = progressOf(run);
  const { meta } = run;
  const size = meta.bytesTotal && meta.bytesTotal !== meta.bytesRead ? ` of ${bytes(meta.bytesTotal)}` : "";
  const facts: [string, ReactNode][] = [
    ["Started", <StartedBy key="started" run={run} />],
    ["Finished", <Time key="finished" at={run.finishedAt} />],
    ["Feed", meta.bytesRead > 0 ? `${bytes(meta.bytesRead)}${size}${meta.format ? `, ${meta.format}` : ""}` : "–"],
    ["Batches", `${counted(meta.batchSize, "record")} each, up to ${number(meta.concurrency)} at a time`],
    ["Run", <span key="run" className="font-mono text-sm">{run.runId}</span>],
  ];
  return (
    <Card title={isCancelled(run) ? "Cancelled" : (ENDED[run.status] ?? phase)}>
      <RunProgress run={run} />
      <p className="mt-2 mb-4 flex justify-between gap-4 text-soft tabular-nums">
        <span>{words}</span>
        {part !== null && <span>{percent(part)}</span>}
      </p>
      <Facts items={facts} />
    </Card>
  );
}

function StartedBy({ run }: { run: ImportLog }) {
  return (
    <>
      <Time at={run.startedAt} />, {TRIGGERS[run.trigger] ?? run.trigger}
      {run.retryOf && (
        <>
          {" "}
          of <To href={runAddress(run.retryOf)}>an earlier run</To>
        </>
      )}
    </>
  );
}

function Figures({ run }: { run: ImportLog }) {
  const ms = durationOf(run);
  const figures: [string, ReactNode, string?][] = [
    ["Fetched", number(run.totalFetched), "in the feed"],
    ["Imported", number(run.totalImported), "new and updated"],
    ["New", number(run.newJobs)],
    ["Updated", number(run.updatedJobs)],
    ["Unchanged", number(run.unchangedJobs)],
    ["Duplicates", number(run.duplicateJobs), "within the feed"],
    ["Failed", number(run.failedJobs)],
    ["Closed", number(run.closedJobs), "left the feed"],
    ["Repaired", number(run.repaired), "faults in the feed"],
    ["Batches", number(run.meta.processedBatches), batchesHint(run)],
    ["Duration", run.status === "running" ? <Elapsed key="elapsed" run={run} /> : duration(ms)],
    ["Rate", ms > 0 ? number(Math.round((handled(run) * 1000) / ms)) : "–", "records a second"],
  ];
  return (
    <dl className="grid grid-cols-2 gap-3 md:grid-cols-4 xl:grid-cols-6">
      {figures.map(([name, value, hint]) => (
        <Figure key={name} name={name} hint={hint}>
          {value}
        </Figure>
      ))}
    </dl>
  );
}

/** It goes on while nothing else of the run changes. */
function Elapsed({ run }: { run: ImportLog }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return duration(Math.max(durationOf(run), now - Date.parse(run.startedAt)));
}

function batchesHint({ meta }: ImportLog): string {
  return meta.totalBatches === null ? "stored" : `of ${number(meta.totalBatches)} stored`;
}

/** Every record is accounted for, once. */
function Sum({ run }: { run: ImportLog }) {
  const parts = [
    `${number(run.newJobs)} new`,
    `${number(run.updatedJobs)} updated`,
    `${number(run.unchangedJobs)} unchanged`,
    `${number(run.duplicateJobs)} duplicate`,
    `${number(run.failedJobs)} failed`,
  ];
  const isExact = handled(run) === run.totalFetched;
  return (
    <p className={`mt-3 text-sm tabular-nums ${isExact ? "text-soft" : "text-bad"}`}>
      {number(run.totalFetched)} fetched {isExact ? "=" : "≠"} {parts.join(" + ")}
      {!isExact && `: these figures do not add up, ${run.error ? "see above" : "which is a fault of Webloom"}.`}
    </p>
  );
}

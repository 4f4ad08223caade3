"use client";

import { Card } from "@/components/Card";
import { StatusBadge } from "@/components/Badge";
import { To } from "@/components/Links";
import { Loaded } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import { counted, number, timeOf } from "@/lib/format";
import { loadRuns, NO_FILTERS, runAddress, shownStatus, withHeard, type ImportLog } from "@/lib/importLogs";
import { useResource } from "@/lib/resource";

const RUNS = 30;
const FEWEST_PLACES = 12; // so that a few runs don't look like a wall
const HEIGHT = 96;
const GROUND = HEIGHT - 6; // below it is the mark of this run
const LEAST = 3; // of a part that is there

/** The last runs of the feed, this one among them or not. */
export function History({ run, heard }: { run: ImportLog; heard: ReadonlyMap<string, ImportLog> }) {
  const filters = { ...NO_FILTERS, sourceUrl: run.sourceUrl };
  const history = useResource(run.sourceUrl, (signal) => loadRuns(filters, 1, signal, { limit: RUNS }));
  return (
    <Card title="History of the feed">
      <Loaded from={history} lines={6}>
        {(page) => {
          const { rows, total } = withHeard(page, heard, filters);
          return <Runs runs={rows} total={total} current={run.runId} />;
        }}
      </Loaded>
    </Card>
  );
}

function Runs({ runs, total, current }: { runs: ImportLog[]; total: number; current: string }) {
  const sum = (of: (run: ImportLog) => number) => number(runs.reduce((all, run) => all + of(run), 0));
  const failed = runs.filter(isFailed).length;
  const words =
    `${counted(runs.length, "run")}${failed > 0 ? `, ${number(failed)} failed` : ""}: ` +
    `${sum((run) => run.newJobs)} new, ` +
    `${sum((run) => run.updatedJobs)} updated, ${sum((run) => run.failedJobs)} not imported, ` +
    `of ${sum((run) => run.totalFetched)} records fetched`;
  return (
    <>
      <Chart runs={[...runs].reverse()} label={words} current={current} />
      <div className="mt-1 flex flex-wrap justify-between gap-x-4 text-sm text-soft">
        <Time at={runs.at(-1)?.startedAt} />
        <Time at={runs[0]?.startedAt} />
      </div>
      <ul aria-hidden="true" className="mt-2 flex flex-wrap gap-4 text-sm">
        <Key look="fill-accent" name="new" />
        <Key look="fill-good" name="updated" />
        <Key look="fill-bad" name="failed" />
        <Key look="fill-ink" name="under a bar: this run" />
      </ul>
      <p className="mt-2 text-soft">
        {total > runs.length ? "The last " : ""}
        {words}.
      </p>
      <details className="mt-2">
        <summary className="cursor-pointer text-accent">The figures</summary>
        <div className="mt-2 px-4 sm:px-5">
          <Figures runs={runs} current={current} />
        </div>
      </details>
    </>
  );
}

function Key({ look, name }: { look: string; name: string }) {
  return (
    <li className="flex items-center gap-1.5">
      <svg viewBox="0 0 10 10" className="size-3">
        <rect width="10" height="10" rx="2" className={look} />
      </svg>
      {name}
    </li>
  );
}

/** Stacked bars, the oldest run first; the latest is always at the right. */
function Chart({ runs, label, current }: { runs: ImportLog[]; label: string; current: string }) {
  const places = Math.max(runs.length, FEWEST_PLACES);
  const width = 100 / places;
  const most = Math.max(1, ...runs.map((run) => run.totalImported + run.failedJobs));
  const tall = (count: number) => (count === 0 ? 0 : Math.max(LEAST, (count / most) * (GROUND - 6)));
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 100 ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block w-full"
      height={HEIGHT}
    >
      <line x1="0" x2="100" y1={GROUND} y2={GROUND} className="stroke-line" vectorEffect="non-scaling-stroke" />
      {runs.map((run, index) => {
        const x = (places - runs.length + index) * width;
        const parts: [number, string][] = [
          [tall(run.newJobs), "fill-accent"],
          [tall(run.updatedJobs), "fill-good"],
          [tall(run.failedJobs) || (isFailed(run) ? LEAST : 0), "fill-bad"],
        ];
        const left = x + width * 0.15;
        let top = GROUND;
        return (
          <g key={run.runId}>
            <title>{inWords(run)}</title>
            <rect x={x} y={0} width={width} height={HEIGHT} fill="transparent" />
            {parts.map(([height, look]) => {
              top -= height;
              return <rect key={look} x={left} y={top} width={width * 0.7} height={height} className={look} />;
            })}
            {run.runId === current && (
              <rect x={left} y={HEIGHT - 3} width={width * 0.7} height={3} className="fill-ink" />
            )}
          </g>
        );
      })}
    </svg>
  );
}

/** As a whole, whatever its records. */
function isFailed(run: ImportLog): boolean {
  return shownStatus(run) === "failed";
}

function inWords(run: ImportLog): string {
  return (
    `${timeOf(run.startedAt)}, ${shownStatus(run)}: ${number(run.newJobs)} new, ${number(run.updatedJobs)} updated, ` +
    `${number(run.failedJobs)} failed, of ${number(run.totalFetched)}`
  );
}

function Figures({ runs, current }: { runs: ImportLog[]; current: string }) {
  return (
    <Table label="Runs of the feed">
      <Head
        columns={{
          Started: "text",
          Status: "text",
          Total: "number",
          New: "number",
          Updated: "number",
          Failed: "number",
        }}
      />
      <tbody>
        {runs.map((run) => (
          <tr key={run.runId}>
            <Td>
              {run.runId === current ? (
                <>
                  <Time at={run.startedAt} /> (this run)
                </>
              ) : (
                <To href={runAddress(run.runId)}>
                  <Time at={run.startedAt} />
                </To>
              )}
            </Td>
            <Td>
              <StatusBadge status={shownStatus(run)} />
            </Td>
            <Td isNumber>{number(run.totalFetched)}</Td>
            <Td isNumber>{number(run.newJobs)}</Td>
            <Td isNumber>{number(run.updatedJobs)}</Td>
            <Td isNumber>{number(run.failedJobs)}</Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

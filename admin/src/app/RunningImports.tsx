import { To } from "@/components/Links";
import { RunProgress } from "@/components/RunProgress";
import { Empty } from "@/components/States";
import { LinkButton } from "@/components/Button";
import type { Schema } from "@/lib/api";
import { counted } from "@/lib/format";
import { progressOf } from "@/lib/progress";

export function RunningImports({ runs, feeds }: { runs: Schema<"ImportLog">[]; feeds: number }) {
  if (runs.length === 0) {
    return feeds === 0 ? (
      <Empty title="No feeds yet">
        <LinkButton href="/feeds/new">Add a feed</LinkButton>
      </Empty>
    ) : (
      <Empty title="No imports running">
        <LinkButton href="/import-history">Import history</LinkButton>
      </Empty>
    );
  }
  return (
    <ul className="flex flex-col gap-4">
      {runs.map((run) => (
        <li key={run.runId}>
          <div className="flex flex-wrap justify-between gap-x-4">
            <To href={`/import-history/${run.runId}`} className="wrap-anywhere">
              {run.sourceName}
            </To>
            <span className="text-soft tabular-nums">{counted(run.totalFetched, "item")}</span>
          </div>
          <RunProgress run={run} className="mt-1" />
          <p className="text-sm text-soft tabular-nums">{progressOf(run).words}</p>
        </li>
      ))}
    </ul>
  );
}

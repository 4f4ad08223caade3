"use client";

import { LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { Badge, StatusBadge } from "@/components/Badge";
import { Out, To } from "@/components/Links";
import { PageSkeleton } from "@/components/Skeleton";
import { Empty, ErrorBox } from "@/components/States";
import { usePathPart } from "@/lib/address";
import { api, ApiError, type Schema } from "@/lib/api";
import { laterOf, shownStatus } from "@/lib/importLogs";
import { useCalmly, useHeardRuns } from "@/lib/importLogsLive";
import { useResource } from "@/lib/resource";
import { Actions } from "./Actions";
import { Failures } from "./Failures";
import { History } from "./History";
import { Summary } from "./Summary";

const RELOAD_MS = 1000;

export function View() {
  const runId = usePathPart(1);
  const detail = useResource(runId, (signal) => api.get("/api/import-logs/{runId}", { path: { runId }, signal }));
  const reloadSoon = useCalmly(detail.reload, RELOAD_MS);
  const heard = useHeardRuns(
    (run) => {
      // Its failures are not in the event.
      if (run.runId === runId && run.failedJobs !== detail.data?.failedJobs) reloadSoon();
    },
    () => {
      if (detail.error === undefined) detail.reload();
    },
  );

  if (detail.data === undefined) {
    const { error } = detail;
    if (error === undefined) return <PageSkeleton />;
    const isMissing = error instanceof ApiError && (error.status === 404 || error.status === 422);
    return (
      <>
        <PageHead title="Import run" />
        {isMissing ? <NoSuchRun /> : <ErrorBox error={error} onRetry={detail.reload} />}
      </>
    );
  }
  const run: Schema<"ImportLogDetail"> = laterOf(detail.data, heard.get(runId));
  return (
    <>
      <p className="mb-2 text-sm">
        <To href="/import-history">Import history</To>
      </p>
      <PageHead title={run.sourceName} actions={<Actions key={runId} run={run} onChange={detail.reload} />}>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <StatusBadge status={shownStatus(run)} />
          {run.cancelRequested && run.status === "running" && <Badge tone="warn">stopping</Badge>}
          <Out url={run.sourceUrl} />
        </div>
      </PageHead>
      <div className="flex flex-col gap-6" data-run={run.runId} data-updated={run.updatedAt}>
        <Summary run={run} />
        <Failures run={run} />
        <History run={run} heard={heard} />
      </div>
    </>
  );
}

function NoSuchRun() {
  return (
    <Card>
      <Empty title="Run not found">
        <p>Its address may be misspelt, or the run is no longer kept.</p>
        <LinkButton href="/import-history" kind="primary">
          All imports
        </LinkButton>
      </Empty>
    </Card>
  );
}

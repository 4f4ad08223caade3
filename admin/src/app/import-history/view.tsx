"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { Pager } from "@/components/Pager";
import { RunNotice } from "@/components/RunNotice";
import { Skeleton } from "@/components/Skeleton";
import { Empty, ErrorBox } from "@/components/States";
import { useAddress } from "@/lib/address";
import { api } from "@/lib/api";
import {
  filtersIn,
  fits,
  loadRuns,
  NO_FILTERS,
  pageIn,
  withHeard,
  type Filters,
  type ImportLogsPage,
  type StartedRun,
} from "@/lib/importLogs";
import { useCalmly, useHeardRuns } from "@/lib/importLogsLive";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { FilterBar } from "./Filters";
import { RunNow } from "./RunNow";
import { RunTable } from "./RunTable";

const RELOAD_MS = 2000;

type Loaded = { page: ImportLogsPage; filters: Filters };

export function View() {
  const [address, change] = useAddress();
  const filters = filtersIn(address);
  const page = pageIn(address);
  const [started, setStarted] = useState<StartedRun[] | null>(null);
  const feeds = useResource("feeds", (signal) => api.get("/api/feeds", { signal }));
  const runs = useSteady(
    useResource<Loaded>(JSON.stringify([filters, page]), async (signal) => ({
      page: await loadRuns(filters, page, signal),
      filters,
    })),
  );
  const reloadSoon = useCalmly(runs.reload, RELOAD_MS);
  const shown = runs.data;
  const heard = useHeardRuns((run, before) => {
    // What is heard is shown at once; where it may change which runs belong here, the server decides.
    const isShown = shown?.page.data.some(({ runId }) => runId === run.runId) ?? false;
    const isNews = before?.status !== run.status;
    if (isNews && isShown !== fits(filters, run) && (isShown || page === 1)) reloadSoon();
    if (isNews && feeds.data?.data.every(({ feedId }) => feedId !== run.feedId)) feeds.reload();
  }, runs.reload);

  const choose = (given: Partial<Filters>, how: "push" | "replace" = "push") => change({ ...given, page: null }, how);
  const content = () => {
    if (shown === undefined) {
      return runs.error === undefined ? <Skeleton lines={16} /> : <ErrorBox error={runs.error} onRetry={runs.reload} />;
    }
    const { rows, total } = withHeard(shown.page, heard, shown.filters);
    const pages = Math.ceil(total / shown.page.limit);
    if (rows.length === 0 && shown.page.page > 1) {
      return (
        <Empty title={`There is no page ${shown.page.page}`}>
          <Button onClick={() => change({ page: pages > 1 ? pages : null })}>Go to the last page</Button>
        </Empty>
      );
    }
    if (rows.length === 0) {
      const isFiltered = Object.values(shown.filters).some(Boolean);
      return isFiltered ? (
        <Empty title="No runs match these filters">
          <Button onClick={() => choose(NO_FILTERS)}>Clear the filters</Button>
        </Empty>
      ) : (
        <NoRuns hasFeeds={feeds.data === undefined || feeds.data.total > 0} />
      );
    }
    return (
      <div aria-busy={runs.isLoading}>
        <RunTable rows={rows} loaded={new Set(shown.page.data.map(({ runId }) => runId))} />
        <Pager
          page={shown.page.page}
          pages={pages}
          total={total}
          what={total === 1 ? "run" : "runs"}
          onPage={(next) => change({ page: next > 1 ? next : null })}
        />
      </div>
    );
  };
  return (
    <>
      <PageHead title="Import history" actions={<RunNow feeds={feeds} onRuns={setStarted} />}>
        Every import of every feed, the latest first.
      </PageHead>
      {started && <RunNotice runs={started} onDismiss={() => setStarted(null)} />}
      <Card>
        <FilterBar filters={filters} onChange={choose} />
        {content()}
      </Card>
    </>
  );
}

function NoRuns({ hasFeeds }: { hasFeeds: boolean }) {
  return hasFeeds ? (
    <Empty title="No imports yet">Feeds are imported by their schedule; Run Import Now starts one at once.</Empty>
  ) : (
    <Empty title="No imports yet">
      <p>Imports read job postings from feeds, and there is no feed yet.</p>
      <LinkButton href="/feeds" kind="primary">
        Add a feed
      </LinkButton>
    </Empty>
  );
}

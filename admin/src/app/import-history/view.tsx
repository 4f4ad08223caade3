"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { PageHead } from "@/components/Card";
import { List } from "@/components/List/List";
import { Reason } from "@/components/List/Text";
import type { BulkAction, Filter } from "@/components/List/types";
import { useList } from "@/components/List/useList";
import { RunNotice } from "@/components/RunNotice";
import { Empty } from "@/components/States";
import { useAddress } from "@/lib/address";
import { api } from "@/lib/api";
import {
  filtersIn,
  fits,
  loadRuns,
  pageIn,
  queryOf,
  runAddress,
  STATUSES,
  withHeard,
  type Filters,
  type ImportLogsPage,
  type StartedRun,
} from "@/lib/importLogs";
import { useCalmly, useHeardRuns } from "@/lib/importLogsLive";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { COLUMNS, failureOf } from "./runColumns";
import { RunNow } from "./RunNow";

const RELOAD_MS = 2000;

const FILTERS: Filter[] = [
  { name: "status", label: "Status", kind: "choice", any: "Any status", options: STATUSES.map((each) => [each, each]) },
  { name: "from", label: "From", kind: "day" },
  { name: "to", label: "To", kind: "day" },
];

const BULK: BulkAction[] = [
  {
    name: "Retry",
    body: { action: "retry" },
    about: "Their feeds are imported again. Feeds that have been imported completely since a failed run are skipped.",
    done: "started again",
  },
];

type Loaded = { page: ImportLogsPage; filters: Filters; isTurned: boolean };

export function View() {
  const [address] = useAddress();
  const [started, setStarted] = useState<StartedRun[] | null>(null);
  const feeds = useResource("feeds", (signal) => api.get("/api/feeds", { signal }));
  const source = address.get("sourceUrl");
  const sources: Filter = {
    name: "sourceUrl",
    label: "Feed",
    kind: "choice",
    any: "All feeds",
    options: (feeds.data?.data ?? []).map((feed) => [feed.sourceUrl, feed.name]),
  };
  const list = useList(COLUMNS, source ? [...FILTERS, sources] : FILTERS);
  const { change, asked } = list;
  const filters = filtersIn(new URLSearchParams({ ...asked.filters, q: asked.q }));
  const isTurned = asked.sort === "startedAt"; // the oldest first
  const page = pageIn(address);
  const runs = useSteady(
    useResource<Loaded>(JSON.stringify([filters, isTurned, page]), async (signal) => ({
      page: await loadRuns(filters, page, signal, { isTurned }),
      filters,
      isTurned,
    })),
  );
  const reloadSoon = useCalmly(runs.reload, RELOAD_MS);
  const shown = runs.data;
  const heard = useHeardRuns((run, before) => {
    // What is heard is shown at once; where it may change which runs belong here, the server decides.
    const isShown = shown?.page.data.some(({ runId }) => runId === run.runId) ?? false;
    const isNews = before?.status !== run.status;
    if (isNews && isShown !== fits(filters, run) && (isShown || page === 1 || isTurned)) reloadSoon();
    if (isNews && feeds.data?.data.every(({ feedId }) => feedId !== run.feedId)) feeds.reload();
  }, runs.reload);

  const seen = shown && withHeard(shown.page, heard, shown.filters, shown.isTurned);
  const loaded = new Set(shown?.page.data.map(({ runId }) => runId));
  const pages = Math.max(1, Math.ceil((seen?.total ?? 0) / (shown?.page.limit ?? 1)));
  const turn = (to: number) => change({ page: to > 1 ? to : null });
  const isBeyond = shown !== undefined && seen?.rows.length === 0 && shown.page.page > 1;
  return (
    <>
      <PageHead title="Import history" actions={<RunNow feeds={feeds} onRuns={setStarted} />}>
        Every import of every feed.
      </PageHead>
      {started && <RunNotice runs={started} onDismiss={() => setStarted(null)} />}
      <List
        {...list}
        name="Import runs"
        what={["run", "runs"]}
        from={{ ...runs, data: seen && { data: seen.rows, nextCursor: null, total: seen.total } }}
        keyOf={({ runId }) => runId}
        nameOf={({ sourceName }) => sourceName}
        below={(run) => failureOf(run) && <Reason>{failureOf(run)}</Reason>}
        hrefOf={({ runId }) => runAddress(runId)}
        stampOf={({ updatedAt }) => updatedAt}
        fresh={new Set(seen?.rows.map(({ runId }) => runId).filter((id) => !loaded.has(id)))}
        search="Name or URL of the feed"
        usualSort="-startedAt"
        exports={{ path: "/api/import-logs/export", file: "imports", query: queryOf(filters, isTurned) }}
        bulk={{ path: "/api/import-logs/bulk", actions: BULK, filter: queryOf(filters) }}
        pages={shown && { page: shown.page.page, pages, onPage: turn }}
        nothing={
          isBeyond && (
            <Empty title={`Page ${shown.page.page} does not exist`}>
              <Button onClick={() => turn(pages)}>Go to the last page</Button>
            </Empty>
          )
        }
        noMatch={
          filters.from > filters.to && filters.to !== "" && <p>The first day is after the last, so nothing matches.</p>
        }
        empty={<NoRuns hasFeeds={feeds.data === undefined || feeds.data.total > 0} />}
      />
    </>
  );
}

function NoRuns({ hasFeeds }: { hasFeeds: boolean }) {
  return hasFeeds ? (
    <Empty title="No imports yet">Feeds are imported by their schedule; Run Import Now starts one at once.</Empty>
  ) : (
    <Empty title="No imports yet">
      <p>Imports read job postings from feeds. Add one first.</p>
      <LinkButton href="/feeds" kind="primary">
        Add a feed
      </LinkButton>
    </Empty>
  );
}

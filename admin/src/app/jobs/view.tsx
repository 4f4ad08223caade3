"use client";

import { useState } from "react";
import { Badge } from "@/components/Badge";
import { Button, LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { To } from "@/components/Links";
import { CursorPager } from "@/components/Pager";
import { PostingLine } from "@/components/PostingLine";
import { Empty, Loaded } from "@/components/States";
import { Time } from "@/components/Time";
import { useAddress } from "@/lib/address";
import { api, type Schema } from "@/lib/api";
import { useEvents } from "@/lib/live";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { FilterForm } from "./FilterForm";
import { filtersOf, NAMES, search } from "./filters";

const LATEST_RUNS = 50; // more than go on at a time

export function View() {
  const [address, go] = useAddress();
  const filters = filtersOf(address);
  const cursor = address.get("cursor") ?? "";
  const key = JSON.stringify([filters, cursor]);
  const found = useSteady(
    useResource(key, async (signal) => {
      // First: what is written meanwhile may be missing. Without it, only the word of news is.
      const written = await writtenSoFar(signal).catch(() => undefined);
      return { ...(await search(filters, cursor, signal)), written };
    }),
  );
  const feeds = useResource("feeds", (signal) => api.get("/api/feeds", { signal }));
  const hasNews = useNews(found.data?.written);
  const isFiltered = NAMES.some((name) => filters[name]);
  const turn = (to: string | null) => {
    go({ cursor: to });
    window.scrollTo(0, 0);
  };
  const clear = () => go(Object.fromEntries([...NAMES, "cursor"].map((name) => [name, null])));
  return (
    <>
      <PageHead title="Jobs">Imported postings, most recently published first.</PageHead>
      <Card className="mb-6">
        <FilterForm
          filters={filters}
          feeds={feeds.data?.data ?? []}
          onFilters={(change, how) => go({ ...change, cursor: null }, how)}
          onClear={isFiltered ? clear : null}
        />
      </Card>
      <Card
        title="Postings"
        actions={
          <span className="flex min-h-9 items-center gap-3">
            {found.isLoading && found.data && (
              <span role="status" className="text-soft">
                Looking…
              </span>
            )}
            {hasNews && (
              <>
                <span role="status" className="text-soft">
                  An import has changed postings since this page was loaded.
                </span>
                <Button onClick={() => (cursor ? turn(null) : found.reload())}>Show them</Button>
              </>
            )}
          </span>
        }
      >
        <Loaded from={found} lines={20}>
          {(page) =>
            page.data.length > 0 ? (
              <>
                <ul className="divide-y divide-line">
                  {page.data.map((job) => (
                    <Row key={job.dedupeKey} job={job} />
                  ))}
                </ul>
                <CursorPager
                  isFirst={!cursor}
                  next={page.nextCursor}
                  onFirst={() => turn(null)}
                  onNext={turn}
                />
              </>
            ) : (
              <Nothing
                isFiltered={isFiltered || cursor !== ""}
                hasFeeds={(feeds.data?.total ?? 1) > 0}
                onClear={clear}
                onMore={page.nextCursor === null ? null : () => turn(page.nextCursor)}
              />
            )
          }
        </Loaded>
      </Card>
    </>
  );
}

function Row({ job }: { job: Schema<"JobResponse"> }) {
  return (
    <li className="py-3">
      <PostingLine title={<To href={`/jobs/${encodeURIComponent(job.dedupeKey)}`}>{job.title}</To>} posting={job}>
        <Badge tone={job.open ? "good" : "calm"}>{job.open ? "open" : "closed"}</Badge>
        {job.publishedAt === null && (
          <span>
            first seen <Time at={job.createdAt} ago />
          </span>
        )}
        <span className="text-sm">from {job.sourceName}</span>
      </PostingLine>
    </li>
  );
}

type NothingProps = { isFiltered: boolean; hasFeeds: boolean; onClear: () => void; onMore: (() => void) | null };

function Nothing({ isFiltered, hasFeeds, onClear, onMore }: NothingProps) {
  if (onMore) {
    return (
      <Empty title="Nothing found so far">
        <p>There is more to search.</p>
        <div className="flex flex-wrap justify-center gap-2">
          <Button kind="primary" onClick={onMore}>
            Search further
          </Button>
          <Button onClick={onClear}>Clear the filters</Button>
        </div>
      </Empty>
    );
  }
  if (isFiltered) {
    return (
      <Empty title="No matching postings">
        <Button onClick={onClear}>Clear the filters</Button>
      </Empty>
    );
  }
  return (
    <Empty title="No postings yet">
      <p>{hasFeeds ? "Import a feed to see its postings here." : "Add a feed to see its postings here."}</p>
      <LinkButton href={hasFeeds ? "/feeds" : "/feeds/new"} kind="primary">
        {hasFeeds ? "To the feeds" : "Add a feed"}
      </LinkButton>
    </Empty>
  );
}

type Written = ReadonlyMap<string, number>; // postings that were written or closed, by run

async function writtenSoFar(signal: AbortSignal): Promise<Written> {
  const latest = await api.get("/api/import-logs", { query: { limit: LATEST_RUNS }, signal });
  return new Map(latest.data.map((run) => [run.runId, writtenBy(run)]));
}

function writtenBy(run: Schema<"ImportLog">): number {
  return run.newJobs + run.updatedJobs + run.closedJobs;
}

/** Whether an import has written or closed postings since. The list does not change by itself: nobody
 * can read what moves. The stream may begin with what was written before. */
function useNews(shown: Written | undefined): boolean {
  const [heard, setHeard] = useState<Written>(new Map());
  useEvents("/api/import-logs/stream", ({ event, data }) => {
    if (event !== "import_log") return;
    const run = data as Schema<"ImportLog">;
    const count = writtenBy(run);
    setHeard((before) => (count === (before.get(run.runId) ?? 0) ? before : new Map(before).set(run.runId, count)));
  });
  return shown !== undefined && [...heard].some(([runId, count]) => count > (shown.get(runId) ?? 0));
}

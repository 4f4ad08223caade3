"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { PageHead } from "@/components/Card";
import { List } from "@/components/List/List";
import type { Filter } from "@/components/List/types";
import { useList } from "@/components/List/useList";
import { Empty } from "@/components/States";
import { api, type Schema } from "@/lib/api";
import { useEvents } from "@/lib/live";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { COLUMNS } from "./columns";
import { filtersOf, queryOf, search, type Sort } from "./filters";

const LATEST_RUNS = 50; // more than go on at a time

export function View() {
  const feeds = useResource("feeds", (signal) => api.get("/api/feeds", { signal }));
  const list = useList(COLUMNS, filtersFor(feeds.data?.data ?? []));
  const { asked, change } = list;
  const filters = filtersOf(new URLSearchParams({ ...asked.filters, q: asked.q }));
  const sort = (asked.sort || undefined) as Sort;
  const cursor = asked.cursors.at(-1) ?? "";
  const found = useSteady(
    useResource(JSON.stringify([filters, sort, cursor]), async (signal) => {
      // First: what is written meanwhile may be missing. Without it, only the word of news is.
      const written = await writtenSoFar(signal).catch(() => undefined);
      return { ...(await search(filters, sort, cursor, signal)), written };
    }),
  );
  const hasNews = useNews(found.data?.written);
  return (
    <>
      <PageHead title="Postings">What the feeds have brought.</PageHead>
      {hasNews && (
        <p className="mb-3 flex flex-wrap items-center gap-3 text-soft">
          <span role="status">An import has changed postings since this page was loaded.</span>
          <Button onClick={() => (cursor ? change({ cursor: null }) : found.reload())}>Show them</Button>
        </p>
      )}
      <List
        {...list}
        name="Postings"
        what={["posting", "postings"]}
        from={found}
        keyOf={({ dedupeKey }) => dedupeKey}
        nameOf={({ title }) => title}
        search="Title, company or location"
        usualSort="-publishedAt"
        exports={{ path: "/api/jobs/export", file: "postings", query: { ...queryOf(filters), sort } }}
        empty={<NoPostings hasFeeds={(feeds.data?.total ?? 1) > 0} />}
      />
    </>
  );
}

function filtersFor(feeds: Schema<"FeedResponse">[]): Filter[] {
  return [
    {
      name: "source",
      label: "Source",
      kind: "choice",
      any: "All feeds",
      options: feeds.map(({ sourceUrl, name }) => [sourceUrl, name]),
    },
    {
      name: "open",
      label: "State",
      kind: "choice",
      any: "Any state",
      options: [
        ["true", "open"],
        ["false", "closed"],
      ],
    },
    { name: "company", label: "Company", kind: "text" },
    { name: "location", label: "Location", kind: "text" },
    { name: "from", label: "Published from", kind: "day" },
    { name: "to", label: "until", kind: "day" },
  ];
}

function NoPostings({ hasFeeds }: { hasFeeds: boolean }) {
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

/** Whether an import has written or closed postings since. The list does not change by itself: text
 * that moves can't be read. The stream may begin with what was written before. */
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

"use client";

import { useState } from "react";
import { LinkButton } from "@/components/Button";
import { List } from "@/components/List/List";
import { RowActions } from "@/components/List/RowActions";
import { Line, Named, Reason } from "@/components/List/Text";
import type { Action, Column, Filter } from "@/components/List/types";
import { useList } from "@/components/List/useList";
import { Empty } from "@/components/States";
import { Time } from "@/components/Time";
import { say } from "@/components/Toasts";
import { api, type Schema } from "@/lib/api";
import { counted, number } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { useAfter } from "@/lib/settled";
import { useSteady } from "@/lib/steady";
import { runNow, scheduleWords, useWatchChanges, watchPath } from "@/lib/watch";
import { OF_WATCHES } from "./bulkActions";
import { RemoveWatch, setEnabled } from "./WatchActions";
import { WatchState } from "./WatchState";
import { loadWatches, type Listed, type Sort } from "./watches";

const LIMIT = 100;
const TAGS_MS = 30_000;

const FILTERS: Filter[] = [
  {
    name: "state",
    label: "State",
    kind: "choice",
    any: "Any state",
    options: [
      ["enabled", "on schedule"],
      ["paused", "paused"],
      ["failing", "failing"],
      ["checking", "being checked"],
    ],
  },
];

const COLUMNS: Column<Listed>[] = [
  {
    id: "name",
    exported: ["name", "urls", "tags"],
    name: "Watch",
    sort: "name",
    width: 150,
    grow: 3,
    cell: ({ jobId, name, urls, tags }) => (
      <Named
        href={watchPath(jobId)}
        name={name}
        tags={tags}
        url={urls[0]}
        more={urls.length > 1 ? ` and ${counted(urls.length - 1, "more", "more")}` : ""}
      />
    ),
  },
  {
    id: "state",
    exported: ["enabled", "lastStatus", "lastError", "consecutiveFailures"],
    name: "State",
    width: 118,
    grow: 2,
    cell: (watch) => <WatchState watch={watch} active={watch.active} />,
  },
  {
    id: "schedule",
    name: "Schedule",
    width: 130,
    grow: 1,
    cell: (watch) => <Line>{watch.external ? "by another program" : scheduleWords(watch.schedule)}</Line>,
  },
  {
    id: "lastRunAt",
    name: "Last check",
    sort: "lastRunAt",
    width: 118,
    cell: ({ lastRunAt }) => (lastRunAt === null ? <span className="text-soft">not yet</span> : <Time at={lastRunAt} ago />),
  },
  {
    id: "nextRunAt",
    name: "Next check",
    sort: "nextRunAt",
    width: 106,
    cell: ({ nextRunAt }) => nextRunAt && <Time at={nextRunAt} ago />,
  },
  { id: "urls", name: "Pages", width: 70, isNumber: true, isExtra: true, cell: ({ urls }) => number(urls.length) },
  {
    id: "failures",
    exported: ["consecutiveFailures"],
    name: "Failures",
    sort: "failures",
    width: 95,
    isNumber: true,
    isExtra: true,
    cell: ({ consecutiveFailures }) => number(consecutiveFailures),
  },
  {
    id: "pagesProcessed",
    name: "Checks",
    width: 80,
    isNumber: true,
    isExtra: true,
    cell: ({ pagesProcessed }) => number(pagesProcessed),
  },
  {
    id: "changesDetected",
    name: "Changes",
    width: 85,
    isNumber: true,
    isExtra: true,
    cell: ({ changesDetected }) => number(changesDetected),
  },
  {
    id: "createdAt",
    name: "Added",
    sort: "createdAt",
    width: 118,
    isExtra: true,
    cell: ({ createdAt }) => <Time at={createdAt} ago />,
  },
];

function failureWords({ consecutiveFailures, lastError }: Listed): string {
  if (consecutiveFailures === 0) return "";
  const words = consecutiveFailures === 1 ? [] : [`${counted(consecutiveFailures, "failure")} in a row`];
  return [...words, ...(lastError ? [lastError] : [])].join(": ");
}

/** All watches. */
export function WatchList() {
  const list = useList(COLUMNS, FILTERS);
  const { q, tag, sort, filters, cursors } = list.asked;
  const chosen = { q: q || null, tag: tag || null, state: (filters.state || null) as Schema<"ListedState"> | null };
  const exported = { ...chosen, sort: (sort || null) as Sort };
  const query = { ...exported, limit: LIMIT, cursor: cursors.at(-1) };
  const watches = useSteady(
    useResource(`watches ${JSON.stringify(query)}`, (signal) => loadWatches(query, signal)),
  );
  useWatchChanges(watches.reload);
  const tags = useResource("watch tags", (signal) => api.get("/api/watches/tags", { signal }), { everyMs: TAGS_MS });
  return (
    <List
      {...list}
      name="Watches"
      what={["watch", "watches"]}
      from={useAfter(watches, [tags])}
      search="Name, URL or tag"
      usualSort="name"
      exports={{ path: "/api/watches/export", file: "watches", query: exported }}
      tags={tags.data?.data}
      bulk={{ path: "/api/watches/bulk", actions: OF_WATCHES, filter: chosen, onDone: tags.reload }}
      keyOf={({ jobId }) => jobId}
      nameOf={({ name }) => name}
      actions={(watch) => <Actions watch={watch} onDone={watches.reload} />}
      below={(watch) => failureWords(watch) && <Reason>{failureWords(watch)}</Reason>}
      empty={
        <Empty title="No watches yet">
          <p>Give Webloom pages and a schedule: it keeps every version, every change and the price history.</p>
          <LinkButton href="/watch/new" kind="primary">
            Add a watch
          </LinkButton>
        </Empty>
      }
    />
  );
}

function Actions({ watch, onDone }: { watch: Listed; onDone: () => void }) {
  const [isRemoving, setRemoving] = useState(false);
  const { jobId, name, enabled, external } = watch;
  const doing = (act: () => Promise<string>) => async () => {
    say(await act());
    onDone();
  };
  const own: Action[] = [
    { name: "Run now", act: doing(() => runNow(watch)) },
    { name: enabled ? "Pause" : "Resume", act: doing(() => setEnabled(watch, !enabled)) },
    { name: "Edit", href: `/watch/edit?${new URLSearchParams({ jobId })}` },
  ];
  const remove: Action = { name: "Remove", act: () => setRemoving(true), isDangerous: true };
  return (
    <>
      <RowActions of={name} sign={external ? undefined : "▶"} actions={external ? [remove] : [...own, remove]} />
      {isRemoving && <RemoveWatch watch={watch} onClose={() => setRemoving(false)} onRemoved={onDone} />}
    </>
  );
}

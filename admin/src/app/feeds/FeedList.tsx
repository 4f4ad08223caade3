"use client";

import { useState, type ReactNode } from "react";
import { AddTags, confirming, RemoveTags, settingInterval } from "@/components/List/forms";
import { List } from "@/components/List/List";
import { RowActions } from "@/components/List/RowActions";
import { Line, Named, Reason } from "@/components/List/Text";
import type { BulkAction, Column, Filter } from "@/components/List/types";
import { useList } from "@/components/List/useList";
import { Time } from "@/components/Time";
import { api, type Schema } from "@/lib/api";
import { number } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { useAfter } from "@/lib/settled";
import { useSteady } from "@/lib/steady";
import { importNow, RemoveFeed, setEnabled } from "./FeedActions";
import { failureOf, LastRunOf, Schedule } from "./FeedState";
import { lastRunOf, useRuns, type LastRun } from "./runs";

type Listed = Schema<"FeedResponse"> & { last: LastRun | null };
type Query = NonNullable<NonNullable<Parameters<typeof api.get<"/api/feeds">>[1]>["query"]>;

const LIMIT = 100;
const RELOAD_MS = 30_000; // feeds that were added or changed elsewhere

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
      ["checking", "being imported"],
    ],
  },
];

const BULK: BulkAction[] = [
  {
    name: "Import now",
    body: { action: "run" },
    about: "They are imported now, whatever the schedule.",
    done: "being imported",
  },
  { name: "Pause", body: { action: "pause" }, isUndoable: true, done: "paused" },
  { name: "Resume", body: { action: "resume" }, isUndoable: true, done: "resumed" },
  { name: "Tag", Form: AddTags, isUndoable: true, done: "tagged" },
  { name: "Untag", Form: RemoveTags, isUndoable: true, done: "untagged" },
  {
    name: "Set interval",
    Form: settingInterval((intervalMinutes) => ({ action: "schedule", intervalMinutes })),
    isUndoable: true,
    done: "scheduled",
  },
  {
    name: "Remove",
    Form: confirming({
      title: (count) => `Remove ${count}?`,
      text: "They are no longer imported, and their settings are deleted. Their postings and the history of their imports stay. This can't be undone.",
      yes: "Remove",
      body: { action: "remove" },
    }),
    done: "removed",
    isDangerous: true,
  },
];

const COLUMNS: Column<Listed>[] = [
  {
    id: "name",
    exported: ["name", "url", "tags"],
    name: "Feed",
    sort: "name",
    width: 160,
    grow: 3,
    cell: ({ feedId, name, url, tags }) => <Named href={`/feeds/${feedId}`} name={name} url={url} tags={tags} />,
  },
  {
    id: "lastRunAt",
    exported: ["lastRunAt", "lastStatus", "lastError"],
    name: "Last run",
    sort: "lastRunAt",
    width: 220,
    grow: 3,
    cell: (feed) => <LastRunOf feed={feed} last={feed.last} />,
  },
  {
    id: "schedule",
    exported: ["enabled", "intervalMinutes"],
    name: "Schedule",
    width: 150,
    grow: 1,
    cell: (feed) => <Schedule feed={feed} />,
  },
  { id: "format", name: "Format", width: 90, cell: ({ format }) => <Line>{format}</Line> },
  {
    id: "nextRunAt",
    name: "Next run",
    sort: "nextRunAt",
    width: 118,
    isExtra: true,
    cell: ({ nextRunAt }) => nextRunAt && <Time at={nextRunAt} ago />,
  },
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
    id: "createdAt",
    name: "Added",
    sort: "createdAt",
    width: 118,
    isExtra: true,
    cell: ({ createdAt }) => <Time at={createdAt} ago />,
  },
];

/** All feeds; `empty` is shown while there are none. */
export function FeedList({ empty }: { empty: ReactNode }) {
  const list = useList(COLUMNS, FILTERS);
  const { q, tag, sort, filters, cursors } = list.asked;
  const chosen = { q: q || null, tag: tag || null, state: (filters.state || null) as Schema<"ListedState"> | null };
  const exported = { ...chosen, sort: (sort || null) as Query["sort"] };
  const query = { ...exported, limit: LIMIT, cursor: cursors.at(-1) };
  const feeds = useSteady(
    useResource(`feeds ${JSON.stringify(query)}`, (signal) => api.get("/api/feeds", { query, signal }), {
      everyMs: RELOAD_MS,
    }),
  );
  const runs = useRuns(feeds.reload, feeds.reload);
  const tags = useResource("feed tags", (signal) => api.get("/api/feeds/tags", { signal }), { everyMs: RELOAD_MS });
  const listed = feeds.data?.data.map((feed) => ({ ...feed, last: lastRunOf(feed, runs.get(feed.feedId)) }));
  const from = { ...feeds, data: feeds.data && { ...feeds.data, data: listed ?? [] } };
  return (
    <List
      {...list}
      name="Feeds"
      what={["feed", "feeds"]}
      from={useAfter(from, [tags])}
      keyOf={({ feedId }) => feedId}
      nameOf={({ name }) => name}
      search="Name, URL or tag"
      usualSort="name"
      exports={{ path: "/api/feeds/export", file: "feeds", query: exported }}
      tags={tags.data?.data}
      bulk={{ path: "/api/feeds/bulk", actions: BULK, filter: chosen, onDone: tags.reload }}
      actions={(feed) => <Actions feed={feed} onDone={feeds.reload} />}
      below={(feed) => failureOf(feed, feed.last) && <Reason>{failureOf(feed, feed.last)}</Reason>}
      empty={empty}
    />
  );
}

function Actions({ feed, onDone }: { feed: Listed; onDone: () => void }) {
  const [isRemoving, setRemoving] = useState(false);
  return (
    <>
      <RowActions
        of={feed.name}
        sign="▶"
        actions={[
          { name: "Import now", act: () => importNow(feed), isOff: feed.last?.status === "running" },
          { name: "Edit", href: `/feeds/${feed.feedId}` },
          {
            name: feed.enabled ? "Pause" : "Resume",
            act: async () => {
              await setEnabled(feed, !feed.enabled);
              onDone();
            },
          },
          { name: "Remove", act: () => setRemoving(true), isDangerous: true },
        ]}
      />
      {isRemoving && <RemoveFeed feed={feed} onClose={() => setRemoving(false)} onRemoved={onDone} />}
    </>
  );
}

"use client";

import { useEffect } from "react";
import { Badge, StatusBadge } from "@/components/Badge";
import { List } from "@/components/List/List";
import { Line, Named, Reason } from "@/components/List/Text";
import type { Column, Filter } from "@/components/List/types";
import { useList } from "@/components/List/useList";
import { To } from "@/components/Links";
import { Empty } from "@/components/States";
import { Time } from "@/components/Time";
import { api } from "@/lib/api";
import { shortUrl } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { type Kind, kindOf, PAGE_TYPES, pagePath, price, short, watchPath, type Page } from "@/lib/watch";
import { useWatchNames } from "@/lib/watchNames";
import { OF_PAGES } from "./bulkActions";

const LIMIT = 100;
const MOST_TRIES = 5; // a page of a rare search can be empty although there are more

type Listed = Page & { watchName: string };
type Query = NonNullable<Parameters<typeof api.get<"/api/watch/pages">>[1]>["query"];

const FILTERS: Filter[] = [
  {
    name: "type",
    label: "Kind",
    kind: "choice",
    any: "Any kind",
    options: PAGE_TYPES.map((type) => [type, type.replaceAll("_", " ")]),
  },
  {
    name: "outcome",
    label: "Last check",
    kind: "choice",
    any: "Any outcome",
    options: [
      ["changed", "changed"],
      ["unchanged", "unchanged"],
      ["failed", "failed"],
    ],
  },
];

const COLUMNS: Column<Listed>[] = [
  {
    id: "title",
    exported: ["title", "url"],
    name: "Page",
    width: 170,
    grow: 3,
    cell: ({ jobId, url, title }) => (
      <Named href={pagePath(jobId, url)} name={short(title || shortUrl(url))} url={title ? url : undefined} />
    ),
  },
  {
    id: "watch",
    exported: ["jobId"],
    name: "Watch",
    width: 90,
    grow: 1,
    cell: ({ jobId, watchName }) => (
      <To href={watchPath(jobId)} className="inline-block min-h-6 max-w-full align-middle leading-6">
        <Line>{watchName}</Line>
      </To>
    ),
  },
  {
    id: "price",
    exported: ["price", "listPrice", "currency"],
    name: "Price",
    width: 95,
    isNumber: true,
    cell: (page) => {
      if (page.price === null) return null;
      return (
        <>
          {price(page.price, page.currency)}
          {page.listPrice !== null && (
            <span className="block text-xs text-soft">
              <span className="sr-only">instead of </span>
              <s>{price(page.listPrice, page.currency)}</s>
            </span>
          )}
        </>
      );
    },
  },
  {
    id: "availability",
    name: "Availability",
    width: 115,
    cell: ({ availability }) => availability && <StatusBadge status={availability} />,
  },
  {
    id: "lastChecked",
    exported: ["lastChecked", "lastOutcome", "lastError"],
    name: "Last check",
    width: 215,
    grow: 1,
    cell: (page) => (
      <span className="flex flex-wrap items-center gap-x-2">
        <Time at={page.lastChecked} ago /> <Outcome page={page} />
      </span>
    ),
  },
  {
    id: "type",
    exported: ["classification"],
    name: "Kind",
    width: 110,
    isExtra: true,
    cell: ({ classification }) => {
      const type = kindOf(classification)?.type;
      return type ? <Line>{short(type.replaceAll("_", " "), 40)}</Line> : null;
    },
  },
  { id: "version", name: "Version", width: 80, isNumber: true, isExtra: true, cell: ({ version }) => version },
  {
    id: "lastUpdated",
    name: "Changed",
    sort: "lastUpdated",
    width: 125,
    isExtra: true,
    cell: ({ lastUpdated }) => lastUpdated && <Time at={lastUpdated} ago />,
  },
];

/** How the last check of a page went. What is there for the first time has not changed. */
export function Outcome({ page: { lastOutcome, version } }: { page: Page }) {
  if (lastOutcome === "changed" && version === 1) return <Badge tone="busy">new</Badge>;
  return lastOutcome && <StatusBadge status={lastOutcome} />;
}

/** Why the kind of a page is unknown: its text appears only with JavaScript. */
function Unread({ kind }: { kind: Kind | null }) {
  if (kind?.type !== "other" || kind.confidence !== 0) return null;
  return <p className="text-xs leading-4 text-warn wrap-anywhere">{kind.reasons[0]}</p>;
}

/** The pages of one watch, or of all. They are loaded again after each of the `changes`: the screen listens for them, as
 * a browser has few connections to one server. */
export function PageList({ jobId, changes }: { jobId?: string; changes: number }) {
  const isOfAll = jobId === undefined;
  const columns = isOfAll ? COLUMNS : COLUMNS.filter(({ id }) => id !== "watch");
  const list = useList(columns, FILTERS, isOfAll ? "" : "pages.");
  const { q, sort, filters, cursors } = list.asked;
  const exported = {
    jobId,
    q,
    type: filters.type,
    outcome: filters.outcome as "changed" | "unchanged" | "failed" | "",
    sort: (sort || undefined) as NonNullable<Query>["sort"],
  };
  const query = { ...exported, limit: LIMIT, cursor: cursors.at(-1) };
  const pages = useSteady(useResource(`pages ${JSON.stringify(query)}`, (signal) => loadPages(query as Query, signal)));
  const { reload } = pages;
  useEffect(() => {
    if (changes > 0) reload();
  }, [changes, reload]);
  const names = useWatchNames(isOfAll ? (pages.data?.data ?? []).map((page) => page.jobId) : []);
  const listed = pages.data && {
    ...pages.data,
    data: pages.data.data.map((page) => ({ ...page, watchName: names.get(page.jobId) ?? page.jobId })),
  };
  return (
    <List
      {...list}
      name="Pages"
      what={["page", "pages"]}
      from={{ ...pages, data: listed }}
      keyOf={keyOf}
      nameOf={({ title, url }) => title || url}
      below={({ lastError, classification }) =>
        lastError ? <Reason>{lastError}</Reason> : <Unread kind={kindOf(classification)} />
      }
      search="URL or title"
      usualSort="-lastUpdated"
      exports={{ path: "/api/watch/pages/export", file: "pages", query: exported }}
      // Of one watch the buttons above do the same.
      bulk={
        isOfAll
          ? {
              path: "/api/watches/bulk",
              actions: OF_PAGES,
              what: ["watch", "watches"],
              idsOf: watchesOf,
              filter: { pages: { q: q || null, type: filters.type || null, outcome: filters.outcome || null } },
            }
          : undefined
      }
      empty={
        isOfAll ? (
          <Empty title="No pages yet">Pages appear after their first check, or when another program sends them.</Empty>
        ) : (
          <Empty title="No page has been checked yet">
            The first check is due at once; it needs a running scheduler and worker.
          </Empty>
        )
      }
    />
  );
}

function keyOf({ jobId, url }: Listed): string {
  return `${jobId}\n${url}`;
}

/** Each once. An address has no line end, so the last one ends the watch's id. */
function watchesOf(keys: string[]): string[] {
  return [...new Set(keys.map((key) => key.slice(0, key.lastIndexOf("\n"))))];
}

async function loadPages(query: Query, signal: AbortSignal) {
  let found = await api.get("/api/watch/pages", { query, signal });
  for (let tries = 1; found.data.length === 0 && found.nextCursor !== null && tries < MOST_TRIES; tries += 1) {
    found = await api.get("/api/watch/pages", { query: { ...query, cursor: found.nextCursor }, signal });
  }
  return found;
}

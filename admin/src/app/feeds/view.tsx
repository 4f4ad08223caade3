"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { FilterInput } from "@/components/FilterInput";
import { Field, Select } from "@/components/Form";
import { Pager } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import { Head, Table } from "@/components/Table";
import { useAddress } from "@/lib/address";
import { api, type Schema } from "@/lib/api";
import { useNarrow } from "@/lib/narrow";
import { useResource } from "@/lib/resource";
import { importNow, useBusy } from "./FeedActions";
import { FeedCard, FeedRow } from "./FeedRow";
import { ExportOpml, ImportOpml } from "./Opml";
import { lastRunOf, useRuns, type LastRun } from "./runs";

type Feed = Schema<"FeedResponse">;
type Listed = { feed: Feed; last: LastRun | null };

const PER_PAGE = 50;
const RELOAD_MS = 30_000; // feeds that were added or changed elsewhere

const KINDS: Record<string, { name: string; fits: (listed: Listed) => boolean }> = {
  running: { name: "being imported", fits: ({ last }) => last?.status === "running" },
  failing: { name: "failing", fits: ({ feed }) => feed.consecutiveFailures > 0 },
  enabled: { name: "on schedule", fits: ({ feed }) => feed.enabled },
  paused: { name: "paused", fits: ({ feed }) => !feed.enabled },
};

export function View() {
  const feeds = useResource("feeds", (signal) => api.get("/api/feeds", { signal }), { everyMs: RELOAD_MS });
  const runs = useRuns(feeds.reload, feeds.reload);
  const [isImporting, setImporting] = useState(false);
  const [busy, act] = useBusy();
  return (
    <>
      <PageHead
        title="Feeds"
        actions={
          <>
            <Button isBusy={busy !== null} disabled={!feeds.data?.total} onClick={() => act("all", () => importNow())}>
              Import all now
            </Button>
            <Button onClick={() => setImporting(true)}>Import OPML</Button>
            <ExportOpml />
            <LinkButton href="/feeds/new" kind="primary">
              Add feed
            </LinkButton>
          </>
        }
      >
        Where job postings come from, and when each feed is imported.
      </PageHead>
      <Card>
        <Loaded from={feeds} lines={12}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title="No feeds yet">
                <p>
                  Add the URL of a job feed: RSS, Atom, JSON Feed, or the XML of a job board. You can preview it
                  before you add it.
                </p>
                <div className="flex flex-wrap justify-center gap-2">
                  <LinkButton href="/feeds/new" kind="primary">
                    Add a feed
                  </LinkButton>
                  <Button onClick={() => setImporting(true)}>Import a list (OPML)</Button>
                </div>
              </Empty>
            ) : (
              <List
                all={data.map((feed) => ({ feed, last: lastRunOf(feed, runs.get(feed.feedId)) }))}
                onChanged={(changed) =>
                  feeds.change((before) => ({
                    ...before,
                    data: before.data.map((feed) => (feed.feedId === changed.feedId ? changed : feed)),
                  }))
                }
                onRemoved={feeds.reload}
              />
            )
          }
        </Loaded>
      </Card>
      {isImporting && <ImportOpml onClose={() => setImporting(false)} onImported={feeds.reload} />}
    </>
  );
}

type ListProps = { all: Listed[]; onChanged: (feed: Feed) => void; onRemoved: () => void };

function List({ all, onChanged, onRemoved }: ListProps) {
  const [address, go] = useAddress();
  const isNarrow = useNarrow();
  const q = address.get("q") ?? "";
  const kind = address.get("show") ?? "";
  const found = all.filter((each) => fits(each.feed, q) && (KINDS[kind]?.fits(each) ?? true));
  const pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
  const page = Math.min(Math.max(1, Number(address.get("page")) || 1), pages);
  const shown = found.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  return (
    <>
      <form
        role="search"
        aria-label="Feeds"
        className="mb-4 flex flex-wrap gap-3"
        onSubmit={(event) => event.preventDefault()}
      >
        <Field label="Search" className="w-72 max-w-full">
          <FilterInput
            placeholder="Name or URL"
            value={q}
            onFilter={(text) => go({ q: text, page: null }, "replace")}
          />
        </Field>
        <Field label="Show" className="w-44">
          <Select value={KINDS[kind] ? kind : ""} onChange={(event) => go({ show: event.target.value, page: null })}>
            <option value="">all</option>
            {Object.entries(KINDS).map(([value, { name }]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </Select>
        </Field>
      </form>
      {found.length === 0 ? (
        <Empty title="No matching feeds">
          <Button onClick={() => go({ q: null, show: null, page: null })}>Clear the filters</Button>
        </Empty>
      ) : (
        <>
          {isNarrow ? (
            <ul aria-label="Feeds" className="-mx-4 border-t border-line sm:-mx-5">
              {shown.map((each) => (
                <FeedCard key={each.feed.feedId} {...each} onChanged={onChanged} onRemoved={onRemoved} />
              ))}
            </ul>
          ) : (
            <Table label="Feeds">
              <Head columns={{ Feed: "text", "Last run": "text", Schedule: "text", Format: "text", Actions: "text" }} />
              <tbody>
                {shown.map((each) => (
                  <FeedRow key={each.feed.feedId} {...each} onChanged={onChanged} onRemoved={onRemoved} />
                ))}
              </tbody>
            </Table>
          )}
          <Pager
            page={page}
            pages={pages}
            total={found.length}
            what={found.length === 1 ? "feed" : "feeds"}
            onPage={(to) => {
              go({ page: to === 1 ? null : to });
              window.scrollTo(0, 0);
            }}
          />
        </>
      )}
    </>
  );
}

function fits(feed: Feed, q: string): boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${feed.name}\n${feed.url}\n${feed.format}\n${feed.lastError ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

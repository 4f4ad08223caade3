"use client";

import { useState } from "react";
import { Badge, StatusBadge } from "@/components/Badge";
import { Button, LinkButton } from "@/components/Button";
import { To, UrlText } from "@/components/Links";
import { Td } from "@/components/Table";
import { Time } from "@/components/Time";
import { counted, number, shortUrl } from "@/lib/format";
import type { Schema } from "@/lib/api";
import { importNow, RemoveFeed, setEnabled, useBusy } from "./FeedActions";
import { intervalWords } from "./formats";
import type { LastRun } from "./runs";

type Feed = Schema<"FeedResponse">;

type Props = {
  feed: Feed;
  last: LastRun | null;
  onChanged: (feed: Feed) => void;
  onRemoved: () => void;
};

export function FeedRow({ last, ...rest }: Props) {
  const { feed } = rest;
  return (
    <tr>
      <Td className="w-1/4 min-w-44">
        <Name feed={feed} />
      </Td>
      <Td className="w-72 min-w-64">
        <LastRunOf feed={feed} last={last} />
      </Td>
      <Td>
        <Schedule feed={feed} />
      </Td>
      <Td className="whitespace-nowrap">{feed.format}</Td>
      <Td className="w-52 min-w-52 2xl:w-auto">
        <Actions last={last} {...rest} />
      </Td>
    </tr>
  );
}

/** The same where a row would not fit. */
export function FeedCard({ last, ...rest }: Props) {
  const { feed } = rest;
  return (
    <li className="flex flex-col gap-2 border-b border-line px-4 py-3 sm:px-5">
      <div>
        <Name feed={feed} />
      </div>
      <div>
        <LastRunOf feed={feed} last={last} />
      </div>
      <div className="flex flex-wrap items-baseline gap-x-2">
        <Schedule feed={feed} />
      </div>
      <Actions last={last} {...rest} />
    </li>
  );
}

function Name({ feed }: { feed: Feed }) {
  return (
    <>
      <To href={`/feeds/${feed.feedId}`} className="font-medium wrap-anywhere">
        <UrlText url={feed.name} />
      </To>
      <div className="text-sm wrap-anywhere text-soft">
        <UrlText url={shortUrl(feed.url)} />
      </div>
    </>
  );
}

function Actions({ feed, last, onChanged, onRemoved }: Props) {
  const [busy, act] = useBusy();
  const [isRemoving, setRemoving] = useState(false);
  const its = <span className="sr-only"> {feed.name}</span>;
  return (
    <>
      <div className="flex flex-wrap gap-2 2xl:flex-nowrap">
        <Button
          isBusy={busy === "import"}
          disabled={last?.status === "running"}
          onClick={() => act("import", () => importNow(feed))}
        >
          Import now{its}
        </Button>
        <LinkButton href={`/feeds/${feed.feedId}`}>Edit{its}</LinkButton>
        <Button
          isBusy={busy === "pause"}
          onClick={() => act("pause", async () => onChanged(await setEnabled(feed, !feed.enabled)))}
        >
          {feed.enabled ? "Pause" : "Resume"}
          {its}
        </Button>
        <Button kind="danger" onClick={() => setRemoving(true)}>
          Remove{its}
        </Button>
      </div>
      {isRemoving && <RemoveFeed feed={feed} onClose={() => setRemoving(false)} onRemoved={onRemoved} />}
    </>
  );
}

export function Schedule({ feed }: { feed: Feed }) {
  if (!feed.enabled) return <Badge tone="warn">paused</Badge>;
  return (
    <>
      <div className="whitespace-nowrap">{intervalWords(feed.intervalMinutes)}</div>
      {feed.nextRunAt && (
        <div className="text-sm whitespace-nowrap text-soft">
          next <Time at={feed.nextRunAt} ago />
        </div>
      )}
    </>
  );
}

/** How the last run went, or how far the one is that goes on; and that a feed keeps failing. */
export function LastRunOf({ feed, last }: { feed: Feed; last: LastRun | null }) {
  if (last === null) return <span className="text-soft">never imported</span>;
  const failures = feed.consecutiveFailures;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <To href={`/import-history/${last.runId}`}>
          <StatusBadge status={last.status} />
          <span className="sr-only"> run of {feed.name}</span>
        </To>
        {last.at && last.status !== "running" && <Time at={last.at} ago />}
      </div>
      {last.running && (
        <div className="text-sm text-soft tabular-nums">
          {counted(last.running.totalFetched, "item")}, {number(last.running.newJobs)} new
        </div>
      )}
      {failures > 1 && <div className="mt-1 text-sm text-bad">{counted(failures, "failure")} in a row</div>}
      {last.error && last.status !== "running" && (
        <div className="mt-1 max-w-xs text-sm text-bad wrap-anywhere">{last.error}</div>
      )}
    </>
  );
}

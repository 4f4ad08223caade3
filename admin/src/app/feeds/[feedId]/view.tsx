"use client";

import { useRouter } from "next/navigation";
import { Button, LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { Out, To } from "@/components/Links";
import { Reason } from "@/components/List/Text";
import { PageSkeleton } from "@/components/Skeleton";
import { Empty, ErrorBox } from "@/components/States";
import { Facts } from "@/components/Table";
import { Time } from "@/components/Time";
import { say } from "@/components/Toasts";
import { addressOf, api, ApiError, type Schema } from "@/lib/api";
import { usePathPart } from "@/lib/address";
import { useRemoval, type Removal } from "@/lib/removal";
import { useResource } from "@/lib/resource";
import { importNow, RemoveFeed, setEnabled, useBusy } from "../FeedActions";
import { FeedForm } from "../FeedForm";
import { failureOf, LastRunOf, Schedule } from "../FeedState";
import { lastRunOf, useRuns, type LastRun } from "../runs";
import { changesOf, settingsOf } from "../settings";

type Feed = Schema<"FeedResponse">;

export function View() {
  const feedId = usePathPart(1);
  const removal = useRemoval();
  const feed = useResource(
    `feed ${feedId}`,
    (signal) => api.get("/api/feeds/{feedId}", { path: { feedId }, signal }),
    { isHeld: removal.isHeld },
  );
  const runs = useRuns((run) => {
    if (run.feedId === feedId) feed.reload();
  }, feed.reload);
  if (feed.data) {
    const last = lastRunOf(feed.data, runs.get(feedId));
    return (
      <Shown
        key={feedId}
        feed={feed.data}
        last={last}
        onFeed={(changed) => feed.change(() => changed)}
        removal={removal}
      />
    );
  }
  if (feed.error === undefined) return <PageSkeleton />;
  return (
    <>
      <PageHead title="Feed">
        <To href="/feeds">All feeds</To>
      </PageHead>
      <Card>
        {feed.error instanceof ApiError && feed.error.status === 404 ? (
          <Empty title="Feed not found">
            <p>It may have been removed.</p>
            <LinkButton href="/feeds">All feeds</LinkButton>
          </Empty>
        ) : (
          <ErrorBox error={feed.error} onRetry={feed.reload} />
        )}
      </Card>
    </>
  );
}

function Shown({
  feed,
  last,
  onFeed,
  removal,
}: {
  feed: Feed;
  last: LastRun | null;
  onFeed: (feed: Feed) => void;
  removal: Removal;
}) {
  const router = useRouter();
  const [busy, act] = useBusy();
  const isRunning = last?.status === "running";
  return (
    <>
      <PageHead
        title={feed.name}
        actions={
          <>
            <Button
              kind="primary"
              isBusy={busy === "import"}
              disabled={isRunning}
              onClick={() => act("import", () => importNow(feed))}
            >
              Import now
            </Button>
            <Button
              isBusy={busy === "pause"}
              onClick={() => act("pause", async () => onFeed(await setEnabled(feed, !feed.enabled)))}
            >
              {feed.enabled ? "Pause" : "Resume"}
            </Button>
            <Button kind="danger" onClick={removal.ask}>
              Remove
            </Button>
          </>
        }
      >
        <To href="/feeds">All feeds</To>
      </PageHead>
      <Card className="mb-6">
        <Facts
          items={[
            ["URL", <Out key="url" url={feed.url} />],
            ...(feed.sourceUrl === feed.url ? [] : [["Moved from", feed.sourceUrl] as [string, string]]),
            ["Schedule", <Schedule key="schedule" feed={feed} />],
            [
              "Last run",
              <div key="last">
                <LastRunOf feed={feed} last={last} />
                <Reason>{failureOf(feed, last)}</Reason>
              </div>,
            ],
            ["Added", <Time key="added" at={feed.createdAt} />],
            [
              "See also",
              <span key="more" className="flex flex-wrap gap-x-4">
                <To href={addressOf("/jobs", {}, { source: feed.sourceUrl })}>its postings</To>
                <To href={addressOf("/import-history", {}, { q: feed.sourceUrl })}>its imports</To>
              </span>,
            ],
          ]}
        />
      </Card>
      <FeedForm
        first={settingsOf(feed)}
        isNew={false}
        onSave={async (settings, before) => {
          const body = changesOf(before, settings);
          if (Object.keys(body).length === 0) {
            say("Nothing has changed.");
            return;
          }
          onFeed(await api.patch("/api/feeds/{feedId}", { path: { feedId: feed.feedId }, body }));
          say("Saved.");
        }}
      />
      {removal.isAsking && (
        <RemoveFeed
          feed={feed}
          onClose={removal.close}
          onRemoved={() => {
            removal.done();
            router.push("/feeds");
          }}
        />
      )}
    </>
  );
}

"use client";

import { useRouter } from "next/navigation";
import { useState } from "react";
import { Card, PageHead } from "@/components/Card";
import { Changes } from "@/components/Changes";
import { To } from "@/components/Links";
import { useList } from "@/components/List/useList";
import { AddressPager, cursorIn } from "@/components/Pager";
import { PageSkeleton } from "@/components/Skeleton";
import { Empty, Loaded } from "@/components/States";
import { useAddress, usePathPart } from "@/lib/address";
import { addressOf, api, ApiError } from "@/lib/api";
import { useRemoval } from "@/lib/removal";
import { useResource } from "@/lib/resource";
import { useSettled } from "@/lib/settled";
import { useSteady } from "@/lib/steady";
import { short, useWatchChanges, type Run } from "@/lib/watch";
import { WatchActions } from "../WatchActions";
import { AtomLink } from "../AtomLink";
import { loadChanges } from "../changes";
import { NoSuchWatch, NotNamed } from "../NotFound";
import { PageList } from "../PageList";
import { WatchState } from "../WatchState";
import { failing, Notifications } from "./Notifications";
import { COLUMNS as RUN_COLUMNS, FILTERS as RUN_FILTERS, Runs } from "./Runs";
import { Settings } from "./Settings";

type RunSort = NonNullable<NonNullable<Parameters<typeof api.get<"/api/watch/runs">>[1]>["query"]>["sort"];

const NOTIFICATIONS = "notifications"; // the id of its card
const LIMIT = 20;
const RUNS = 20;
const CHANGES = 6;

export function View() {
  const part = usePathPart(1);
  const [params] = useAddress();
  const jobId = part === "_" ? (params.get("jobId") ?? "") : part;
  return jobId ? <OneWatch key={jobId} jobId={jobId} /> : <NotNamed />;
}

function OneWatch({ jobId }: { jobId: string }) {
  const router = useRouter();
  const [params] = useAddress();
  const of = (name: string) => cursorIn(params, name);
  const path = { jobId };
  const [changed, setChanged] = useState(0);
  const removal = useRemoval();
  const { isHeld } = removal;
  const watch = useResource("watch", (signal) => api.get("/api/watches/{jobId}", { path, signal }), { isHeld });
  const runList = useList(RUN_COLUMNS, RUN_FILTERS, "runs.");
  const { filters, sort, cursors } = runList.asked;
  const runQuery = { jobId, status: (filters.status || null) as Run["status"] | null, sort: (sort || null) as RunSort };
  const runs = useSteady(
    useResource(`runs ${JSON.stringify([runQuery, cursors.at(-1)])}`, (signal) =>
      api.get("/api/watch/runs", { query: { ...runQuery, limit: RUNS, cursor: cursors.at(-1) }, signal }),
    ),
  );
  const changes = useSteady(
    useResource(`changes ${of("changes")}`, (signal) =>
      loadChanges({ jobId, limit: CHANGES, cursor: of("changes") }, signal),
    ),
  );
  const isGone = watch.error instanceof ApiError && watch.error.status === 404;
  const pages = useResource(isGone ? "pages" : null, (signal) =>
    api.get("/api/watch/pages", { query: { jobId, limit: 1 }, signal }),
  );
  const notices = useResource(
    watch.data && !isGone ? `notices ${of("notices")}` : null,
    (signal) =>
      api.get("/api/watches/{jobId}/notices", { path, query: { limit: LIMIT, cursor: of("notices") }, signal }),
    { isHeld },
  );
  const reload = () => {
    for (const each of isGone ? [runs, pages, changes] : [watch, runs, changes, notices]) each.reload();
  };
  useWatchChanges(() => {
    reload();
    setChanged((before) => before + 1);
  });
  const isEmpty =
    [runs, pages].every((each) => each.data?.data.length === 0) && changes.data?.changes.length === 0 && !filters.status;
  const active = runs.data?.data.find((run) => run.runId === watch.data?.activeRunId);
  const isSettled = useSettled([watch, runs, changes, pages, notices]);

  if (!isSettled) return <PageSkeleton />;
  if (isGone && isEmpty) {
    return (
      <>
        <PageHead title={short(jobId)} />
        <NoSuchWatch hint="It may have been removed together with its pages." />
      </>
    );
  }
  return (
    <>
      <PageHead
        title={watch.data?.name ?? short(jobId)}
        actions={
          !isGone &&
          watch.data && (
            <WatchActions
              watch={watch.data}
              onDone={reload}
              removal={removal}
              onRemoved={() => router.push("/watch")}
            />
          )
        }
      >
        <span className="flex min-h-7 flex-wrap items-center gap-x-3">
          <To href="/watch">All watches</To>
          {isGone && "No watch has this id. These are the pages stored for it."}
          {watch.data && !isGone && <WatchState watch={watch.data} active={active} />}
        </span>
      </PageHead>
      <div className="flex flex-col gap-6">
        {watch.data?.lastError && !isGone && (
          <p className="rounded-lg border border-bad bg-bad-pale p-3 text-bad wrap-anywhere">
            {watch.data.lastStatus === "partial" ? "The last run could not check every page" : "The last run failed"}:{" "}
            {watch.data.lastError}.
          </p>
        )}
        {failing(notices.data?.data ?? []).map(({ target, error }) => (
          <p key={target} className="rounded-lg border border-warn bg-warn-pale p-3 text-warn wrap-anywhere">
            Notifications to {target} fail: {error}.{" "}
            <a href={`#${NOTIFICATIONS}`} className="text-warn underline">
              Look
            </a>
          </p>
        ))}
        <div className={`grid grid-cols-1 items-start gap-6 ${isGone ? "" : "lg:grid-cols-2"}`}>
          {!isGone && (
            <Card title="Settings">
              <Loaded from={watch} lines={8}>
                {(found) => <Settings watch={found} />}
              </Loaded>
            </Card>
          )}
          <Card
            title="Latest changes"
            actions={!isGone && <AtomLink href={addressOf("/api/watches/{jobId}/feed.atom", path)} />}
          >
            <Loaded from={changes} lines={16}>
              {(seen) => (
                <>
                  {seen.changes.length === 0 ? (
                    <Empty title="No changes yet">
                      The first version of a page is what later ones are compared with.
                    </Empty>
                  ) : (
                    <Changes changes={seen.changes} pages={seen.pages} />
                  )}
                  <AddressPager name="changes" next={seen.nextCursor} />
                </>
              )}
            </Loaded>
          </Card>
        </div>
        <section>
          <h2 className="mb-2">Runs</h2>
          <Runs list={runList} from={runs} asked={runQuery} />
        </section>
        <section>
          <h2 className="mb-2">Pages</h2>
          <PageList jobId={jobId} changes={changed} />
        </section>
        {!isGone && (
          <Card id={NOTIFICATIONS} title="Notifications">
            <Loaded from={notices} lines={6}>
              {(found) => (
                <>
                  {found.data.length === 0 ? (
                    <Empty title="No notifications sent">
                      At the end of a run with changes, each target gets a notification.
                    </Empty>
                  ) : (
                    <Notifications notifications={found.data} />
                  )}
                  <AddressPager name="notices" next={found.nextCursor} />
                </>
              )}
            </Loaded>
          </Card>
        )}
      </div>
    </>
  );
}

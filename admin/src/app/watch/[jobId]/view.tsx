"use client";

import { useRouter } from "next/navigation";
import type { ReactNode } from "react";
import { Card, PageHead } from "@/components/Card";
import { Changes } from "@/components/Changes";
import { To } from "@/components/Links";
import { AddressPager } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import { useAddress, usePathPart } from "@/lib/address";
import { addressOf, api, ApiError } from "@/lib/api";
import { useRemoval } from "@/lib/removal";
import { useResource, type Resource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { short, useWatchChanges } from "@/lib/watch";
import { WatchActions } from "../WatchActions";
import { AtomLink } from "../AtomLink";
import { loadChanges } from "../changes";
import { NoSuchWatch, NotNamed } from "../NotFound";
import { PagesTable } from "../PagesTable";
import { WatchState } from "../Watches";
import { Notifications } from "./Notifications";
import { Runs } from "./Runs";
import { Settings } from "./Settings";

const LIMIT = 20;
const RUNS = 10;
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
  const of = (name: string) => params.get(name) || undefined;
  const path = { jobId };
  const removal = useRemoval();
  const { isHeld } = removal;
  const watch = useResource("watch", (signal) => api.get("/api/watches/{jobId}", { path, signal }), { isHeld });
  const runs = useSteady(
    useResource(`runs ${of("runs")}`, (signal) =>
      api.get("/api/watch/runs", { query: { jobId, limit: RUNS, cursor: of("runs") }, signal }),
    ),
  );
  const pages = useSteady(
    useResource(`pages ${of("pages")}`, (signal) =>
      api.get("/api/watch/pages", { query: { jobId, limit: LIMIT, cursor: of("pages") }, signal }),
    ),
  );
  const changes = useSteady(
    useResource(`changes ${of("changes")}`, (signal) =>
      loadChanges({ jobId, limit: CHANGES, cursor: of("changes") }, signal),
    ),
  );
  const isGone = watch.error instanceof ApiError && watch.error.status === 404;
  const notices = useResource(
    watch.data && !isGone ? `notices ${of("notices")}` : null,
    (signal) =>
      api.get("/api/watches/{jobId}/notices", { path, query: { limit: LIMIT, cursor: of("notices") }, signal }),
    { isHeld },
  );
  const reload = () => {
    for (const each of isGone ? [runs, pages, changes] : [watch, runs, pages, changes, notices]) each.reload();
  };
  useWatchChanges(reload);
  const isEmpty = [runs, pages].every((each) => each.data?.data.length === 0) && changes.data?.changes.length === 0;
  const active = runs.data?.data.find((run) => run.runId === watch.data?.activeRunId);

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
          (watch.data === undefined ? (
            <span className="h-9 w-80" /> // so that nothing moves when its buttons come
          ) : (
            <WatchActions
              watch={watch.data}
              onDone={reload}
              removal={removal}
              onRemoved={() => router.push("/watch")}
            />
          ))
        }
      >
        <span className="flex min-h-7 flex-wrap items-center gap-x-3">
          <To href="/watch">All watches</To>
          {isGone && "No watch has this id. These are the pages stored for it."}
          {watch.data && !isGone && <WatchState watch={watch.data} active={active} />}
        </span>
      </PageHead>
      <div className="flex flex-col gap-6">
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
        <Card title="Runs">
          <Listed
            from={runs}
            name="runs"
            empty="No runs stored"
            hint="A run appears when its pages are checked. Run now checks them at once."
          >
            {(found) => <Runs runs={found} />}
          </Listed>
        </Card>
        <Card title="Pages">
          <Listed
            from={pages}
            name="pages"
            empty="No page has been checked yet"
            hint="The first check is due at once; it needs a running scheduler and worker."
          >
            {(found) => <PagesTable pages={found} />}
          </Listed>
        </Card>
        {!isGone && (
          <Card title="Notifications">
            <Listed
              from={notices}
              name="notices"
              empty="No notifications sent"
              hint="At the end of a run with changes, each target gets a notification."
            >
              {(found) => <Notifications notices={found} />}
            </Listed>
          </Card>
        )}
      </div>
    </>
  );
}

/** A list with its pager, whose cursor is in the address by the list's name. */
function Listed<T>({
  from,
  name,
  empty,
  hint,
  children,
}: {
  from: Resource<{ data: T[]; nextCursor: string | null }>;
  name: string;
  empty: string;
  hint: string;
  children: (data: T[]) => ReactNode;
}) {
  return (
    <Loaded from={from} lines={6}>
      {(found) => (
        <>
          {found.data.length === 0 ? <Empty title={empty}>{hint}</Empty> : children(found.data)}
          <AddressPager name={name} next={found.nextCursor} />
        </>
      )}
    </Loaded>
  );
}

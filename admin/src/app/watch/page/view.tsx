"use client";

import { startTransition, useOptimistic } from "react";
import { Badge } from "@/components/Badge";
import { Card, PageHead } from "@/components/Card";
import { DIFF, pageKey } from "@/components/Changes";
import type { Form } from "@/components/Diff";
import { Out, To } from "@/components/Links";
import { cursorIn } from "@/components/Pager";
import { rangeOf } from "@/components/priceCurve";
import { PageSkeleton } from "@/components/Skeleton";
import { Empty, Loaded } from "@/components/States";
import { Time } from "@/components/Time";
import { useAddress } from "@/lib/address";
import { api } from "@/lib/api";
import { number, shortUrl } from "@/lib/format";
import { reveal, useLanding } from "@/lib/landing";
import { useResource } from "@/lib/resource";
import { useSettled } from "@/lib/settled";
import { useSteady } from "@/lib/steady";
import { scheduleWords, short, useWatchChanges, watchPath, type Watch } from "@/lib/watch";
import { NotNamed } from "../NotFound";
import { addressOfChoice, choiceOf, type Choice } from "./choice";
import { History } from "./History";
import { Latest } from "./Latest";
import { PageActions } from "./PageActions";
import { loadPrices, Prices } from "./Prices";
import { Viewer } from "./Viewer";

const VERSIONS = 50;
const CHANGES = 20;

export function View() {
  const [params] = useAddress();
  const [jobId, url] = [params.get("jobId") ?? "", params.get("url") ?? ""];
  return jobId && url ? <OnePage key={`${jobId}\n${url}`} jobId={jobId} url={url} /> : <NotNamed />;
}

function OnePage({ jobId, url }: { jobId: string; url: string }) {
  const [params, change] = useAddress();
  const given = (name: string) => numberOf(params.get(name));
  const earlier = given("before");
  const changesFrom = cursorIn(params, "changes") ?? "";
  const form: Form = params.get("form") === "side" ? "side" : "inline";
  const range = rangeOf(params.get("range"));

  const page = useResource("page", async (signal) => {
    const found = await api.get("/api/watch/pages", { query: { jobId, url }, signal });
    return { page: found.data[0] ?? null };
  });
  // Another program's pages have no watch: then the id is shown.
  const watches = useResource("watch", (signal) => api.get("/api/watches", { query: { jobId: [jobId] }, signal }));
  const versions = useSteady(
    useResource(`versions ${earlier}`, (signal) =>
      api.get("/api/watch/pages/versions", {
        query: { jobId, url, limit: VERSIONS, cursor: earlier ?? undefined },
        signal,
      }),
    ),
  );
  const prices = useSteady(useResource(`prices ${range}`, (signal) => loadPrices(jobId, url, range, signal)));
  const changes = useSteady(
    useResource(`changes ${changesFrom}`, (signal) =>
      api.get("/api/watch/pages/changes", {
        query: { jobId, url, limit: CHANGES, cursor: changesFrom || undefined },
        signal,
      }),
    ),
  );
  const reload = () => {
    for (const each of [page, watches, versions, prices, changes]) each.reload();
  };
  useWatchChanges(reload);
  const isSettled = useSettled([page, watches, versions, prices, changes]);
  useLanding(DIFF, isSettled);

  const listed = versions.data?.data ?? [];
  const choice = choiceOf({ from: given("from"), to: given("to"), read: given("read") }, listed);
  // The address follows a moment later; the choice shows at once.
  const [chosen, setChosen] = useOptimistic(choice);
  const choose = (part: Partial<Choice>, look: Form = form) =>
    startTransition(() => {
      setChosen({ ...chosen, ...part });
      change({ ...addressOfChoice(part, chosen), form: look === "side" ? look : "" }, "replace");
    });
  const known = page.data?.page ?? null;
  const watch = watches.data?.data[0];

  if (!isSettled) return <PageSkeleton />;
  return (
    <>
      <PageHead
        title={short(known?.title || shortUrl(url))}
        actions={<PageActions watch={watch} url={url} onDone={reload} />}
      >
        <Out url={url}>{short(url, 300)}</Out>
        <br />
        Watched by{" "}
        <To href={watchPath(jobId)} className="underline">
          {short(watch?.name ?? jobId)}
        </To>
        {watch && <WatchWords watch={watch} />}
      </PageHead>
      <div className="grid grid-cols-1 items-start gap-6 xl:grid-cols-[24rem_minmax(0,1fr)]">
        <Card title="Latest" className={prices.data?.summary === null ? "xl:col-span-2" : ""}>
          <Loaded from={page} lines={11}>
            {(found) =>
              found.page ? (
                <Latest page={found.page} />
              ) : (
                <Empty title="This page is not stored">
                  It may not have been checked yet.{" "}
                  <To href={watchPath(jobId)} className="underline">
                    Its watch
                  </To>{" "}
                  says when it is.
                </Empty>
              )
            }
          </Loaded>
        </Card>
        <Prices
          from={prices}
          jobId={jobId}
          url={url}
          range={range}
          onRange={(next) => change({ range: next === "all" ? "" : next }, "replace")}
        />
        <div className="grid grid-cols-1 items-start gap-6 xl:col-span-2 xl:grid-cols-[minmax(0,1fr)_23rem]">
          {(choice.to !== null || choice.read !== null) && (
            <Viewer
              jobId={jobId}
              url={url}
              versions={listed}
              choice={choice}
              chosen={chosen}
              form={form}
              onChoose={choose}
            />
          )}
          <History
            listed={params.get("list") === "versions" ? "versions" : "changes"}
            changes={changes}
            versions={versions}
            names={new Map(known ? [[pageKey({ jobId, url }), known]] : [])}
            chosen={chosen}
            isFirst={earlier === null}
            onList={(list) => change({ list: list === "versions" ? list : "" }, "replace")}
            onPage={(next) => change({ before: next })}
            onChoose={(part) => {
              choose(part);
              reveal(DIFF);
            }}
          />
        </div>
      </div>
    </>
  );
}

/** How its watch is checked, and what a check includes. */
function WatchWords({ watch }: { watch: Watch }) {
  if (watch.external) return <>, checked by another program</>;
  return (
    <>
      , {watch.enabled ? scheduleWords(watch.schedule) : <Badge>paused</Badge>}
      {watch.activeRunId !== null ? (
        <>
          {" "}
          <Badge tone="busy">checking</Badge>
        </>
      ) : (
        watch.enabled &&
        watch.nextRunAt !== null && (
          <>
            , next <Time at={watch.nextRunAt} ago />
          </>
        )
      )}
      {watch.urls.length > 1 && `. A check includes all its ${number(watch.urls.length)} pages.`}
    </>
  );
}

function numberOf(text: string | null): number | null {
  return text !== null && /^[1-9]\d{0,15}$/.test(text) ? Number(text) : null;
}

"use client";

import { startTransition, useOptimistic, useState } from "react";
import { StatusBadge } from "@/components/Badge";
import { Card, PageHead } from "@/components/Card";
import { Changes, pageKey } from "@/components/Changes";
import type { Form } from "@/components/Diff";
import { Out, To } from "@/components/Links";
import { AddressPager } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import { Facts } from "@/components/Table";
import { Time } from "@/components/Time";
import { useAddress } from "@/lib/address";
import { api } from "@/lib/api";
import { counted, number, shortUrl } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { kindOf, price, short, useWatchChanges, watchPath, type Page } from "@/lib/watch";
import { NotNamed } from "../NotFound";
import { Outcome } from "../PagesTable";
import { TextBox } from "../TextBox";
import { Difference } from "./Difference";
import { loadPrices, Prices } from "./Prices";
import { Versions } from "./Versions";

const VERSIONS = 50;
const CHANGES = 20;
const LONGEST_TEXT = 50_000;

export function View() {
  const [params] = useAddress();
  const [jobId, url] = [params.get("jobId") ?? "", params.get("url") ?? ""];
  return jobId && url ? <OnePage key={`${jobId}\n${url}`} jobId={jobId} url={url} /> : <NotNamed />;
}

function OnePage({ jobId, url }: { jobId: string; url: string }) {
  const [params, change] = useAddress();
  const before = numberOf(params.get("before"));
  const changesFrom = params.get("changes") ?? "";
  const form: Form = params.get("form") === "side" ? "side" : "inline";

  const page = useResource("page", async (signal) => {
    const found = await api.get("/api/watch/pages", { query: { jobId, url }, signal });
    return { page: found.data[0] ?? null };
  });
  // Another program's pages have no watch: then the id is shown.
  const watches = useResource("watch", (signal) => api.get("/api/watches", { query: { jobId: [jobId] }, signal }));
  const versions = useSteady(
    useResource(`versions ${before}`, (signal) =>
      api.get("/api/watch/pages/versions", {
        query: { jobId, url, limit: VERSIONS, cursor: before ?? undefined },
        signal,
      }),
    ),
  );
  const prices = useResource("prices", (signal) => loadPrices(jobId, url, signal));
  const changes = useSteady(
    useResource(`changes ${changesFrom}`, (signal) =>
      api.get("/api/watch/pages/changes", {
        query: { jobId, url, limit: CHANGES, cursor: changesFrom || undefined },
        signal,
      }),
    ),
  );
  useWatchChanges(() => {
    page.reload();
    versions.reload();
    prices.reload();
    changes.reload();
  });

  const listed = versions.data?.data ?? [];
  const to = numberOf(params.get("to")) ?? listed[0]?.version ?? null;
  const from = numberOf(params.get("from")) ?? listed.find((each) => to !== null && each.version < to)?.version ?? null;
  // The address follows a moment later; the choice shows at once.
  const [chosen, setChosen] = useOptimistic({ from, to });
  const choose = (part: { from?: number; to?: number }) =>
    startTransition(() => {
      setChosen({ ...chosen, ...part });
      change({ ...chosen, ...part }, "replace");
    });
  const known = page.data?.page ?? null;
  const names = new Map(known ? [[pageKey({ jobId, url }), known]] : []);

  return (
    <>
      <PageHead title={short(known?.title || shortUrl(url))}>
        <Out url={url}>{short(url, 300)}</Out>
        <br />
        Watched by{" "}
        <To href={watchPath(jobId)} className="underline">
          {short(watches.data?.data[0]?.name ?? jobId)}
        </To>
      </PageHead>
      <div className="flex flex-col gap-6">
        <Card title="Latest">
          <Loaded from={page} lines={11}>
            {(found) =>
              found.page ? (
                <>
                  <Latest page={found.page} />
                  {found.page.text && <Text text={found.page.text} />}
                </>
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
        <Prices from={prices} jobId={jobId} url={url} />
        <Versions
          from={versions}
          chosen={chosen}
          isFirst={before === null}
          onChoose={choose}
          onPage={(next) => change({ before: next })}
        />
        {from !== null && to !== null && (
          <Difference
            jobId={jobId}
            url={url}
            from={from}
            to={to}
            form={form}
            onForm={(next) => change({ form: next === "side" ? "side" : "" }, "replace")}
          />
        )}
        <Card title="Change log">
          <Loaded from={changes} lines={6}>
            {(seen) => (
              <>
                {seen.data.length === 0 ? (
                  <Empty title="No changes stored">The first version is what later ones are compared with.</Empty>
                ) : (
                  <Changes changes={seen.data} pages={names} isOnePage />
                )}
                <AddressPager name="changes" next={seen.nextCursor} />
              </>
            )}
          </Loaded>
        </Card>
      </div>
    </>
  );
}

function Latest({ page }: { page: Page }) {
  const kind = kindOf(page.classification);
  return (
    <Facts
      items={[
        [
          "Price",
          <span key="price">
            {price(page.price, page.currency)}
            {page.listPrice !== null && (
              <span className="text-soft"> instead of {price(page.listPrice, page.currency)}</span>
            )}
          </span>,
        ],
        ["Availability", page.availability ? <StatusBadge key="availability" status={page.availability} /> : "–"],
        [
          "Kind",
          kind === null ? (
            "–"
          ) : (
            <span key="kind">
              {short(kind.type.replaceAll("_", " "), 40)}
              {kind.confidence !== null && (
                <span className="text-soft">, {Math.round(kind.confidence * 100)} % sure</span>
              )}
              {kind.reasons.length > 0 && <span className="block text-sm text-soft">{kind.reasons.join("; ")}</span>}
            </span>
          ),
        ],
        [
          "Last check",
          <span key="check">
            <Time at={page.lastChecked} ago /> <Outcome page={page} />
            {page.lastError && <span className="block text-bad">{page.lastError}</span>}
          </span>,
        ],
        [
          "Version",
          page.version === null ? (
            "–"
          ) : (
            <span key="version">
              {number(page.version)}, of <Time at={page.lastUpdated} />
            </span>
          ),
        ],
        ["Text", page.text ? counted(page.text.split("\n").length, "line") : "none"],
        ["Images, links", `${number(page.images?.length ?? 0)}, ${number(page.links?.length ?? 0)}`],
      ]}
    />
  );
}

/** What was selected of the latest version. */
function Text({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="mt-4" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer text-accent">Compared text</summary>
      {isOpen && (
        <div className="mt-2">
          <TextBox label="Compared text">
            {text.slice(0, LONGEST_TEXT)}
            {text.length > LONGEST_TEXT && `\n… ${counted(text.length - LONGEST_TEXT, "more character")}`}
          </TextBox>
        </div>
      )}
    </details>
  );
}

function numberOf(text: string | null): number | null {
  return text !== null && /^[1-9]\d{0,15}$/.test(text) ? Number(text) : null;
}

"use client";

import Link from "next/link";
import type { MouseEvent } from "react";
import { Badge } from "@/components/Badge";
import { To, UrlText } from "@/components/Links";
import { MOVES, PriceSign } from "@/components/PriceSign";
import { Time } from "@/components/Time";
import { shortUrl } from "@/lib/format";
import { alertWords, changeWords, pagePath, percentSize, price, priceMove, short, watchPath, type Change } from "@/lib/watch";

/** The id of the part of a page's screen that shows its diff. */
export const DIFF = "diff";

/** The look of a group of entries with one chosen. */
export const CHOSEN = { yes: "-mx-2 bg-page px-2 shadow-[inset_4px_0_0_var(--accent)]", no: "-mx-2 px-2" };

/** What is known of a page beside its change logs. */
export type PageNames = Map<string, { title: string | null; currency: string | null }>;

export function pageKey({ jobId, url }: { jobId: string; url: string }): string {
  return `${jobId}\n${url}`;
}

export type Compared = { from: number; to: number };

/** Change logs, the latest first. `watchNames` is given where they are of several watches, `choice` on the screen of
 * their page: a click then changes what is compared there. */
export function Changes({
  changes,
  pages,
  watchNames,
  choice,
}: {
  changes: Change[];
  pages: PageNames;
  watchNames?: Map<string, string>;
  choice?: { isChosen: (versions: Compared) => boolean; onChoose: (versions: Compared) => void };
}) {
  return (
    <ol className="divide-y divide-line">
      {changes.map((change) => (
        <li
          key={`${pageKey(change)}\n${change.version.current}\n${change.timestamp}`}
          className={`py-3 ${choice ? CHOSEN[choice.isChosen(comparedIn(change)) ? "yes" : "no"] : "first:pt-0 last:pb-0"}`}
        >
          <Entry change={change} known={pages.get(pageKey(change))} watchNames={watchNames} choice={choice} />
        </li>
      ))}
    </ol>
  );
}

function comparedIn({ version }: Change): Compared {
  return { from: version.previous, to: version.current };
}

/** The diff of a change, on the screen of its page. */
export function changeHref(change: Change): string {
  const { from, to } = comparedIn(change);
  return `${pagePath(change.jobId, change.url, from < to ? { from, to } : undefined)}#${DIFF}`;
}

/** The change itself: a price step, what else is different, and why people are notified. `currency`: of the page. */
export function WhatChanged({ change, currency = null }: { change: Change; currency?: string | null }) {
  const changes = change.changes as Record<string, unknown>;
  const move = priceMove(changes);
  const words = changeWords(changes);
  const notified = change.reasons.find(({ kind }) => kind === "price");
  const ofReason = notified && "currency" in notified ? notified.currency : null;
  return (
    <>
      {move && (
        <p className="tabular-nums">
          <PriceMoved {...move} currency={move.currency ?? ofReason ?? currency} />
        </p>
      )}
      {words.length > 0 && <p className="text-sm text-soft wrap-anywhere">{words.join(" · ")}</p>}
      {change.alerts.length > 0 && (
        <ul className="mt-1 flex flex-col gap-1" aria-label="Alerts">
          {change.alerts.map((alert, index) => (
            <li key={index} className="text-sm wrap-anywhere">
              <Badge tone="busy">alert</Badge> {alertWords(alert)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Entry({
  change,
  known,
  watchNames,
  choice,
}: {
  change: Change;
  known: { title: string | null; currency: string | null } | undefined;
} & Pick<Parameters<typeof Changes>[0], "watchNames" | "choice">) {
  const { from, to } = comparedIn(change);
  const versions = from < to ? { from, to } : undefined;
  const isChosen = choice !== undefined && versions !== undefined && choice.isChosen(versions);
  const choose = (event: MouseEvent) => {
    if (!choice || !versions || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    choice.onChoose(versions);
  };
  return (
    <>
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <Link
          href={changeHref(change)}
          prefetch={false}
          onClick={choose}
          aria-current={isChosen || undefined}
          className="inline-block min-h-6 min-w-0 font-medium wrap-anywhere"
        >
          {choice ? `Version ${from} → ${to}` : short(known?.title || shortUrl(change.url))}
        </Link>
        <span className="text-sm text-soft">
          <Time at={change.timestamp} ago />
        </span>
      </div>
      {!choice && known?.title && (
        <p className="text-sm text-soft wrap-anywhere">
          <UrlText url={short(shortUrl(change.url))} />
        </p>
      )}
      {watchNames && (
        <p className="text-sm wrap-anywhere">
          <To href={watchPath(change.jobId)} className="inline-block min-h-6">
            {watchNames.get(change.jobId) ?? change.jobId}
          </To>
        </p>
      )}
      <WhatChanged change={change} currency={known?.currency ?? null} />
    </>
  );
}

/** A price before and after, and by how much; words say what colour and shape show. */
export function PriceMoved({
  before,
  after,
  currency,
}: {
  before: number | null;
  after: number | null;
  currency: string | null;
}) {
  if (before === null) return <>price now {price(after, currency)}</>;
  if (after === null) return <>price was {price(before, currency)}, now none</>;
  const moved = before === 0 ? null : ((after - before) / before) * 100;
  const move = after < before ? "fall" : "rise";
  return (
    <>
      {price(before, currency)} <span aria-hidden="true">→</span>
      <span className="sr-only"> became </span> <strong className="font-semibold">{price(after, currency)}</strong>
      {moved !== null && before !== after && (
        <>
          {" "}
          <span className={`whitespace-nowrap ${MOVES[move].text}`}>
            <PriceSign move={move} /> {move === "fall" ? "down" : "up"} {percentSize(moved)}
          </span>
        </>
      )}
    </>
  );
}

"use client";

import { Badge } from "@/components/Badge";
import { To } from "@/components/Links";
import { Time } from "@/components/Time";
import { shortUrl } from "@/lib/format";
import { changeWords, pagePath, price, priceMove, short, watchPath, type Change } from "@/lib/watch";

const moves = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 2 });

/** What is known of a page beside its change logs. */
export type PageNames = Map<string, { title: string | null; currency: string | null }>;

export function pageKey({ jobId, url }: { jobId: string; url: string }): string {
  return `${jobId}\n${url}`;
}

/** Change logs, the latest first. `watchNames` is given where they are of several watches. */
export function Changes({
  changes,
  pages,
  watchNames,
  isOnePage = false,
}: {
  changes: Change[];
  pages: PageNames;
  watchNames?: Map<string, string>;
  isOnePage?: boolean;
}) {
  return (
    <ol className="divide-y divide-line">
      {changes.map((change) => (
        <li
          key={`${pageKey(change)}\n${change.version.current}\n${change.timestamp}`}
          className="py-3 first:pt-0 last:pb-0"
        >
          <Entry change={change} known={pages.get(pageKey(change))} watchNames={watchNames} isOnePage={isOnePage} />
        </li>
      ))}
    </ol>
  );
}

function Entry({
  change,
  known,
  watchNames,
  isOnePage,
}: {
  change: Change;
  known: { title: string | null; currency: string | null } | undefined;
  watchNames: Map<string, string> | undefined;
  isOnePage: boolean;
}) {
  const { previous, current } = change.version;
  const href = pagePath(change.jobId, change.url, previous < current ? { from: previous, to: current } : {});
  const changes = change.changes as Record<string, unknown>;
  const move = priceMove(changes);
  const words = changeWords(changes);
  return (
    <>
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <To href={href} className="inline-block min-h-6 min-w-0 font-medium wrap-anywhere">
          {isOnePage ? `Version ${previous} → ${current}` : short(known?.title || shortUrl(change.url))}
        </To>
        <span className="text-sm text-soft">
          <Time at={change.timestamp} ago />
        </span>
      </div>
      {watchNames && (
        <p className="text-sm wrap-anywhere">
          <To href={watchPath(change.jobId)} className="inline-block min-h-6">
            {watchNames.get(change.jobId) ?? change.jobId}
          </To>
        </p>
      )}
      {move && (
        <p className="tabular-nums">
          <PriceMoved {...move} currency={move.currency ?? known?.currency ?? null} />
        </p>
      )}
      {words.length > 0 && <p className="text-sm text-soft wrap-anywhere">{words.join(" · ")}</p>}
      {change.alerts.length > 0 && (
        <ul className="mt-1 flex flex-col gap-1" aria-label="Alerts">
          {change.alerts.map((alert, index) => (
            <li key={index} className="text-sm wrap-anywhere">
              <Badge tone="busy">alert</Badge> {alert}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** A price before and after, and by how much; up and down are told by words and arrows, not by colour. */
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
  return (
    <>
      {price(before, currency)} <span aria-hidden="true">→</span>
      <span className="sr-only"> became </span> <strong className="font-semibold">{price(after, currency)}</strong>
      {moved !== null && before !== after && (
        <span className="text-soft">
          {" "}
          ({after < before ? "down" : "up"} {moves.format(Math.abs(moved))} %)
        </span>
      )}
    </>
  );
}

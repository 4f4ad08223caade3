"use client";

import { useState } from "react";
import { Badge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { CursorPager } from "@/components/Pager";
import { PriceChart } from "@/components/PriceChart";
import { PriceSign } from "@/components/PriceSign";
import { moveOf, RANGES, spanOf, startOf, type PricePoint, type Range } from "@/components/priceCurve";
import { Loaded } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import { sayError } from "@/components/Toasts";
import { addressOf, api, type Schema } from "@/lib/api";
import { download } from "@/lib/download";
import { counted, timeOf } from "@/lib/format";
import { useResource, type Resource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { percent, price } from "@/lib/watch";

const ROWS = 50;

export type PricesSeen = {
  summary: Schema<"PriceStatistics"> | null; // null: the page has no prices
  curve: Schema<"PriceCurveResponse">;
  range: Range;
  since: number | undefined;
  now: number;
};

export async function loadPrices(jobId: string, url: string, range: Range, signal: AbortSignal): Promise<PricesSeen> {
  const now = Date.now();
  const since = startOf(range, now);
  const [{ summary }, curve] = await Promise.all([
    api.get("/api/watch/pages/prices", { query: { jobId, url, limit: 1 }, signal }),
    api.get("/api/watch/pages/prices/curve", { query: { jobId, url, since }, signal }),
  ]);
  return { summary, curve, range, since, now };
}

export function Prices({
  from,
  jobId,
  url,
  range,
  onRange,
}: {
  from: Resource<PricesSeen>;
  jobId: string;
  url: string;
  range: Range;
  onRange: (range: Range) => void;
}) {
  if (from.data?.summary === null) return null; // a page without prices
  return (
    <Card title="Price" actions={from.data?.summary && <CsvButton jobId={jobId} url={url} />}>
      <Loaded from={from} lines={9}>
        {(seen) =>
          seen.summary && (
            <div className="flex flex-col gap-4">
              <Summary summary={seen.summary} />
              <Ranges range={range} onRange={onRange} />
              <Charted seen={seen} summary={seen.summary} />
              <PriceTable jobId={jobId} url={url} newest={seen.summary.last.timestamp} />
            </div>
          )
        }
      </Loaded>
    </Card>
  );
}

function Summary({ summary }: { summary: Schema<"PriceStatistics"> }) {
  const { currency, last, lastChange, lowest90Days: lowest } = summary;
  const change = Number(lastChange?.changePercent ?? 0);
  const isLowest = Number(last.price) === Number(lowest.price) && Number(summary.maximum) > Number(lowest.price);
  const figures = [
    ["Now", last.price],
    ["Lowest in 90 days", lowest.price],
    ["Lowest", summary.minimum],
    ["Highest", summary.maximum],
    ["Median", summary.median],
  ] as const;
  return (
    <>
      <dl className="flex flex-wrap gap-x-8 gap-y-2">
        {figures.map(([name, amount]) => (
          <div key={name}>
            <dt className="text-sm text-soft">{name}</dt>
            <dd className="text-xl font-semibold wrap-anywhere tabular-nums">{price(amount, currency)}</dd>
          </div>
        ))}
      </dl>
      {(change !== 0 || isLowest) && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
          {lastChange && change !== 0 && (
            <span>
              <PriceSign move={change < 0 ? "fall" : "rise"} /> {change < 0 ? "Fell" : "Rose"} by {percent(change).slice(1)} to{" "}
              {price(lastChange.price, currency)}, <Time at={lastChange.timestamp} ago />
            </span>
          )}
          {isLowest && <Badge tone="good">lowest in 90 days</Badge>}
        </p>
      )}
    </>
  );
}

function Ranges({ range, onRange }: { range: Range; onRange: (range: Range) => void }) {
  return (
    <div role="group" aria-label="Time range" className="flex flex-wrap gap-2">
      {RANGES.map(([each, name]) => (
        <Button
          key={each}
          aria-pressed={each === range}
          kind={each === range ? "primary" : "plain"}
          onClick={() => onRange(each)}
        >
          {name}
        </Button>
      ))}
    </div>
  );
}

function Charted({
  seen: { curve, since, now },
  summary,
}: {
  seen: PricesSeen;
  summary: Schema<"PriceStatistics">;
}) {
  const { currency } = curve;
  const points = curve.points.map((each): PricePoint => ({ at: each.timestamp, amount: Number(each.price) }));
  const moves = points.map((_, index) => moveOf(points, index));
  const [rises, falls] = [moves.filter((each) => each === "rise").length, moves.filter((each) => each === "fall").length];
  const amounts = points.map((point) => point.amount);
  const changes = curve.isThinned
    ? "more changes than fit; lows and highs are all shown"
    : `${counted(rises, "rise")}, ${counted(falls, "fall")}`;
  const span = spanOf(points, since, now);
  const label = [
    `From ${timeOf(span.from)} to now: ${counted(curve.records, "record")}`,
    changes,
    `now ${price(summary.last.price, currency)}`,
    `lowest ${price(Math.min(...amounts), currency)}`,
    `highest ${price(Math.max(...amounts), currency)}`,
  ].join(", ");
  return (
    <div>
      <PriceChart points={points} {...span} currency={currency} label={label} />
      <p className="text-sm text-soft">
        {counted(curve.records, "record")}, {changes}
      </p>
    </div>
  );
}

/** The records behind the chart; loaded when it is opened. */
function PriceTable({ jobId, url, newest }: { jobId: string; url: string; newest: number }) {
  const [isOpen, setOpen] = useState(false);
  const [cursor, setCursor] = useState<string>();
  const found = useSteady(
    useResource(isOpen ? `${newest} ${cursor}` : null, (signal) =>
      api.get("/api/watch/pages/prices", { query: { jobId, url, limit: ROWS, cursor }, signal }),
    ),
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer text-accent">All records as a table</summary>
      {isOpen && (
        <div className="mt-3">
          <Loaded from={found} lines={6}>
            {(seen) => (
              <>
                <div className="max-h-96 overflow-y-auto px-4 sm:px-5">
                  <Table label="Prices">
                    <Head columns={{ Time: "text", Price: "number", Change: "number", Version: "number" }} />
                    <tbody>
                      {seen.data.map((each) => (
                        <tr key={`${each.timestamp} ${each.price}`}>
                          <Td>
                            <Time at={each.timestamp} />
                          </Td>
                          <Td isNumber>{price(each.price, each.currency)}</Td>
                          <Td isNumber>
                            <Change percent={each.changePercent} />
                          </Td>
                          <Td isNumber>{each.version ?? "–"}</Td>
                        </tr>
                      ))}
                    </tbody>
                  </Table>
                </div>
                <CursorPager
                  isFirst={cursor === undefined}
                  next={seen.nextCursor}
                  onFirst={() => setCursor(undefined)}
                  onNext={setCursor}
                />
              </>
            )}
          </Loaded>
        </div>
      )}
    </details>
  );
}

function Change({ percent: change }: { percent: Schema<"PriceResponse">["changePercent"] }) {
  if (change === null || Number(change) === 0) return "–";
  return (
    <>
      <PriceSign move={Number(change) < 0 ? "fall" : "rise"} /> {percent(change)}
    </>
  );
}

function CsvButton({ jobId, url }: { jobId: string; url: string }) {
  const [isBusy, setBusy] = useState(false);
  async function save() {
    setBusy(true);
    try {
      await download(addressOf("/api/watch/pages/prices", {}, { jobId, url, format: "csv" }), "prices.csv");
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Button isBusy={isBusy} onClick={() => void save()}>
      CSV
    </Button>
  );
}

"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Card, Figure } from "@/components/Card";
import { PriceChart, type PricePoint } from "@/components/PriceChart";
import { Empty, Loaded } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import { sayError } from "@/components/Toasts";
import { addressOf, api, type Schema } from "@/lib/api";
import { download } from "@/lib/download";
import { counted, number } from "@/lib/format";
import type { Resource } from "@/lib/resource";
import { percent, price } from "@/lib/watch";

const AT_ONCE = 200;
const MOST = 1000; // that are drawn
const MOVES = 8;

export type PricesSeen = { prices: Schema<"PriceResponse">[]; summary: Schema<"PriceStatistics"> | null; isAll: boolean };

/** The latest prices, the newest first. */
export async function loadPrices(jobId: string, url: string, signal: AbortSignal): Promise<PricesSeen> {
  const first = await api.get("/api/watch/pages/prices", { query: { jobId, url, limit: AT_ONCE }, signal });
  const prices = [...first.data];
  let cursor = first.nextCursor;
  while (cursor !== null && prices.length < MOST) {
    const more: Schema<"PricesPage"> = await api.get("/api/watch/pages/prices", {
      query: { jobId, url, limit: AT_ONCE, cursor },
      signal,
    });
    prices.push(...more.data);
    cursor = more.nextCursor;
  }
  return { prices, summary: first.summary, isAll: cursor === null };
}

export function Prices({ from, jobId, url }: { from: Resource<PricesSeen>; jobId: string; url: string }) {
  const hasPrices = (from.data?.prices.length ?? 0) > 0;
  return (
    <Card title="Price" actions={hasPrices && <CsvButton jobId={jobId} url={url} />}>
      <Loaded from={from} lines={9}>
        {(seen) =>
          seen.prices.length === 0 ? (
            <Empty title="No price was found on this page">If the page has a price, its chart appears here.</Empty>
          ) : (
            <Charted seen={seen} />
          )
        }
      </Loaded>
    </Card>
  );
}

function Charted({ seen: { prices, summary, isAll } }: { seen: PricesSeen }) {
  const currency = summary?.currency ?? prices[0]?.currency ?? null;
  const same = prices.filter((each) => each.currency === currency);
  const points = same
    .map((each): PricePoint => ({
      at: each.timestamp,
      amount: Number(each.price),
      changePercent: each.changePercent === null ? null : Number(each.changePercent),
    }))
    .reverse();
  const levels = summary && {
    minimum: Number(summary.minimum),
    maximum: Number(summary.maximum),
    median: Number(summary.median),
  };
  const moves = prices.filter((each) => each.changePercent !== null && Number(each.changePercent) !== 0);
  const words = [`Price over time, ${counted(points.length, "record")}: now ${price(points.at(-1)?.amount, currency)}`];
  for (const [name, amount] of Object.entries(levels ?? {})) words.push(`${name} ${price(amount, currency)}`);
  return (
    <div className="flex flex-col gap-5">
      {levels && (
        <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
          <Figure name="Now">{price(summary.last.price, currency)}</Figure>
          <Figure name="Lowest">{price(levels.minimum, currency)}</Figure>
          <Figure name="Highest">{price(levels.maximum, currency)}</Figure>
          <Figure name="Median">{price(levels.median, currency)}</Figure>
        </dl>
      )}
      <PriceChart points={points} levels={levels} currency={currency} label={words.join(", ")} />
      {(!isAll || same.length < prices.length) && (
        <p className="text-sm text-soft">
          {!isAll && `These are the latest ${number(prices.length)} records; the CSV file has all. `}
          {same.length < prices.length && "Prices in other currencies are in the table only."}
        </p>
      )}
      {moves.length > 0 && (
        <div>
          <h3 className="mb-1">Price changes</h3>
          <ul className="flex flex-col gap-1">
            {moves.slice(0, MOVES).map((each) => (
              <li key={`${each.timestamp} ${each.price}`}>
                <Time at={each.timestamp} />: {Number(each.changePercent) < 0 ? "fell" : "rose"} by{" "}
                {percent(each.changePercent).slice(1)} to{" "}
                <strong className="font-semibold">{price(each.price, each.currency)}</strong>
              </li>
            ))}
          </ul>
        </div>
      )}
      <PriceTable prices={prices} />
    </div>
  );
}

function PriceTable({ prices }: { prices: Schema<"PriceResponse">[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer text-accent">All records as a table</summary>
      {isOpen && (
        <div className="mt-3 max-h-96 overflow-y-auto px-4 sm:px-5">
          <Table label="Prices">
            <Head columns={{ Time: "text", Price: "number", Change: "number", Version: "number" }} />
            <tbody>
              {prices.map((each) => (
                <tr key={`${each.timestamp} ${each.price}`}>
                  <Td>
                    <Time at={each.timestamp} />
                  </Td>
                  <Td isNumber>{price(each.price, each.currency)}</Td>
                  <Td isNumber>{each.changePercent === null ? "–" : percent(each.changePercent)}</Td>
                  <Td isNumber>{each.version ?? "–"}</Td>
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      )}
    </details>
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

"use client";

import { useEffect } from "react";
import { StatusBadge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { To, UrlText } from "@/components/Links";
import { AddressPager } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import { api, type Schema } from "@/lib/api";
import { useAddress } from "@/lib/address";
import { startOfDay } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { detailsOf, recordAddress, sizeOf } from "./details";
import { Filters } from "./Filters";

const LIMIT = 50;
const MOST_TRIES = 10; // a page under a rare filter can be empty although there are more

type Record = Schema<"RecordResponse">;
type Query = NonNullable<Parameters<typeof api.get<"/metadata/records">>[1]>["query"];

export function Records({ changes }: { changes: number }) {
  const [address, change] = useAddress();
  const cursor = address.get("cursor");
  const query = queryOf(address);
  const isFiltered = ["q", "host", "status", "from", "to"].some((name) => address.get(name));
  const page = useResource(`records ${JSON.stringify(query)}`, (signal) => pageOf(query, signal));
  const { reload } = page;
  useEffect(() => {
    if (changes > 0) reload();
  }, [changes, reload]);
  return (
    <Card title="Records">
      <Filters />
      <Loaded from={page} lines={14}>
        {({ data: records, nextCursor }) => (
          <>
            {records.length > 0 ? (
              <RecordTable records={records} />
            ) : isFiltered || cursor ? (
              <Empty title="No matching records">
                <p>Try fewer words, or end with * to match any ending (shop lamp*).</p>
                <Button onClick={() => change({ q: "", host: "", status: "", from: "", to: "", cursor: "" })}>
                  Show all
                </Button>
              </Empty>
            ) : (
              <Empty title="Nothing in the inventory yet">
                <p>Submit a URL above. Its record appears here at once, and the response as soon as it is fetched.</p>
                <Button kind="primary" onClick={() => document.querySelector("textarea")?.focus()}>
                  Write a URL
                </Button>
              </Empty>
            )}
            <AddressPager name="cursor" next={nextCursor} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function RecordTable({ records }: { records: Record[] }) {
  return (
    <Table label="Records">
      <Head
        columns={{
          URL: "text",
          State: "text",
          HTTP: "number",
          Content: "text",
          Attempts: "number",
          Updated: "text",
        }}
      />
      <tbody>
        {records.map((record) => (
          <Row key={record.url} record={record} />
        ))}
      </tbody>
    </Table>
  );
}

function Row({ record }: { record: Record }) {
  const { content_type } = detailsOf(record);
  const size = sizeOf(detailsOf(record));
  const { attempt_number, error_message } = record.processing;
  return (
    <tr>
      <Td className="w-full min-w-56">
        <To href={recordAddress(record.url)} className="line-clamp-2 wrap-anywhere">
          <UrlText url={record.url} />
        </To>
        {error_message && (
          <span className="line-clamp-2 text-sm text-bad wrap-anywhere" title={error_message}>
            {error_message}
          </span>
        )}
      </Td>
      <Td>
        <StatusBadge status={record.status} />
      </Td>
      <Td isNumber>{record.metadata.status_code ?? "–"}</Td>
      <Td className="whitespace-nowrap">
        <span className="block max-w-40 truncate">{content_type?.split(";")[0] || "–"}</span>
        {size !== "–" && <span className="block text-sm text-soft tabular-nums">{size}</span>}
      </Td>
      <Td isNumber>{attempt_number}</Td>
      <Td>
        <Time at={record.updated_at} ago />
      </Td>
    </tr>
  );
}

async function pageOf(query: Query, signal: AbortSignal): Promise<Schema<"RecordsPage">> {
  const page = await api.get("/metadata/records", { query, signal });
  for (let tries = 1; page.data.length === 0 && page.nextCursor !== null && tries < MOST_TRIES; tries += 1) {
    const more = await api.get("/metadata/records", { query: { ...query, cursor: page.nextCursor }, signal });
    page.data = more.data;
    page.nextCursor = more.nextCursor;
  }
  return page;
}

function queryOf(address: URLSearchParams): Query {
  return {
    q: address.get("q"),
    host: address.get("host"),
    status: address.get("status") as Schema<"RecordResponse">["status"] | null,
    from: momentOf(address.get("from"), 0),
    to: momentOf(address.get("to"), 1), // the day itself counts too
    cursor: address.get("cursor"),
    limit: LIMIT,
  };
}

function momentOf(day: string | null, later: number): string | undefined {
  const start = startOfDay(day ?? "", later);
  return Number.isNaN(start) ? undefined : new Date(start).toISOString();
}

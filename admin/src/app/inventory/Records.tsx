"use client";

import { useEffect, useState } from "react";
import { StatusBadge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { confirming } from "@/components/List/forms";
import { List } from "@/components/List/List";
import { RowActions } from "@/components/List/RowActions";
import { Line, Named, Reason } from "@/components/List/Text";
import type { BulkAction, Column, Filter } from "@/components/List/types";
import { useList } from "@/components/List/useList";
import { Empty } from "@/components/States";
import { Time } from "@/components/Time";
import { say } from "@/components/Toasts";
import { api, type Schema } from "@/lib/api";
import { startOfDay } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { detailsOf, recordAddress, sizeOf, STATES } from "./details";
import { Invalidate } from "./Invalidate";

const LIMIT = 100;
const MOST_TRIES = 10; // a page under a rare filter can be empty although there are more

type Record = Schema<"RecordResponse">;
type Query = NonNullable<Parameters<typeof api.get<"/metadata/records">>[1]>["query"];
type Sort = NonNullable<Query>["sort"];

const FILTERS: Filter[] = [
  {
    name: "status",
    label: "State",
    kind: "choice",
    any: "Any state",
    options: STATES.map((state) => [state, state.replaceAll("_", " ").toLowerCase()]),
  },
  { name: "host", label: "Host", kind: "text" },
  { name: "from", label: "Created from", kind: "day" },
  { name: "to", label: "to", kind: "day" },
];

const COLUMNS: Column<Record>[] = [
  { id: "url", name: "URL", width: 175, grow: 4, cell: ({ url }) => <Named href={recordAddress(url)} name={url} /> },
  {
    id: "status",
    exported: ["status", "error_message"],
    name: "State",
    width: 132,
    grow: 2,
    cell: ({ status }) => <StatusBadge status={status} />,
  },
  { id: "statusCode", exported: ["status_code"], name: "HTTP", width: 50, isNumber: true, cell: ({ metadata }) => metadata.status_code },
  {
    id: "contentType",
    exported: ["content_type"],
    name: "Content",
    width: 84,
    cell: (record) => {
      const type = detailsOf(record).content_type?.split(";")[0];
      return type ? <Line>{type}</Line> : null;
    },
  },
  {
    id: "size",
    exported: ["content_length"],
    name: "Size",
    width: 64,
    isNumber: true,
    cell: (record) => {
      const size = sizeOf(detailsOf(record));
      return size === "–" ? null : <Line>{size}</Line>;
    },
  },
  {
    id: "attempts",
    exported: ["attempt_number"],
    name: "Attempts",
    width: 80,
    isNumber: true,
    isExtra: true,
    cell: ({ processing }) => processing.attempt_number,
  },
  { id: "updated_at", name: "Updated", width: 112, cell: ({ updated_at }) => <Time at={updated_at} ago /> },
  { id: "created_at", name: "Created", sort: "createdAt", width: 118, isExtra: true, cell: ({ created_at }) => <Time at={created_at} ago /> },
];

const BULK: BulkAction[] = [
  {
    name: "Refetch",
    body: { action: "refetch" },
    about: "They are fetched again. What is stored of them is replaced.",
    done: "submitted",
  },
  {
    name: "Invalidate",
    Form: confirming({
      title: (count) => `Invalidate ${count}?`,
      text: "Their headers, cookies and sources are deleted. This can't be undone.",
      yes: "Invalidate",
      body: { action: "invalidate" },
    }),
    done: "invalidated",
    isDangerous: true,
  },
];

/** What is in the inventory, loaded again after each of the `changes`. */
export function Records({ changes }: { changes: number }) {
  const list = useList(COLUMNS, FILTERS);
  const { q, sort, filters, cursors } = list.asked;
  const chosen = {
    q: q || null,
    host: filters.host || null,
    status: (filters.status || null) as Record["status"] | null,
    from: momentOf(filters.from, 0),
    to: momentOf(filters.to, 1), // the day itself counts too
  };
  const exported = { ...chosen, sort: (sort || undefined) as Sort };
  const query = { ...exported, limit: LIMIT, cursor: cursors.at(-1) };
  const page = useSteady(useResource(`records ${JSON.stringify(query)}`, (signal) => pageOf(query, signal)));
  const { reload } = page;
  useEffect(() => {
    if (changes > 0) reload();
  }, [changes, reload]);
  return (
    <List
      {...list}
      name="Records"
      what={["record", "records"]}
      from={page}
      keyOf={({ url }) => url}
      nameOf={({ url }) => url}
      below={({ processing }) => processing.error_message && <Reason>{processing.error_message}</Reason>}
      search="Words of the URL"
      usualSort="-createdAt"
      bulk={{ path: "/metadata/bulk", ids: "urls", actions: BULK, filter: chosen }}
      actions={({ url }) => <Actions url={url} onDone={reload} />}
      exports={{ path: "/metadata/records/export", file: "records", query: exported }}
      empty={
        <Empty title="Nothing in the inventory yet">
          <p>Submit a URL above. Its record appears here at once, and the response as soon as it is fetched.</p>
          <Button kind="primary" onClick={() => document.querySelector("textarea")?.focus()}>
            Write a URL
          </Button>
        </Empty>
      }
    />
  );
}

function Actions({ url, onDone }: { url: string; onDone: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const refetch = async () => {
    await api.post("/metadata", { body: { url } });
    say("Submitted. The response will appear here.");
    onDone();
  };
  return (
    <>
      <RowActions
        of={url}
        sign="↻"
        actions={[
          { name: "Refetch", act: refetch },
          { name: "Invalidate", act: () => setAsking(true), isDangerous: true },
        ]}
      />
      {isAsking && <Invalidate url={url} onClose={() => setAsking(false)} onDone={onDone} />}
    </>
  );
}

async function pageOf(query: Query, signal: AbortSignal): Promise<Schema<"RecordsPage">> {
  let page = await api.get("/metadata/records", { query, signal });
  for (let tries = 1; page.data.length === 0 && page.nextCursor !== null && tries < MOST_TRIES; tries += 1) {
    page = await api.get("/metadata/records", { query: { ...query, cursor: page.nextCursor }, signal });
  }
  return page;
}

function momentOf(day: string | undefined, later: number): string | undefined {
  const start = startOfDay(day ?? "", later);
  return Number.isNaN(start) ? undefined : new Date(start).toISOString();
}

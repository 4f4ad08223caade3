"use client";

import { Badge } from "@/components/Badge";
import { Card } from "@/components/Card";
import { Meter } from "@/components/Meter";
import { Loaded } from "@/components/States";
import { api, type Schema } from "@/lib/api";
import { bytes, counted } from "@/lib/format";
import { useResource } from "@/lib/resource";

/** How much of their budget watched pages use, and the size of the whole database. */
export function Storage() {
  const storage = useResource("storage", (signal) => api.get("/api/watch/storage", { signal }), { everyMs: 30_000 });
  return (
    <>
      <Card title="Storage of watched pages">
        <Loaded from={storage} lines={10}>
          {(found) => <Pages storage={found} />}
        </Loaded>
      </Card>
      <Card title="Database">
        <Loaded from={storage} lines={10}>
          {(found) => <Database database={found.database} />}
        </Loaded>
      </Card>
    </>
  );
}

function Pages({ storage }: { storage: Schema<"StorageResponse"> }) {
  return (
    <>
      <Used used={storage.bytes} most={storage.budget} isFull={storage.full} />
      <p className="mt-2 text-sm text-soft">
        {storage.full
          ? "Nothing new is stored until you raise the setting WEBLOOM_STORAGE_BUDGET or remove watches with their pages."
          : `${bytes(storage.supersededBytes)} of it are older versions, which pruning would free.`}
      </p>
      <Sizes
        of={storage.collections.map((each) => ({
          name: each.collection,
          bytes: each.bytes,
          words: `${counted(each.items, "item")}, ${bytes(each.bytes)}`,
        }))}
      />
    </>
  );
}

function Database({ database }: { database: Schema<"DatabaseUsage"> }) {
  return (
    <>
      <p className="mb-2 text-sm text-soft">All collections with their indexes, those of watched pages included.</p>
      <Used used={database.bytes} most={database.limit} isFull={database.full !== null} />
      <p className={`mt-2 text-sm ${database.full ? "text-bad" : "text-soft"}`}>
        {database.full ? `${database.full}.` : limitWords(database.limit)}
      </p>
      <Sizes
        of={database.collections.map((each) => ({
          name: each.name,
          bytes: each.bytes,
          words: each.isOurs ? bytes(each.bytes) : `another program's, ${bytes(each.bytes)}`,
        }))}
      />
    </>
  );
}

function limitWords(limit: number | null): string {
  if (limit === null) return "No limit. The setting WEBLOOM_DATABASE_LIMIT sets one.";
  return "From 80 % on, older versions of watched pages are pruned.";
}

function Used({ used, most, isFull }: { used: number; most: number | null; isFull: boolean }) {
  const words = most === null ? bytes(used) : `${bytes(used)} of ${bytes(most)}`;
  return (
    <>
      <p className="mb-1 flex flex-wrap items-center justify-between gap-2 tabular-nums">
        <span>{words}</span>
        {isFull && <Badge tone="bad">full</Badge>}
      </p>
      {most !== null && <Meter value={used} most={most} label={`${words} are used`} />}
    </>
  );
}

type Size = { name: string; bytes: number; words: string };

function Sizes({ of }: { of: Size[] }) {
  const most = Math.max(1, ...of.map((each) => each.bytes));
  return (
    <dl className="mt-5 flex flex-col gap-3">
      {of.map((each) => (
        <div key={each.name} className="grid grid-cols-[1fr_max-content] gap-x-4 gap-y-1 text-sm">
          <dt className="min-w-0 break-words">{each.name.replaceAll("_", " ")}</dt>
          <dd className="text-soft tabular-nums">{each.words}</dd>
          <dd aria-hidden="true" className="col-span-2">
            <Meter value={each.bytes} most={most} label={each.words} tone="accent" />
          </dd>
        </div>
      ))}
    </dl>
  );
}

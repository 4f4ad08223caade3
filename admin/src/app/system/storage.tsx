"use client";

import { Badge } from "@/components/Badge";
import { Card } from "@/components/Card";
import { Meter } from "@/components/Meter";
import { Loaded } from "@/components/States";
import { api, type Schema } from "@/lib/api";
import { bytes, counted } from "@/lib/format";
import { useResource } from "@/lib/resource";

/** What watched pages take, of what they may. */
export function Storage() {
  const storage = useResource("storage", (signal) => api.get("/api/watch/storage", { signal }), { everyMs: 30_000 });
  return (
    <Card title="Storage of watched pages">
      <Loaded from={storage} lines={10}>
        {(found) => (
          <>
            <p className="mb-1 flex flex-wrap items-center justify-between gap-2 tabular-nums">
              <span>
                {bytes(found.bytes)} of {bytes(found.budget)}
              </span>
              {found.full && <Badge tone="bad">full</Badge>}
            </p>
            <Meter
              value={found.bytes}
              most={found.budget}
              label={`${bytes(found.bytes)} of ${bytes(found.budget)} are used`}
            />
            <p className="mt-2 text-sm text-soft">
              {found.full
                ? "Nothing new is stored. Raise WEBLOOM_STORAGE_BUDGET, or remove watches with their pages."
                : `${bytes(found.supersededBytes)} of it are older versions, which pruning would free.`}
            </p>
            <Collections storage={found} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Collections({ storage }: { storage: Schema<"StorageAnswer"> }) {
  const most = Math.max(1, ...storage.collections.map((each) => each.bytes));
  return (
    <dl className="mt-5 flex flex-col gap-3">
      {storage.collections.map((each) => {
        const words = `${counted(each.items, "item")}, ${bytes(each.bytes)}`;
        return (
          <div key={each.collection} className="grid grid-cols-[1fr_max-content] gap-x-4 gap-y-1 text-sm">
            <dt>{each.collection.replaceAll("_", " ")}</dt>
            <dd className="text-soft tabular-nums">{words}</dd>
            <dd aria-hidden="true" className="col-span-2">
              <Meter value={each.bytes} most={most} label={words} tone="accent" />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

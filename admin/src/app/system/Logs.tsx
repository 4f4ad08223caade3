"use client";

import { useState } from "react";
import { StatusBadge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Field, Select } from "@/components/Form";
import { Empty, Loaded } from "@/components/States";
import { Time } from "@/components/Time";
import { useAddress } from "@/lib/address";
import { api, type Schema } from "@/lib/api";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";

const EVERY_MS = 3000;
const FIRST = 20;
const MOST = 200;
const ROLES = ["up", "api", "worker", "scheduler", "storage-agent"];
const LEVELS = ["info", "warning", "error"] as const;

/** What processes did, and why things failed: the latest entries. */
export function Logs() {
  const [address, change] = useAddress();
  const [limit, setLimit] = useState(FIRST);
  const level = LEVELS.find((each) => each === address.get("level")) ?? "info";
  const role = address.get("role") ?? "";
  const logs = useSteady(
    useResource(
      `logs ${level} ${role} ${limit}`,
      (signal) => api.get("/api/worker-logs", { query: { level, role: role || undefined, limit }, signal }),
      { everyMs: EVERY_MS },
    ),
  );
  return (
    <Card title="Logs">
      <form className="mb-4 grid grid-cols-2 gap-3 sm:max-w-md" onSubmit={(event) => event.preventDefault()}>
        <Field label="Level">
          <Select value={level} onChange={(event) => change({ level: event.target.value }, "replace")}>
            <option value="info">All</option>
            <option value="warning">Warnings and errors</option>
            <option value="error">Errors</option>
          </Select>
        </Field>
        <Field label="Process">
          <Select value={role} onChange={(event) => change({ role: event.target.value }, "replace")}>
            <option value="">All</option>
            {ROLES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Select>
        </Field>
      </form>
      <Loaded from={logs} lines={10}>
        {({ data, nextCursor }) => (
          <>
            {data.length === 0 ? (
              <Empty title="No log entries">Entries are kept for three days by default.</Empty>
            ) : (
              <ul aria-label="Log entries" className="divide-y divide-line">
                {data.map((entry, index) => (
                  <Entry key={`${entry.timestamp} ${entry.pid} ${index}`} entry={entry} />
                ))}
              </ul>
            )}
            {nextCursor !== null && (
              <div className="mt-4 flex flex-wrap items-center gap-3">
                {limit < MOST ? (
                  <Button onClick={() => setLimit(MOST)}>Show more</Button>
                ) : (
                  <span className="text-soft">
                    These are the latest {MOST}. <code>webloom logs</code> shows all.
                  </span>
                )}
              </div>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Entry({ entry }: { entry: Schema<"WorkerLog"> }) {
  return (
    <li className="grid gap-x-4 gap-y-1 py-2 md:grid-cols-[12.5rem_6rem_minmax(0,1fr)]">
      <Time at={entry.timestamp} />
      <span>
        <StatusBadge status={entry.level} />
      </span>
      <div className="min-w-0">
        <p className="wrap-anywhere">{entry.message}</p>
        <dl className="flex flex-wrap gap-x-4 text-sm text-soft">
          {Object.entries(entry.fields).map(([name, value]) => (
            <div key={name} className="min-w-0">
              <dt className="inline">{name.replaceAll("_", " ")}: </dt>
              <dd className="inline wrap-anywhere text-ink">{value}</dd>
            </div>
          ))}
          <div>
            <dt className="inline">process: </dt>
            <dd className="inline">
              {entry.role} {entry.pid} on {entry.host}
            </dd>
          </div>
        </dl>
      </div>
    </li>
  );
}

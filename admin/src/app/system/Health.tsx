"use client";

import { Badge, StatusBadge } from "@/components/Badge";
import { Card } from "@/components/Card";
import { fetchHealth } from "@/components/Layout/Navbar";
import { Empty, Loaded } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { duration, number } from "@/lib/format";
import { useResource } from "@/lib/resource";

const EVERY_MS = 5000;

const WORDS: Record<string, string> = {
  ok: "Everything works.",
  degraded: "Running, but something is wrong. See below.",
  down: "A required service is down. See below.",
};

/** Every dependency and every process. */
export function Health() {
  const health = useResource(
    "system health",
    async (signal) => ({ ...(await fetchHealth(signal)), at: Date.now() }),
    { everyMs: EVERY_MS },
  );
  return (
    <>
      <Card title="Dependencies">
        <Loaded from={health} lines={5}>
          {({ status, storage, dependencies }) => (
            <>
              <p className="mb-3 flex flex-wrap items-center gap-2">
                <StatusBadge status={status} />
                {WORDS[status]}
              </p>
              {storage && <p className="mb-3 text-bad">The storage is {storage}.</p>}
              <Dependencies dependencies={dependencies} />
            </>
          )}
        </Loaded>
      </Card>
      <Card title="Processes">
        <Loaded from={health} lines={5}>
          {({ scheduler, workers, others, at }) => (
            <>
              {!workers.some((worker) => worker.alive) && (
                <p className="mb-3 rounded-lg bg-warn-pale p-3 text-warn">
                  No worker is running, so nothing in the queues is processed. <code>webloom worker</code> starts one.
                </p>
              )}
              {!others.some(({ role, alive }) => role === "scheduler" && alive) && (
                <p className="mb-3 rounded-lg bg-warn-pale p-3 text-warn">
                  {scheduler ?? "No scheduler is running, so imports and checks don't start or finish on their own."}{" "}
                  <code>webloom scheduler</code> starts one.
                </p>
              )}
              <Processes processes={[...workers, ...others]} at={at} />
            </>
          )}
        </Loaded>
      </Card>
    </>
  );
}

function Dependencies({ dependencies }: { dependencies: Schema<"Dependency">[] }) {
  return (
    <Table label="Dependencies">
      <Head
        columns={{
          Name: "text",
          Kind: "text",
          State: "text",
          Connection: "text",
          "Answered in": "number",
          Address: "text",
        }}
      />
      <tbody>
        {dependencies.map((each) => (
          <tr key={each.name}>
            <Td>
              <span className="font-medium">{each.name}</span>
              {each.detail && <span className="block min-w-40 text-bad wrap-anywhere">{each.detail}</span>}
            </Td>
            <Td>{each.kind}</Td>
            <Td>
              <StatusBadge status={each.state} />
            </Td>
            <Td>{each.connection.replaceAll("_", " ").toLowerCase()}</Td>
            <Td isNumber>{duration(each.milliseconds)}</Td>
            <Td className="min-w-48 wrap-anywhere">{each.address}</Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function Processes({ processes, at }: { processes: Schema<"ProcessHealth">[]; at: number }) {
  if (processes.length === 0) return <Empty title="No process has reported recently" />;
  return (
    <Table label="Processes">
      <Head
        columns={{
          Role: "text",
          State: "text",
          "Last heartbeat": "text",
          Where: "text",
          "In flight": "number",
          Done: "number",
          Repeated: "number",
          Failed: "number",
          Started: "text",
        }}
      />
      <tbody>
        {processes.map((each) => (
          <tr key={each.process_id}>
            <Td>
              <span className="font-medium">{each.role}</span>
              {each.queues.length > 0 && (
                <span className="block min-w-40 text-sm text-soft">{each.queues.join(", ")}</span>
              )}
            </Td>
            <Td>{each.alive ? <Badge tone="good">alive</Badge> : <Badge tone="bad">gone</Badge>}</Td>
            <Td>
              <Time at={at - each.last_beat_seconds_ago * 1000} ago />
            </Td>
            <Td className="whitespace-nowrap">
              {each.host}, process {each.pid}
            </Td>
            <Td isNumber>{each.slots > 0 ? `${number(each.in_flight)} of ${number(each.slots)}` : "–"}</Td>
            <Td isNumber>{number(each.completed)}</Td>
            <Td isNumber>{number(each.retried)}</Td>
            <Td isNumber>{number(each.failed)}</Td>
            <Td>
              <Time at={each.started_at} ago />
            </Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

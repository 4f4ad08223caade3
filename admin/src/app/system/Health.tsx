"use client";

import { Badge, StatusBadge } from "@/components/Badge";
import { Card } from "@/components/Card";
import { Empty, Loaded } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import { TroubleList } from "@/components/Troubles";
import { Time } from "@/components/Time";
import { api, send, type Schema } from "@/lib/api";
import { duration, number } from "@/lib/format";
import { useResource, type Resource } from "@/lib/resource";

const EVERY_MS = 5000;

const WORDS: Record<string, string> = {
  ok: "Everything works.",
  degraded: "Running, but something is wrong:",
  down: "A required service is down:",
};

export type HealthSeen = Schema<"Health"> & { errors: Schema<"Trouble">[]; at: number };

export function useHealth(): Resource<HealthSeen> {
  return useResource("system health", loadHealth, { everyMs: EVERY_MS });
}

async function loadHealth(signal: AbortSignal): Promise<HealthSeen> {
  const [health, troubles] = await Promise.all([fetchHealth(signal), api.get("/api/troubles", { signal })]);
  return { ...health, errors: troubles.data.filter(({ level }) => level === "error"), at: Date.now() };
}

async function fetchHealth(signal: AbortSignal): Promise<Schema<"Health">> {
  try {
    return (await (await send("/health", { signal })).json()) as Schema<"Health">;
  } catch (error) {
    const problem = (error as { problem?: Partial<Schema<"Health">> }).problem;
    if (problem?.status === "down") return problem as Schema<"Health">;
    throw error;
  }
}

/** Every dependency and every process. */
export function Health({ health }: { health: Resource<HealthSeen> }) {
  return (
    <>
      <Card title="Health">
        <Loaded from={health}>
          {({ status, errors }) => (
            <>
              <p className="flex flex-wrap items-center gap-2">
                <StatusBadge status={status} />
                {WORDS[status === "ok" && errors.length > 0 ? "degraded" : status]}
              </p>
              {errors.length > 0 && (
                <div className="mt-3">
                  <TroubleList troubles={errors} />
                </div>
              )}
            </>
          )}
        </Loaded>
      </Card>
      <Card title="Dependencies">
        <Loaded from={health}>{({ dependencies }) => <Dependencies dependencies={dependencies} />}</Loaded>
      </Card>
      <Card title="Processes">
        <Loaded from={health}>
          {({ workers, others, at }) => <Processes processes={[...workers, ...others]} at={at} />}
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

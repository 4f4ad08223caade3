// Watches with their checks.

import type { Rows } from "@/components/List/types";
import { api } from "@/lib/api";
import type { Run, Watch } from "@/lib/watch";

const RUNS_AT_ONCE = 100;

export type Listed = Watch & { active: Run | undefined };

type Query = NonNullable<NonNullable<Parameters<typeof api.get<"/api/watches">>[1]>["query"]>;
export type Sort = Query["sort"];

/** With how far running checks are: those of the latest runs. */
export async function loadWatches(query: Query, signal: AbortSignal): Promise<Rows<Listed>> {
  const [page, latest] = await Promise.all([
    api.get("/api/watches", { query, signal }),
    api.get("/api/watch/runs", { query: { status: "in_progress", limit: RUNS_AT_ONCE }, signal }),
  ]);
  const runs = new Map(latest.data.map((run) => [run.runId, run]));
  return { ...page, data: page.data.map((watch) => ({ ...watch, active: runs.get(watch.activeRunId ?? "") })) };
}

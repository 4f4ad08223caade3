// Import runs: which of them a page shows, and how live events change that.

import { api, ApiError, type Schema } from "./api";
import { startOfDay } from "./format";
import { isFound } from "./search";

export type ImportLog = Schema<"ImportLog">;
export type ImportLogsPage = Schema<"ImportLogsPage">;
export type StartedRun = Schema<"StartedRun">;
export type RunStatus = ImportLog["status"];
type Heard = ReadonlyMap<string, ImportLog>;

export const STATUSES: RunStatus[] = ["running", "completed", "partial", "failed"];
export const LONGEST_SEARCH = 200; // that the API takes
const PAGE_SIZE = 20;
const MOST_PAGES = 1_000_000;

/** As they are in the address: days are those of the reader's zone. */
export type Filters = {
  status: RunStatus | "";
  q: string;
  from: string;
  to: string;
  sourceUrl: string;
};

export const NO_FILTERS: Filters = { status: "", q: "", from: "", to: "", sourceUrl: "" };

/** Nonsense in a hand-written address counts as not given. */
export function filtersIn(address: URLSearchParams): Filters {
  return {
    status: STATUSES.find((each) => each === address.get("status")) ?? "",
    q: (address.get("q") ?? "").trim().slice(0, LONGEST_SEARCH),
    from: dayIn(address.get("from")),
    to: dayIn(address.get("to")),
    sourceUrl: address.get("sourceUrl") ?? "",
  };
}

export function pageIn(address: URLSearchParams): number {
  const page = Number(address.get("page") ?? 1);
  return Number.isInteger(page) && page >= 1 && page <= MOST_PAGES ? page : 1;
}

function dayIn(text: string | null): string {
  // A year that is being typed goes through 0002 and 0020.
  return text !== null && startOfDay(text, 0) >= 0 ? text : "";
}

function span({ from, to }: Filters): { since?: number; until?: number } {
  return {
    since: from ? startOfDay(from, 0) : undefined,
    until: to ? startOfDay(to, 1) - 1 : undefined, // a day may have 23 or 25 hours
  };
}

/** The API's query for these filters; `isTurned`: the oldest first. */
export function queryOf(filters: Filters, isTurned = false) {
  const { since, until } = span(filters);
  const { status, q, sourceUrl } = filters;
  return {
    status: status || undefined,
    q: q || undefined,
    sourceUrl: sourceUrl || undefined,
    from: since === undefined ? undefined : new Date(since).toISOString(),
    to: until === undefined ? undefined : new Date(until).toISOString(),
    sort: isTurned ? ("startedAt" as const) : undefined,
  };
}

export function loadRuns(
  filters: Filters,
  page: number,
  signal: AbortSignal,
  { limit = PAGE_SIZE, isTurned = false }: { limit?: number; isTurned?: boolean } = {},
) {
  return api.get("/api/import-logs", { query: { page, limit, ...queryOf(filters, isTurned) }, signal });
}

/** Decides as the server does, so that a run from a live event appears where a reload would show it. */
export function fits(filters: Filters, run: ImportLog): boolean {
  const { since = -Infinity, until = Infinity } = span(filters);
  const started = Date.parse(run.startedAt);
  return (
    (!filters.status || run.status === filters.status) &&
    (!filters.sourceUrl || run.sourceUrl === filters.sourceUrl) &&
    isFound(filters.q, [run.sourceName, run.sourceUrl]) &&
    started >= since &&
    started <= until
  );
}

export function laterOf<T extends ImportLog>(run: T, heard: ImportLog | undefined): T {
  return heard && Date.parse(heard.updatedAt) > Date.parse(run.updatedAt) ? { ...run, ...heard } : run;
}

/** A loaded page with the live events since. A run that is not on it is added only where it must be new: above the last
 * one of the first page. If the oldest come first, that is nowhere. */
export function withHeard(
  page: ImportLogsPage,
  heard: Heard,
  filters: Filters,
  isTurned = false,
): { rows: ImportLog[]; total: number } {
  const kept = page.data.map((run) => laterOf(run, heard.get(run.runId))).filter((run) => fits(filters, run));
  const total = page.total - (page.data.length - kept.length);
  if (page.page !== 1 || isTurned) return { rows: kept, total };
  const known = new Set(page.data.map((run) => run.runId));
  const last = page.total > page.data.length ? page.data.at(-1) : undefined;
  const after = last ? Date.parse(last.startedAt) : -Infinity;
  const come = [...heard.values()]
    .reverse()
    .filter((run) => !known.has(run.runId) && Date.parse(run.startedAt) > after && fits(filters, run));
  const rows = [...come, ...kept].sort((one, other) => Date.parse(other.startedAt) - Date.parse(one.startedAt));
  return { rows: rows.slice(0, page.limit), total: total + come.length };
}

/** The requested runs: those started, and those already running, which is not an error. */
export async function runsOf(asked: Promise<{ runs: StartedRun[] }>): Promise<StartedRun[]> {
  try {
    return (await asked).runs;
  } catch (error) {
    if (error instanceof ApiError && error.status === 409 && Array.isArray(error.problem.runs)) {
      return error.problem.runs as StartedRun[];
    }
    throw error;
  }
}

const CANCELLED = "cancelled"; // what a cancelled run has as its error

type Outcome = { status: string; error: string | null };

/** In the API a cancelled run has failed, or is done in part. */
export function isCancelled({ error }: Outcome): boolean {
  return error === CANCELLED;
}

export function shownStatus(run: Outcome): string {
  return isCancelled(run) ? CANCELLED : run.status;
}

export function runAddress(runId: string): string {
  return `/import-history/${encodeURIComponent(runId)}`;
}

/** What became of the records so far. */
export function handled(run: ImportLog): number {
  return run.newJobs + run.updatedJobs + run.unchangedJobs + run.duplicateJobs + run.failedJobs;
}

/** By the server's clock: of a running import, until its last change. */
export function durationOf(run: ImportLog): number {
  return run.meta.durationMs ?? Math.max(0, Date.parse(run.updatedAt) - Date.parse(run.startedAt));
}

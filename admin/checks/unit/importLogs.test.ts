import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "@/lib/api";
import {
  durationOf,
  filtersIn,
  fits,
  handled,
  isCancelled,
  laterOf,
  loadRuns,
  NO_FILTERS,
  pageIn,
  runAddress,
  runsOf,
  shownStatus,
  withHeard,
  type Filters,
  type ImportLog,
  type ImportLogsPage,
} from "@/lib/importLogs";
import { inZone } from "./places";
import { importLog } from "./samples";
import { sendJson, serve } from "./server";

function filters(changes: Partial<Filters>): Filters {
  return { ...NO_FILTERS, ...changes };
}

function address(query: string): URLSearchParams {
  return new URLSearchParams(query);
}

test("filters are read from the address", () => {
  assert.deepEqual(
    filtersIn(address("status=failed&q=+weaver+&from=2026-03-01&to=2026-03-31&sourceUrl=https://a.test/")),
    { status: "failed", q: "weaver", from: "2026-03-01", to: "2026-03-31", sourceUrl: "https://a.test/" },
  );
  assert.deepEqual(filtersIn(address("")), NO_FILTERS);
});

test("what makes no sense in an address counts as not given", () => {
  for (const query of ["status=cancelled", "status=FAILED", "from=yesterday", "to=2026-02-30", "q=+++"]) {
    assert.deepEqual(filtersIn(address(query)), NO_FILTERS, query);
  }
});

test("a year that is being typed does not filter yet", () => {
  for (const year of ["0002", "0020", "0202", "1969"]) {
    assert.equal(filtersIn(address(`from=${year}-03-01`)).from, "", year);
  }
});

test("a search is as long as the API takes it at most", () => {
  assert.equal(filtersIn(address(`q=${"x".repeat(500)}`)).q.length, 200);
});

test("a page that makes no sense is the first", () => {
  const rows: [string, number][] = [
    ["", 1],
    ["page=1", 1],
    ["page=7", 7],
    ["page=0", 1],
    ["page=-2", 1],
    ["page=1.5", 1],
    ["page=", 1],
    ["page=two", 1],
    ["page=1000000", 1_000_000],
    ["page=1000001", 1],
    ["page=Infinity", 1],
  ];
  for (const [query, page] of rows) assert.equal(pageIn(address(query)), page, query);
});

test("the API is asked for whole days of the reader's zone", async (t) => {
  await serve(t, (request, response) => sendJson(response, request.url));
  const chosen = filters({ from: "2026-03-08", to: "2026-03-08", q: "a&b" });
  const asked = inZone("America/New_York", () => loadRuns(chosen, 2, AbortSignal.timeout(60_000)));
  const { searchParams } = new URL(String(await asked), "http://a.test");
  assert.deepEqual(Object.fromEntries(searchParams), {
    page: "2",
    limit: "20",
    q: "a&b",
    from: "2026-03-08T05:00:00.000Z",
    to: "2026-03-09T03:59:59.999Z", // 23 hours: clocks go forward
  });
});

test("a run fits what it was filtered by", () => {
  const run = importLog({ status: "partial", sourceName: "Weavers of Łódź", sourceUrl: "https://jobs.test/RSS" });
  const fitting: Partial<Filters>[] = [
    {},
    { status: "partial" },
    { sourceUrl: "https://jobs.test/RSS" },
    { q: "wEAVERS OF ł" },
    { q: "jobs.TEST/rss" },
  ];
  for (const chosen of fitting) assert.ok(fits(filters(chosen), run), JSON.stringify(chosen));
  const others: Partial<Filters>[] = [
    { status: "completed" },
    { sourceUrl: "https://jobs.test/rss" },
    { q: "spinners" },
    { q: "Łódźhttps" },
  ];
  for (const chosen of others) assert.ok(!fits(filters(chosen), run), JSON.stringify(chosen));
});

test("capitals are folded as on the server", () => {
  const rows = [
    ["STRASSE", "Straße 7"],
    ["straße", "STRASSE 7"],
    ["ΟΔΟΣ", "οδοσμα"],
    ["οδος", "ΟΔΟΣ"],
  ] as const;
  for (const [q, sourceName] of rows) assert.ok(fits(filters({ q }), importLog({ sourceName })), q);
});

test("a search is text, not a pattern", () => {
  assert.ok(!fits(filters({ q: ".*" }), importLog()));
  assert.ok(fits(filters({ q: "a.*(b" }), importLog({ sourceName: "a.*(b" })));
});

test("a run fits its days from their first to their last moment", () => {
  const day = filters({ from: "2026-03-05", to: "2026-03-05" });
  const at = (startedAt: string) => inZone("America/New_York", () => fits(day, importLog({ startedAt })));
  assert.ok(!at("2026-03-05T04:59:59.999Z"));
  assert.ok(at("2026-03-05T05:00:00Z"));
  assert.ok(at("2026-03-06T04:59:59.999Z"));
  assert.ok(!at("2026-03-06T05:00:00Z"));
});

test("what was heard counts only if it is later", () => {
  const run = importLog({ updatedAt: "2026-03-05T12:00:05Z", newJobs: 1 });
  assert.equal(laterOf(run, undefined), run);
  assert.equal(laterOf(run, importLog({ updatedAt: "2026-03-05T12:00:05.000Z", newJobs: 2 })), run);
  assert.equal(laterOf(run, importLog({ updatedAt: "2026-03-05T12:00:04.9Z", newJobs: 2 })), run);
  assert.equal(laterOf(run, importLog({ updatedAt: "2026-03-05T12:00:05.1Z", newJobs: 2 })).newJobs, 2);
});

function page(data: ImportLog[], changes: Partial<ImportLogsPage> = {}): ImportLogsPage {
  return { data, page: 1, limit: 3, total: data.length, totalPages: 1, ...changes };
}

function started(runId: string, minute: number, changes: Partial<Omit<ImportLog, "meta">> = {}): ImportLog {
  const at = `2026-03-05T12:${String(minute).padStart(2, "0")}:00Z`;
  return importLog({ runId, startedAt: at, updatedAt: at, ...changes });
}

function heard(...runs: ImportLog[]): ReadonlyMap<string, ImportLog> {
  return new Map(runs.map((run) => [run.runId, run]));
}

function ids({ rows, total }: { rows: ImportLog[]; total: number }): [string[], number] {
  return [rows.map((run) => run.runId), total];
}

test("new runs come first on the first page, which stays as long as it is", () => {
  const loaded = page([started("c", 3), started("b", 2), started("a", 1)], { total: 9 });
  const seen = withHeard(loaded, heard(started("d", 4), started("e", 5)), NO_FILTERS);
  assert.deepEqual(ids(seen), [["e", "d", "c"], 11]);
});

test("a new run is not shown on another page", () => {
  const loaded = page([started("b", 2)], { page: 2, total: 4 });
  assert.deepEqual(ids(withHeard(loaded, heard(started("d", 4)), NO_FILTERS)), [["b"], 4]);
});

test("an old run that is heard of does not move onto the first page", () => {
  const loaded = page([started("c", 3), started("b", 2)], { total: 9 });
  assert.deepEqual(ids(withHeard(loaded, heard(started("a", 1)), NO_FILTERS)), [["c", "b"], 9]);
});

test("a list that is known to its end takes any run", () => {
  const loaded = page([started("c", 3)]);
  assert.deepEqual(ids(withHeard(loaded, heard(started("a", 1)), NO_FILTERS)), [["c", "a"], 2]);
  assert.deepEqual(ids(withHeard(page([]), heard(started("a", 1)), NO_FILTERS)), [["a"], 1]);
});

test("a new run is not shown where the oldest come first, and known ones are kept up to date", () => {
  const loaded = page([started("a", 1), started("b", 2)], { total: 9 });
  assert.deepEqual(ids(withHeard(loaded, heard(started("d", 4)), NO_FILTERS, true)), [["a", "b"], 9]);
});

test("a run that fits no longer leaves the list", () => {
  const running = filters({ status: "running" });
  const loaded = page([started("b", 2, { status: "running" }), started("a", 1, { status: "running" })]);
  const ended = started("b", 2, { status: "completed", updatedAt: "2026-03-05T12:09:00Z" });
  assert.deepEqual(ids(withHeard(loaded, heard(ended), running)), [["a"], 1]);
});

test("a run that is heard of shows its latest state in its place", () => {
  const loaded = page([started("b", 2), started("a", 1)]);
  const later = started("a", 1, { newJobs: 5, updatedAt: "2026-03-05T12:09:00Z" });
  const { rows, total } = withHeard(loaded, heard(later), NO_FILTERS);
  assert.deepEqual(rows.map((run) => [run.runId, run.newJobs]), [["b", 0], ["a", 5]]);
  assert.equal(total, 2);
});

test("runs that are already under way are not an error", async () => {
  const run = { runId: "a", sourceUrl: "u", sourceName: "n", status: "running", alreadyRunning: true } as const;
  assert.deepEqual(await runsOf(Promise.resolve({ runs: [run] })), [run]);
  assert.deepEqual(await runsOf(Promise.reject(new ApiError(409, "Running.", { runs: [run] }))), [run]);
});

test("any other refusal is an error", async () => {
  for (const error of [new ApiError(409, "Other."), new ApiError(404, "None.", { runs: [] }), new Error("lost")]) {
    await assert.rejects(runsOf(Promise.reject(error)), error);
  }
});

test("a cancelled run is shown as cancelled, whatever the API calls it", () => {
  const cancelled = { status: "failed", error: "cancelled" };
  assert.ok(isCancelled(cancelled));
  assert.equal(shownStatus(cancelled), "cancelled");
  assert.equal(shownStatus({ status: "partial", error: "cancelled" }), "cancelled");
  assert.equal(shownStatus({ status: "failed", error: "cancelled by the server" }), "failed");
  assert.equal(shownStatus({ status: "completed", error: null }), "completed");
});

test("a run's address holds any id", () => {
  assert.equal(runAddress("a/b?c"), "/import-history/a%2Fb%3Fc");
});

test("records are handled whatever became of them", () => {
  const run = importLog({ newJobs: 1, updatedJobs: 20, unchangedJobs: 300, duplicateJobs: 4_000, failedJobs: 50_000 });
  assert.equal(handled(run), 54_321);
  assert.equal(handled(importLog({ closedJobs: 7 })), 0);
});

test("a run took as long as the server says, or until its last change", () => {
  assert.equal(durationOf(importLog({ meta: { durationMs: 0 } })), 0);
  assert.equal(durationOf(importLog()), 5_000);
  assert.equal(durationOf(importLog({ updatedAt: "2026-03-05T11:59:59Z" })), 0);
});

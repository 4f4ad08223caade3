import assert from "node:assert/strict";
import { test } from "node:test";
import { filtersOf, search } from "@/app/jobs/filters";
import { inZone } from "./places";
import { sendJson, serve } from "./server";

const SIGNAL = AbortSignal.timeout(30_000);

test("filters are read from the address; what is not there is empty", () => {
  assert.deepEqual(filtersOf(new URLSearchParams("q=weaver&open=true&other=1")), {
    q: "weaver",
    source: "",
    company: "",
    location: "",
    open: "true",
    from: "",
    to: "",
  });
});

test("the API is asked for whole days of the reader's zone, and for nothing that is empty", async (t) => {
  const asked: string[] = [];
  await serve(t, (request, response) => {
    asked.push(request.url ?? "");
    sendJson(response, { data: [], nextCursor: null });
  });
  const chosen = filtersOf(new URLSearchParams("q=a%26b&open=false&from=2026-11-01&to=2026-11-01"));
  await inZone("America/New_York", () => search(chosen, "publishedAt", "", SIGNAL));
  assert.deepEqual(Object.fromEntries(new URL(asked[0] ?? "", "http://a.test").searchParams), {
    q: "a&b",
    open: "false",
    from: "2026-11-01T04:00:00.000Z",
    to: "2026-11-02T04:59:59.999Z", // 25 hours: clocks go back
    sort: "publishedAt",
    limit: "50",
  });
});

test("a day that makes no sense does not filter", async (t) => {
  await serve(t, (request, response) => {
    assert.equal(request.url, "/api/jobs?limit=50");
    sendJson(response, { data: [], nextCursor: null });
  });
  await search(filtersOf(new URLSearchParams("from=soon&to=")), undefined, "", SIGNAL);
});

test("short pages are put together until there are enough", async (t) => {
  const cursors: (string | null)[] = [];
  const limits: (string | null)[] = [];
  await serve(t, (request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://a.test");
    cursors.push(searchParams.get("cursor"));
    limits.push(searchParams.get("limit"));
    sendJson(response, { data: Array.from({ length: 20 }, () => ({})), nextCursor: `after ${cursors.length}` });
  });
  const { data, nextCursor } = await search(filtersOf(new URLSearchParams()), undefined, "first", SIGNAL);
  assert.deepEqual(cursors, ["first", "after 1", "after 2"]);
  assert.deepEqual(limits, ["50", "30", "10"]);
  assert.deepEqual([data.length, nextCursor], [60, "after 3"]);
});

const UNKNOWN = { total: 0, totalIsExact: false };

test("a filter that finds nothing ends after some looks, and says where to go on", async (t) => {
  let looks = 0;
  await serve(t, (_, response) => sendJson(response, { data: [], nextCursor: String((looks += 1)), ...UNKNOWN }));
  assert.deepEqual(await search(filtersOf(new URLSearchParams()), undefined, "", SIGNAL), { data: [], nextCursor: "20", ...UNKNOWN });
});

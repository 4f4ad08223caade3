import assert from "node:assert/strict";
import { test } from "node:test";
import { intervalWords } from "@/app/feeds/formats";
import { lastRunOf } from "@/app/feeds/runs";
import { changesOf, mappingOf, newFeedOf, previewBodyOf, settingsOf, type MappingRow } from "@/app/feeds/settings";
import { feed, importLog } from "./samples";

test("an interval is shown in the largest unit that divides it", () => {
  const rows: [number | null, string][] = [
    [null, "at the default interval"],
    [0.05, "every 3 seconds"],
    [1 / 60, "every 1 second"],
    [1, "every minute"],
    [1.5, "every 1.5 minutes"],
    [45, "every 45 minutes"],
    [60, "every hour"],
    [90, "every 90 minutes"],
    [1_440, "every day"],
    [2_880, "every 2 days"],
    [10_080, "every week"],
    [20_160, "every 2 weeks"],
    [100_001, "every 100,001 minutes"],
  ];
  for (const [minutes, words] of rows) assert.equal(intervalWords(minutes), words);
});

test("a new form has the URL that it was opened with", () => {
  assert.deepEqual(settingsOf(null, "https://a.test"), {
    url: "https://a.test",
    name: "",
    tags: "",
    format: "auto",
    minutes: "",
    enabled: true,
    closeMissing: false,
    mapping: [],
  });
});

test("a form shows what the feed has", () => {
  const settings = settingsOf(feed({ intervalMinutes: 0.5, mapping: { title: "a/b" }, enabled: false }), "ignored");
  assert.deepEqual([settings.url, settings.minutes, settings.enabled], ["https://jobs.test/rss", "0.5", false]);
  assert.deepEqual(settings.mapping, [{ id: 0, field: "title", path: "a/b" }]);
  assert.equal(settingsOf(feed({ intervalMinutes: null })).minutes, "");
});

test("rows without a path say nothing, and of two for a field the last counts", () => {
  const rows: MappingRow[] = [
    { id: 0, field: "title", path: " " },
    { id: 1, field: "city", path: " a " },
    { id: 2, field: "city", path: "b" },
    { id: 3, field: "__proto__", path: "c" },
  ];
  assert.deepEqual(Object.entries(mappingOf(rows)), [["city", "b"], ["__proto__", "c"]]);
});

test("what is typed around a URL and a name is left out", () => {
  const settings = { ...settingsOf(null, " https://a.test "), name: " ", tags: " sale, ,old ", minutes: " 90 " };
  assert.deepEqual(previewBodyOf(settings), { url: "https://a.test", format: "auto", mapping: {} });
  assert.deepEqual(newFeedOf(settings), {
    url: "https://a.test",
    format: "auto",
    mapping: {},
    name: null,
    tags: ["sale", "old"],
    intervalMinutes: 90,
    enabled: true,
    closeMissing: false,
  });
});

test("a feed that is opened and saved changes nothing", () => {
  const settings = settingsOf(feed({ mapping: { title: "a" } }));
  assert.deepEqual(changesOf(settings, { ...settings }), {});
});

test("only what differs is sent, but not the pausing, which has its own button", () => {
  const before = settingsOf(feed());
  assert.deepEqual(changesOf(before, { ...before, name: "New", enabled: false }), { name: "New" });
  assert.deepEqual(changesOf(before, { ...before, name: "" }), { name: "" });
  assert.deepEqual(changesOf(before, { ...before, minutes: "" }), { intervalMinutes: null });
  assert.deepEqual(changesOf(before, { ...before, minutes: "60.0" }), {});
  assert.deepEqual(changesOf(before, { ...before, url: " https://new.test/rss " }), { url: "https://new.test/rss" });
  assert.deepEqual(changesOf(before, { ...before, mapping: [{ id: 0, field: "title", path: "a" }] }), {
    mapping: { title: "a" },
  });
});

test("a feed that was never imported has no last run", () => {
  assert.equal(lastRunOf(feed(), undefined), null);
});

test("a feed's last run is the one that was loaded", () => {
  const loaded = feed({ lastRunId: "a", lastStatus: "failed", lastRunAt: "2026-03-05T12:00:00Z", lastError: "404" });
  assert.deepEqual(lastRunOf(loaded, undefined), {
    runId: "a",
    status: "failed",
    at: "2026-03-05T12:00:00Z",
    error: "404",
    running: null,
  });
});

test("a run that goes on is the last one, also if nothing was heard of it", () => {
  const loaded = feed({ activeRunId: "b", lastRunId: "a", lastStatus: "completed" });
  assert.deepEqual(lastRunOf(loaded, undefined), { runId: "b", status: "running", at: null, error: null, running: null });
  const heard = importLog({ runId: "b", status: "running" });
  assert.equal(lastRunOf(loaded, heard)?.running, heard);
});

test("what was heard of a run ends it before it is loaded again", () => {
  const loaded = feed({ activeRunId: "b", lastRunId: "a", lastStatus: "completed" });
  const last = lastRunOf(loaded, importLog({ runId: "b", status: "partial" }));
  assert.deepEqual([last?.runId, last?.status, last?.running], ["b", "partial", null]);
});

test("what was heard is forgotten once the same run is loaded", () => {
  const loaded = feed({ lastRunId: "b", lastStatus: "completed", lastRunAt: "2026-03-05T12:00:09Z" });
  const last = lastRunOf(loaded, importLog({ runId: "b", status: "running" }));
  assert.deepEqual([last?.status, last?.running, last?.at], ["completed", null, "2026-03-05T12:00:09Z"]);
});

test("a cancelled run has no error", () => {
  const loaded = feed({ lastRunId: "a", lastStatus: "failed", lastError: "cancelled" });
  const last = lastRunOf(loaded, undefined);
  assert.deepEqual([last?.status, last?.error], ["cancelled", null]);
  const heard = lastRunOf(feed(), importLog({ status: "partial", error: "cancelled" }));
  assert.deepEqual([heard?.status, heard?.error], ["cancelled", null]);
});

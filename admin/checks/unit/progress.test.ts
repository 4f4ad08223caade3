import assert from "node:assert/strict";
import { test } from "node:test";
import { percent, progressOf } from "@/lib/progress";
import { importLog } from "./samples";

test("a run whose batches are counted is as far as those that are stored", () => {
  const run = importLog({ status: "running", meta: { totalBatches: 4, processedBatches: 1, phase: "storing" } });
  assert.deepEqual(progressOf(run), {
    part: 0.25,
    words: "1 of 4 batches stored",
    phase: "Storing postings",
  });
});

test("one batch is singular", () => {
  assert.equal(progressOf(importLog({ meta: { totalBatches: 1, processedBatches: 1 } })).words, "1 of 1 batch stored");
  const reading = importLog({ status: "running", meta: { processedBatches: 1, bytesRead: 2_000 } });
  assert.equal(progressOf(reading).words, "2 KB read, 1 batch stored");
});

test("before that it is as far as the feed is read", () => {
  const run = importLog({ status: "running", meta: { bytesRead: 500, bytesTotal: 2_000, phase: "reading" } });
  assert.deepEqual(progressOf(run), { part: 0.25, words: "500 bytes of 2 KB read", phase: "Reading the feed" });
});

test("a feed that is longer than it said is read to its end at most", () => {
  const run = importLog({ status: "running", meta: { bytesRead: 3_000, bytesTotal: 2_000 } });
  assert.equal(progressOf(run).part, 1);
});

test("how far a feed of unknown length is stays open", () => {
  assert.deepEqual(progressOf(importLog({ status: "running", meta: { phase: "waiting" } })), {
    part: null,
    words: "nothing read yet",
    phase: "Waiting to start",
  });
  assert.equal(progressOf(importLog({ status: "running", meta: { bytesRead: 10 } })).part, null);
  assert.equal(progressOf(importLog({ status: "running", meta: { totalBatches: 0 } })).part, null);
});

test("a run that has ended stands still", () => {
  const { part, words } = progressOf(importLog({ status: "failed" }));
  assert.deepEqual([part, words], [0, "nothing was read"]);
});

test("a feed without records is done, unless the run failed", () => {
  const done = progressOf(importLog({ status: "completed", meta: { totalBatches: 0 } }));
  assert.deepEqual([done.part, done.words], [1, "no batches to store"]);
  const failed = progressOf(importLog({ status: "failed", meta: { totalBatches: 0 } }));
  assert.deepEqual([failed.part, failed.words], [0, "nothing was stored"]);
});

test("every hundredth is its percent, and 100 % is only the end", () => {
  for (let count = 0; count <= 100; count += 1) assert.equal(percent(count / 100), `${count} %`);
  assert.equal(percent(999 / 1000), "99 %");
  assert.equal(percent(99_999 / 100_000), "99 %");
});

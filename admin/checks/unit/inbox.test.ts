import assert from "node:assert/strict";
import { test } from "node:test";
import { snoozes, undoOf, type Entry } from "@/lib/inbox";

const untils = (now: Date) => snoozes(now).map(({ until }) => until);

test("an entry is snoozed for an hour, until the next morning, or until Monday", () => {
  const wednesday = new Date(2026, 10, 18, 16, 30);
  assert.deepEqual(untils(wednesday), [
    new Date(2026, 10, 18, 17, 30),
    new Date(2026, 10, 19, 9),
    new Date(2026, 10, 23, 9),
  ]);
});

test("on Monday it is the next one, and on Sunday tomorrow", () => {
  assert.deepEqual(untils(new Date(2026, 10, 23, 8))[2], new Date(2026, 10, 30, 9));
  assert.deepEqual(untils(new Date(2026, 10, 22, 8))[2], new Date(2026, 10, 23, 9));
});

test("undo gives an entry its state again", () => {
  const entry = (state: Entry["state"], snoozedUntil: string | null = null) => ({ state, snoozedUntil }) as Entry;
  assert.deepEqual(undoOf(entry("unread")), { state: "unread" });
  assert.deepEqual(undoOf(entry("snoozed", "2026-11-19T09:00:00Z")), { state: "snoozed", until: "2026-11-19T09:00:00Z" });
  assert.equal(undoOf(entry("muted")), null);
});

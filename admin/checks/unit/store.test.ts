import assert from "node:assert/strict";
import { test } from "node:test";
import { Followed } from "@/lib/store";

test("followers hear of a change, and not of the same value again", () => {
  const value = new Followed(1);
  const calls: number[] = [];
  value.subscribe(() => calls.push(value.get()));
  value.set(1);
  value.set(2);
  value.set(2);
  value.set(1);
  assert.deepEqual(calls, [2, 1]);
});

test("a follower that leaves hears nothing more, even if it leaves while the others are being notified", () => {
  const value = new Followed("a");
  const calls: string[] = [];
  const leave = value.subscribe(() => {
    calls.push("first");
    leave();
  });
  value.subscribe(() => calls.push("second"));
  value.set("b");
  value.set("c");
  assert.deepEqual(calls, ["first", "second", "second"]);
});

test("the value is the new one when followers are notified", () => {
  const value = new Followed(NaN);
  let seen: number | undefined;
  value.subscribe(() => {
    seen = value.get();
  });
  value.set(5);
  assert.equal(seen, 5);
});

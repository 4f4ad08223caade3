import assert from "node:assert/strict";
import { test } from "node:test";
import { niceTicks } from "@/components/ticks";

test("ticks are round and go beyond the prices on both sides", () => {
  assert.deepEqual(niceTicks(12, 48), [10, 20, 30, 40, 50]);
  assert.deepEqual(niceTicks(1_990, 2_010), [1_985, 1_990, 1_995, 2_000, 2_005, 2_010, 2_015]);
});

test("a price that never changed has ticks around it", () => {
  const ticks = niceTicks(20, 20);
  assert.ok(ticks.length >= 2);
  assert.ok((ticks[0] ?? 0) < 20 && (ticks.at(-1) ?? 0) > 20);
});

test("no tick is below nothing, unless a price is", () => {
  assert.equal(niceTicks(0, 10)[0], 0);
  assert.equal(niceTicks(0.01, 100)[0], 0);
  assert.ok((niceTicks(-10, 10)[0] ?? 0) < -10);
});

test("whatever the prices, ticks are few, grow, and enclose them", () => {
  const prices = [0, 0.000001, 0.1 + 0.2, 1, 9.99, 10, 19.99, 99.5, 1_000, 123_456.78, 1e9, 1e15];
  for (const least of prices) {
    for (const most of prices.filter((each) => each >= least)) {
      const ticks = niceTicks(least, most);
      const text = `${least} to ${most}: ${ticks}`;
      assert.ok(ticks.length >= 2 && ticks.length <= 8, text);
      assert.ok(ticks.every((tick, index) => index === 0 || tick > (ticks[index - 1] ?? Infinity)), text);
      assert.ok((ticks[0] ?? Infinity) <= least && (ticks.at(-1) ?? -Infinity) >= most, text);
    }
  }
});

test("ticks have no digits of rounding errors", () => {
  for (const tick of niceTicks(0.1, 0.3)) assert.ok(String(tick).length <= 4, String(tick));
});

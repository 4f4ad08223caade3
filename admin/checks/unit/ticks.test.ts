import assert from "node:assert/strict";
import { test } from "node:test";
import { niceTicks, timeTicks } from "@/components/ticks";

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

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test("whatever the time, its ticks are few, grow, and lie within it", () => {
  const start = new Date(2026, 2, 27, 13, 47, 12).getTime(); // days before clocks change in Europe
  for (const span of [5_000, 90_000, 0.2 * HOUR, HOUR, 5 * HOUR, DAY, 3 * DAY, 7 * DAY, 40 * DAY, 90 * DAY, 400 * DAY, 4000 * DAY]) {
    for (const most of [3, 6, 12]) {
      const ticks = timeTicks(start, start + span, most);
      const text = `${span / HOUR} h, ${most}: ${ticks.map(({ label }) => label).join(" | ")}`;
      assert.ok(ticks.length >= 1 && ticks.length <= most, text);
      assert.ok(ticks.every(({ at }, index) => index === 0 || at > (ticks[index - 1]?.at ?? Infinity)), text);
      assert.ok(ticks.every(({ at }) => at >= start && at <= start + span), text);
    }
  }
});

test("ticks of days are midnights of the reader, those of months their first days", () => {
  const start = new Date(2026, 2, 20, 13, 47).getTime();
  const clock = (ticks: { at: number }[]) => ticks.map(({ at }) => new Date(at)).map((each) => [each.getHours(), each.getDate()]);
  assert.ok(clock(timeTicks(start, start + 20 * DAY, 12)).every(([hour]) => hour === 0));
  assert.ok(clock(timeTicks(start, start + 200 * DAY, 8)).every(([hour, day]) => hour === 0 && day === 1));
});

test("a midnight between hours has a date, the hours have none", () => {
  const start = new Date(2026, 5, 3, 20).getTime();
  const labels = timeTicks(start, start + 8 * HOUR, 5).map(({ label }) => label);
  assert.equal(labels.filter((label) => /:/.test(label)).length, labels.length - 1, labels.join(" | "));
});

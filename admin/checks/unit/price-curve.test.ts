import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf, marked, moveOf, pointAt, pointByKey, rangeOf, spanOf, startOf } from "@/components/priceCurve";

const DAY = 86_400_000;
const points = [10, 20, 15, 15, 0, 5].map((amount, index) => ({ at: 100 * index, amount }));

test("a range begins so long ago; all of it, with the first price", () => {
  const now = 1_000 * DAY;
  assert.deepEqual(
    ["24h", "7d", "90d", "all", "nonsense", null].map((text) => startOf(rangeOf(text), now)),
    [999 * DAY, 993 * DAY, 910 * DAY, undefined, undefined, undefined],
  );
});

test("the axis goes from the range's start, or the first price, until now", () => {
  assert.deepEqual(spanOf(points, 50, 9_000), { from: 50, to: 9_000 });
  assert.deepEqual(spanOf(points, undefined, 9_000), { from: 0, to: 9_000 });
  const clockBehind = spanOf(points, undefined, 400);
  assert.equal(clockBehind.to, 500);
  const single = spanOf([{ at: 9_000, amount: 1 }], undefined, 9_000);
  assert.ok(single.from < single.to);
});

test("a price is in force from its point until the next, and none before the first", () => {
  assert.deepEqual([-50, -1, 0, 99, 100, 450, 500, 10_000].map((at) => pointAt(points, at)), [-1, -1, 0, 0, 1, 4, 5, 5]);
});

test("a change has a direction and a size, unless there is nothing to compare with", () => {
  assert.deepEqual(points.map((_, index) => moveOf(points, index)), [null, "rise", "fall", null, "fall", "rise"]);
  assert.deepEqual(points.map((_, index) => changeOf(points, index)), [null, 100, -25, 0, -100, null]);
});

test("keys lead from change to change and never off the chart", () => {
  const row: [string, number, number | null][] = [
    ["ArrowLeft", 2, 1],
    ["ArrowRight", 2, 3],
    ["ArrowLeft", 0, 0],
    ["ArrowRight", -1, 0],
    ["ArrowRight", 5, 5],
    ["PageUp", 0, 5],
    ["Home", 4, 0],
    ["End", 0, 5],
    ["Tab", 2, null],
  ];
  for (const [key, from, to] of row) assert.equal(pointByKey(key, from, 6), to, `${key} from ${from}`);
});

test("marks have room around them, and the largest changes come first", () => {
  const dense = Array.from({ length: 600 }, (_, index) => ({ at: index, amount: index % 2 ? 10 : 20 }));
  dense[300] = { at: 300, amount: 99 };
  const chosen = marked(dense, (at) => at, 16);
  assert.ok(chosen.includes(300));
  assert.ok(chosen.length >= 600 / 32 && chosen.length <= 600 / 16 + 1, String(chosen.length));
  const places = [...chosen].sort((a, b) => a - b);
  assert.ok(places.every((place, index) => index === 0 || place - (places[index - 1] ?? 0) >= 16));
  assert.deepEqual(marked(points, (at) => at, 16).sort(), [1, 2, 4, 5]);
});

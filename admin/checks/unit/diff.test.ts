import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@/lib/api";
import { rowsOf, sideOf, type LineRow, type Words } from "@/lib/diff";

type Hunk = Schema<"Hunk">;

function hunk(oldLine: number, newLine: number, ...operations: Hunk["operations"]): Hunk {
  const count = (ops: string[], isHere: (each: Hunk["operations"][0]) => boolean) =>
    operations
      .filter((each) => ops.includes(each.op) || (each.op === "move" && isHere(each)))
      .reduce((sum, { op, lines }) => sum + (op === "replace" ? 1 : (lines ?? []).length), 0);
  return {
    oldLine,
    oldLines: count(["equal", "delete", "replace"], (each) => each.movedTo != null),
    newLine,
    newLines: count(["equal", "insert", "replace"], (each) => each.movedFrom != null),
    operations,
  };
}

function lines(rows: ReturnType<typeof rowsOf>): LineRow[] {
  return rows.filter((row) => row.kind !== "gap");
}

test("a diff without hunks has no rows", () => {
  assert.deepEqual(rowsOf({}), []);
  assert.deepEqual(rowsOf({ hunks: [] }), []);
});

test("a hunk at the first line has no gap before it", () => {
  const rows = rowsOf({ hunks: [hunk(1, 1, { op: "insert", oldLine: 1, newLine: 1, lines: ["new"] })] });
  assert.deepEqual(rows, [{ kind: "insert", old: null, new: 1, words: [["equal", "new"]], moved: null }]);
});

test("gaps have the lines that are equal, counted on either side", () => {
  const rows = rowsOf({
    hunks: [
      hunk(4, 4, { op: "insert", oldLine: 4, newLine: 4, lines: ["a", "b"] }),
      hunk(10, 12, { op: "delete", oldLine: 10, newLine: 12, lines: ["c"] }),
    ],
  });
  const gaps = rows.filter((row) => row.kind === "gap");
  assert.deepEqual(gaps, [
    { kind: "gap", old: 1, new: 1, count: 3 },
    { kind: "gap", old: 4, new: 6, count: 6 },
  ]);
});

test("lines are numbered on the sides that have them", () => {
  const rows = rowsOf({
    hunks: [
      hunk(
        1,
        1,
        { op: "equal", oldLine: 1, newLine: 1, lines: ["same", "too"] },
        { op: "delete", oldLine: 3, newLine: 3, lines: ["gone"] },
        { op: "replace", oldLine: 4, newLine: 3, words: [["delete", "9"], ["insert", "8"]] },
        { op: "insert", oldLine: 5, newLine: 4, lines: ["come", "more"] },
      ),
    ],
  });
  assert.deepEqual(
    lines(rows).map((row) => [row.kind, row.old, row.new]),
    [
      ["equal", 1, 1],
      ["equal", 2, 2],
      ["delete", 3, null],
      ["replace", 4, 3],
      ["insert", null, 4],
      ["insert", null, 5],
    ],
  );
});

test("the first line of a moved block says where it went or came from", () => {
  const rows = rowsOf({
    hunks: [
      hunk(
        1,
        1,
        { op: "move", oldLine: 1, newLine: 1, lines: ["a", "b"], movedTo: 8 },
        { op: "move", oldLine: 3, newLine: 1, lines: ["c"], movedFrom: 20 },
      ),
    ],
  });
  assert.deepEqual(
    lines(rows).map((row) => [row.kind, row.old, row.new, row.moved]),
    [
      ["away", 1, null, "these 2 lines moved to line 8"],
      ["away", 2, null, null],
      ["here", null, 1, "this line moved here from line 20"],
    ],
  );
});

const WORDS: Words = [
  ["equal", "price "],
  ["delete", "10"],
  ["insert", "9"],
  ["equal", " EUR"],
];

test("a side has only its own words", () => {
  assert.deepEqual(sideOf(WORDS, "old", 100), {
    words: [["equal", "price "], ["delete", "10"], ["equal", " EUR"]],
    left: 0,
  });
  assert.deepEqual(sideOf(WORDS, "new", 100), {
    words: [["equal", "price "], ["insert", "9"], ["equal", " EUR"]],
    left: 0,
  });
});

test("a long line is cut, and what is left out is counted on that side alone", () => {
  assert.deepEqual(sideOf(WORDS, "old", 7), { words: [["equal", "price "], ["delete", "1"]], left: 5 });
  assert.deepEqual(sideOf(WORDS, "new", 6), { words: [["equal", "price "]], left: 5 });
  assert.deepEqual(sideOf(WORDS, "new", 0), { words: [], left: 11 });
});

test("a line is not cut within a character, and nothing follows the cut", () => {
  const words: Words = [["equal", "ab💡"], ["insert", "c"]];
  assert.deepEqual(sideOf(words, "new", 3), { words: [["equal", "ab"]], left: 3 });
  assert.deepEqual(sideOf(words, "new", 4), { words: [["equal", "ab💡"]], left: 1 });
});

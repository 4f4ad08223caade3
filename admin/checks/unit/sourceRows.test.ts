import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksOf, partsOf, ROW } from "@/components/sourceRows";
import { tokensOf } from "@/components/sourceTokens";

const ALL = 1_000_000;

function rows(text: string): string[] {
  return blocksOf(text, ALL)[1].flatMap((block) => block.rows.map(([start, end]) => text.slice(start, end)));
}

function numbers(text: string): string {
  return blocksOf(text, ALL)[1].map((block) => block.numbers).join("");
}

test("a line is a row with its number, whatever ends it", () => {
  assert.deepEqual(rows("a\nb\r\nc"), ["a", "b", "c"]);
  assert.equal(numbers("a\nb\r\nc"), "1\n2\n3\n");
});

test("empty lines are rows", () => {
  assert.deepEqual(rows(""), [""]);
  assert.deepEqual(rows("\n"), ["", ""]);
  assert.deepEqual(rows("a\n\n\r\n"), ["a", "", "", ""]);
});

test("a long line is broken into rows, and only the first has the line's number", () => {
  const text = `${"x".repeat(ROW)}\n${"y".repeat(2 * ROW + 1)}\nz`;
  assert.deepEqual(rows(text).map((row) => row.length), [ROW, ROW, ROW, 1, 1]);
  assert.equal(numbers(text), "1\n2\n\n\n3\n");
});

test("a line is not broken within a character", () => {
  const text = `${"x".repeat(ROW - 1)}💡💡`;
  assert.deepEqual(rows(text), ["x".repeat(ROW - 1), "💡💡"]);
});

test("rows up to the most are shown, and the text up to there", () => {
  const text = "a\nb\nc\nd";
  const [shown, blocks] = blocksOf(text, 2);
  assert.equal(shown, "a\nb\n");
  assert.equal(blocks[0]?.numbers, "1\n2\n");
  assert.equal(blocksOf(text, 4)[0], text);
});

test("blocks are small, begin at their first row, and leave out no row", () => {
  const text = Array.from({ length: 101 }, (_, index) => `line ${index}`).join("\n");
  const [, blocks] = blocksOf(text, ALL);
  assert.ok(blocks.every((block) => block.rows.length <= 25 && block.start === block.rows[0]?.[0]));
  assert.deepEqual(rows(text), text.split("\n"));
});

test("a block that is coloured has the text of one that is not", () => {
  const texts = [
    '<p class="x">\n<!-- over\nlines -->\r\nb</p>\n',
    `<script>\n${"var a = '<b>';\n".repeat(60)}</script>`,
    `{"a": "${"x".repeat(400)}",\n\n"b": [1,\n2]}`,
    `<p title="${"💡".repeat(300)}">`,
    "",
    "\n\n",
  ];
  for (const text of texts) {
    for (const language of ["html", "json", "plain"] as const) {
      const tokens = tokensOf(text, language);
      for (const block of blocksOf(text, ALL)[1]) {
        const plain = block.rows.map(([start, end]) => `${text.slice(start, end)}\n`).join("");
        assert.equal(partsOf(block, text, tokens).map((part) => part.text).join(""), plain);
      }
    }
  }
});

test("a block in the middle has the kind of what began before it", () => {
  const text = `<!--\n${"inside\n".repeat(80)}-->`;
  const [, blocks] = blocksOf(text, ALL);
  const tokens = tokensOf(text, "html");
  for (const block of blocks) assert.deepEqual(partsOf(block, text, tokens).map((part) => part.kind), ["comment"]);
});

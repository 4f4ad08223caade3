import assert from "node:assert/strict";
import { test } from "node:test";
import { isFound } from "@/lib/search";

// The server's table: tests/contracts/search_examples.py.
const EXAMPLES: [string, boolean][] = [
  ["senior", true],
  ["sen", true],
  ["WIDG seni", true],
  ["maker", true],
  ["4 mak", true],
  ["enior", false],
  ["senior plumber", false],
  ["widget-maker", true],
  ["widget-mak", true],
  ["maker-widget", false],
  ['"widget maker"', true],
  ['"widget mak"', false],
  ['"widget mak*"', true],
  ['"widget mak"*', true],
  ['"senior maker"', false],
  ['maker "senior widget"', true],
  ['"widget mak', false],
  ["mak*", true],
  ["*", false],
  ["!?", false],
  ['""', false],
  [" ", true],
];
const ACCENTED: [string, boolean][] = [
  ["creme", true],
  ["CRÈME", true],
  ["bru", true],
  ["αβ", true],
  ["東", true],
  ["京", false],
  ["cremes", false],
];

test("a search finds what it finds on the server", () => {
  for (const [query, isIn] of EXAMPLES) assert.equal(isFound(query, ["Senior/Widget-Maker/42"]), isIn, query);
  for (const [query, isIn] of ACCENTED) assert.equal(isFound(query, ["Crème brûlée Żółw ΑΒΓ 東京"]), isIn, query);
});

test("words of two texts don't stand in a row", () => {
  assert.equal(isFound("one two", ["one", "two"]), true);
  assert.equal(isFound("one-two", ["one", "two"]), false);
});

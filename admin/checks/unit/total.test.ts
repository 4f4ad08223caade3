import assert from "node:assert/strict";
import { test } from "node:test";
import { totalOf, totalWords } from "@/components/List/total";

const WHAT: [string, string] = ["posting", "postings"];

function words(count: number, nextCursor: string | null, isFirst: boolean, total?: number | null, totalIsExact?: boolean) {
  const found = totalOf({ data: Array.from({ length: count }), nextCursor, total, totalIsExact }, isFirst);
  return found && totalWords(found, WHAT);
}

test("a total is shown as far as it is known", () => {
  assert.equal(words(50, "next", true, 302, true), "302 postings");
  assert.equal(words(50, "next", true, 10_000, false), "10,000+ postings");
  assert.equal(words(50, "next", false, 87, false), "87+ postings");
});

test("a first page without a next one is the whole list", () => {
  assert.equal(words(1, null, true, null), "1 posting");
  assert.equal(words(20, null, true, 3, false), "20 postings");
});

test("a list without a total has at least what its first page shows", () => {
  assert.equal(words(50, "next", true, null), "50+ postings");
  assert.equal(words(12, null, false, null), null);
});

test("a page that has found more than was counted says so", () => {
  assert.equal(words(50, "next", true, 20, false), "50+ postings");
});

test("a search that goes on without a hit says nothing that looks like a total", () => {
  assert.equal(words(0, "next", true, 0, false), "No postings so far");
});

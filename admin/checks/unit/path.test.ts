import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, partOf } from "@/lib/path";

test("a change keeps the rest of the query", () => {
  assert.equal(changed("/jobs", "?q=a&page=2", { page: 3 }), "/jobs?q=a&page=3");
  assert.equal(changed("/jobs", "", { q: "new" }), "/jobs?q=new");
});

test("what is empty leaves the query, and an empty query the address", () => {
  assert.equal(changed("/jobs", "?q=a&page=2", { q: "", page: null }), "/jobs");
  assert.equal(changed("/jobs", "?q=a&page=2", { page: undefined }), "/jobs?q=a");
  assert.equal(changed("/jobs", "", { page: 0 }), "/jobs?page=0");
});

test("a value that is given replaces each that was there", () => {
  assert.equal(changed("/jobs", "?q=a&q=b", { q: "c" }), "/jobs?q=c");
});

test("of a list each item is a part", () => {
  assert.equal(changed("/jobs", "?cursor=x", { cursor: ["a", "b"] }), "/jobs?cursor=a&cursor=b");
  assert.equal(changed("/jobs", "?cursor=x", { cursor: [] }), "/jobs");
});

test("what is typed can't become another part of the address", () => {
  const text = "a&open=true#x?y=ü +";
  const address = new URL(changed("/jobs", "", { q: text }), "http://webloom.test");
  assert.equal(address.hash, "");
  assert.deepEqual([...address.searchParams], [["q", text]]);
});

test("a part of the path is decoded", () => {
  assert.equal(partOf("/import-history/run%2F1", 1), "run/1");
  assert.equal(partOf("/watch/%F0%9F%92%A1", 1), "💡");
  assert.equal(partOf("/import-history/run-1", 0), "import-history");
});

test("a part that is not there is empty", () => {
  assert.equal(partOf("/import-history", 1), "");
  assert.equal(partOf("/", 0), "");
  assert.equal(partOf("", 5), "");
});

test("a part that is badly encoded stays as it is", () => {
  assert.equal(partOf("/watch/100%", 1), "100%");
  assert.equal(partOf("/watch/%ff", 1), "%ff");
});

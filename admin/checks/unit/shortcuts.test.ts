import assert from "node:assert/strict";
import { test } from "node:test";
import { Keys } from "@/lib/shortcuts";

test("g and another key lead to a place", () => {
  const keys = new Keys();
  assert.equal(keys.read("g", 0), null);
  assert.deepEqual(keys.read("w", 1000), { kind: "go", href: "/watch" });
  assert.deepEqual(keys.read("w", 1100), { kind: "page", key: "w" });
});

test("after a while g is forgotten", () => {
  const keys = new Keys();
  keys.read("g", 0);
  assert.deepEqual(keys.read("w", 2000), { kind: "page", key: "w" });
});

test("g and a key without a place do nothing", () => {
  const keys = new Keys();
  keys.read("g", 0);
  assert.equal(keys.read("constructor", 10), null);
  assert.deepEqual(keys.read("w", 20), { kind: "page", key: "w" });
});

test("a key that follows g never means one of the page", () => {
  const keys = new Keys();
  keys.read("g", 0);
  assert.equal(keys.read("d", 10), null);
  assert.deepEqual(keys.read("d", 20), { kind: "page", key: "d" });
});

test("a slash searches, and a question mark lists the keys", () => {
  const keys = new Keys();
  assert.deepEqual(keys.read("/", 0), { kind: "search" });
  assert.deepEqual(keys.read("?", 0), { kind: "help" });
});

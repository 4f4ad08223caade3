import assert from "node:assert/strict";
import { test } from "node:test";
import { Keys } from "@/lib/shortcuts";

test("g and another key lead to a place", () => {
  const keys = new Keys();
  assert.equal(keys.read("g", 0), null);
  assert.deepEqual(keys.read("w", 1000), { kind: "go", href: "/watch" });
  assert.equal(keys.read("w", 1100), null);
});

test("after a while g is forgotten", () => {
  const keys = new Keys();
  keys.read("g", 0);
  assert.equal(keys.read("w", 2000), null);
});

test("g and a key without a place do nothing", () => {
  const keys = new Keys();
  keys.read("g", 0);
  assert.equal(keys.read("constructor", 10), null);
  assert.equal(keys.read("w", 20), null);
});

test("a slash searches, and a question mark lists the keys", () => {
  const keys = new Keys();
  assert.deepEqual(keys.read("/", 0), { kind: "search" });
  assert.deepEqual(keys.read("?", 0), { kind: "help" });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { purposeOf } from "@/app/queues/state";

test("a queue says what is in it", () => {
  assert.equal(purposeOf("metadata_queue"), "URLs to fetch for the inventory");
  assert.equal(purposeOf("watch-pages"), "Watched pages to check");
});

test("the queue of the storage agent may have any name", () => {
  for (const name of ["my-events", "", "constructor", "__proto__", "toString"]) {
    assert.equal(purposeOf(name), purposeOf("storage-agent"), name);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { detailsOf, isFinal, recordAddress, STATES } from "@/app/inventory/details";
import type { Schema } from "@/lib/api";

test("a record's address holds its URL", () => {
  const url = "https://a.test/?x=1&y=ü#z +%20";
  const address = new URL(recordAddress(url), "http://webloom.test");
  assert.deepEqual([address.pathname, address.searchParams.get("url"), address.hash], ["/inventory/record", url, ""]);
});

test("nothing more happens to a record that is completed or has failed for good", () => {
  assert.deepEqual(STATES.filter(isFinal), ["COMPLETED", "FAILED_PERMANENT"]);
  assert.ok(!isFinal("completed"));
});

test("a record without details has none", () => {
  for (const additional_details of [null, undefined, {}]) {
    assert.deepEqual(detailsOf({ additional_details } as Schema<"RecordAnswer">), {});
  }
});

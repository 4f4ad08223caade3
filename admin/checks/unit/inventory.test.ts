import assert from "node:assert/strict";
import { test } from "node:test";
import { detailsOf, isFinal, recordAddress, sizeOf, STATES, truncation } from "@/app/inventory/details";
import type { Schema } from "@/lib/api";
import { bytes } from "@/lib/format";

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
    assert.deepEqual(detailsOf({ additional_details } as Schema<"RecordResponse">), {});
  }
});

test("the size of a body is known only when it was read to its end", () => {
  assert.equal(sizeOf({ content_length: 0 }), bytes(0));
  assert.equal(sizeOf({ content_length: 2048 }), bytes(2048));
  assert.equal(sizeOf({ content_length: null, body_truncated_at: 2048 }), `more than ${bytes(2048)}`);
  assert.equal(sizeOf({}), "–");
});

test("a truncated source says what is missing", () => {
  assert.equal(
    truncation({ source_truncated_at: 1_000_000, source_characters: 1_200_003 }),
    "Only the first 1,000,000 of 1,200,003 characters are kept.",
  );
  assert.match(
    truncation({ source_truncated_at: 1_000_000, source_characters: null, body_truncated_at: 10_485_760 }),
    /^Only the first 1,000,000 characters are kept: .* too large/,
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { collectionName, restored, verdictOf, type RestoreResult } from "@/lib/backup";
import { serve } from "./server";

const JOBS = {
  collection: "jobs",
  items: 6,
  equal: 3,
  newerHere: 2,
  expired: 0,
  missing: 1,
  different: 0,
  fingerprint: "a",
  fingerprintHere: "b",
  samples: ["key"],
};
const LAST: RestoreResult = { verified: false, error: null, collections: [JOBS] };
const ALIVE = new AbortController().signal;

test("how far each collection is, and what it came to", async (context) => {
  await serve(context, (request, response, body) => {
    assert.deepEqual([request.method, request.headers["content-type"], body], ["POST", "application/zstd", "file"]);
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.end(`${JSON.stringify({ collection: "jobs", done: 3, items: 6 })}\n${JSON.stringify(LAST)}\n`);
  });
  const heard: [string, number][] = [];
  assert.deepEqual(await restored(new Blob(["file"]), ALIVE, (...each) => heard.push(each)), LAST);
  assert.deepEqual(heard, [["jobs", 3]]);
});

test("an answer that breaks off says how to continue", async (context) => {
  await serve(context, (_, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.end('{"collection": "jobs", "done": 3, "items": 6}\n{"coll');
  });
  await assert.rejects(restored(new Blob(["file"]), ALIVE, () => {}), /restore the same file again to continue/);
});

test("the verdict is a sentence", () => {
  assert.match(verdictOf(LAST), /^Not everything .* Items: 3 as in the backup; 2 newer here, and stay\. .* again\.$/);
  const good = { ...LAST, verified: true, collections: [{ ...JOBS, missing: 0, newerHere: 0, expired: 1 }] };
  assert.equal(verdictOf(good), "Restored and verified. Items: 3 as in the backup; 1 expired, and left out.");
  assert.deepEqual([collectionName("jobs"), collectionName("new")], ["Job postings", "new"]);
});

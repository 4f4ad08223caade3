import assert from "node:assert/strict";
import { test } from "node:test";
import { readBlock } from "@/lib/live";

test("a block has the name, the data and the id of its event", () => {
  const block = 'event: import_log\nid: 7-2\ndata: {"runId": "a"}';
  assert.deepEqual(readBlock(block), { id: "7-2", event: { name: "import_log", data: '{"runId": "a"}' } });
});

test("the order of its lines does not matter", () => {
  assert.deepEqual(readBlock("data: 1\nevent: watch\nid: 3"), { id: "3", event: { name: "watch", data: "1" } });
});

test("an event without a name is a message", () => {
  assert.deepEqual(readBlock("data: {}"), { id: null, event: { name: "message", data: "{}" } });
});

test("data of several lines is one text", () => {
  assert.equal(readBlock("data: [1,\ndata: 2]").event?.data, "[1,\n2]");
});

test("a heartbeat is not an event", () => {
  assert.deepEqual(readBlock(": heartbeat"), { id: null, event: null });
  assert.deepEqual(readBlock(""), { id: null, event: null });
});

test("a block with only an id keeps it", () => {
  assert.deepEqual(readBlock("id: 9"), { id: "9", event: null });
});

test("data that looks like a field stays data", () => {
  assert.deepEqual(readBlock('data: "event: x"'), { id: null, event: { name: "message", data: '"event: x"' } });
});

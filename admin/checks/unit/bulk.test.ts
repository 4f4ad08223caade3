import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { isAskedFor, undoWords } from "@/components/List/questions";
import { bulk, linesOf, MOST_UNDONE, plus, succeeded, type Outcome } from "@/lib/bulk";
import { serve } from "./server";

function streamOf(...parts: string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(encoder.encode(part));
      controller.close();
    },
  });
}

async function all(stream: ReadableStream<Uint8Array> | null): Promise<string[]> {
  const found = [];
  for await (const line of linesOf(stream)) found.push(line);
  return found;
}

test("lines are whole, however they arrive", async () => {
  assert.deepEqual(await all(streamOf('{"done"', ': 1}\n{"do', 'ne": 2}\n')), ['{"done": 1}', '{"done": 2}']);
  assert.deepEqual(await all(streamOf("a\n\nb")), ["a", "b"]);
  assert.deepEqual(await all(null), []);
});

type Line = Record<string, unknown>;

const STEP = { failed: 0, skipped: 0, failures: [], before: [] };
const FAILURE = { id: "b", name: "B", reason: "gone", skipped: false };

/** The outcome of a request that is answered with these lines, and what was heard of its progress. */
async function answered(context: TestContext, ...lines: Line[]): Promise<[Outcome, number[]]> {
  await serve(context, (request, response, body) => {
    assert.deepEqual([request.method, JSON.parse(body)], ["POST", { action: "pause", ids: ["a", "b"] }]);
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  });
  const heard: number[] = [];
  const body = { action: "pause", ids: ["a", "b"] };
  const { signal } = new AbortController();
  return [await bulk("/api/watches/bulk", body, ({ done }) => heard.push(done), signal), heard];
}

test("how far it is, and what it came to", async (context) => {
  const last = { ...STEP, done: 2, total: 2, succeeded: 1, failed: 1, failures: [FAILURE], before: [{ id: "a" }] };
  const [outcome, heard] = await answered(context, { ...STEP, done: 1, total: 2, before: [{ id: "a" }] }, last);
  assert.deepEqual(heard, [1]);
  assert.deepEqual(outcome, { ...last, end: "done" });
  assert.equal(succeeded(outcome), 1);
});

test("of an answer that breaks off, all is known that was told", async (context) => {
  const [outcome] = await answered(
    context,
    { ...STEP, done: 100, total: 300, before: [{ id: "a" }] },
    { ...STEP, done: 200, total: 300, failed: 1, failures: [FAILURE], before: [{ id: "c" }] },
  );
  assert.deepEqual(outcome, {
    done: 200,
    total: 300,
    failed: 1,
    skipped: 0,
    failures: [FAILURE],
    before: [{ id: "a" }, { id: "c" }],
    end: "lost",
  });
  assert.equal(succeeded(outcome), 199);
});

test("what is stopped is known as far as it was told", async (context) => {
  await serve(context, (_, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write(`${JSON.stringify({ ...STEP, done: 100, total: 300, before: [{ id: "a" }] })}\n`);
  });
  const abort = new AbortController();
  const outcome = await bulk("/api/watches/bulk", {}, () => abort.abort(), abort.signal);
  assert.deepEqual([outcome.end, outcome.done, outcome.before], ["stopped", 100, [{ id: "a" }]]);
});

test("a refusal rejects", async (context) => {
  await serve(context, (_, response) => {
    response.writeHead(409, { "Content-Type": "application/problem+json" });
    response.end('{"detail": "Nothing was done: more than 2 match now."}');
  });
  await assert.rejects(bulk("/api/watches/bulk", {}, () => {}, new AbortController().signal), /more than 2 match/);
});

test("too much to undo is not kept", () => {
  const step = { ...STEP, done: 1, total: 2 };
  assert.equal(plus({ ...step, before: null }, { ...step, before: [{ id: "a" }] }).before, null);
  const most = Array.from({ length: MOST_UNDONE }, (_, id) => ({ id }));
  assert.equal(plus({ ...step, before: most }, step).before?.length, MOST_UNDONE);
  assert.equal(plus({ ...step, before: most }, { ...step, before: [{ id: "a" }] }).before, null);
});

test("whoever can't undo it, or changes many, is asked first", () => {
  const pause = { isUndoable: true };
  assert.deepEqual([1, 20, 21, 10_001, null].map((count) => isAskedFor(pause, count)), [false, false, true, true, true]);
  assert.equal(isAskedFor({}, 1), true);
  assert.equal(isAskedFor({ ...pause, isAlwaysAsked: true }, 1), true);
});

test("the question says whether it can be undone", () => {
  assert.match(undoWords({}, 1), /can't be undone/);
  assert.match(undoWords({ isUndoable: true }, 10_000), /can undo/);
  for (const count of [10_001, null]) assert.match(undoWords({ isUndoable: true }, count), /10,000 change, this can't be/);
});

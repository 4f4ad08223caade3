import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { noteAnswered, noteUnreachable, onReachable } from "@/lib/reachable";

const RETRY_MS = 1500;

beforeEach(() => noteAnswered());

/** A server that answers once it may; the number of requests. */
function health() {
  const server = { isUp: false, asked: 0 };
  globalThis.fetch = async () => {
    server.asked += 1;
    if (!server.isUp) throw new TypeError("fetch failed");
    return new Response();
  };
  return server;
}

async function settled() {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

test("an API that is away is asked until it answers, and then followers are notified once", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const server = health();
  let calls = 0;
  const leave = onReachable(() => (calls += 1));
  noteUnreachable();
  for (const asked of [1, 2]) {
    mock.timers.tick(RETRY_MS);
    await settled();
    assert.equal(server.asked, asked);
  }
  assert.equal(calls, 0);
  server.isUp = true;
  mock.timers.tick(RETRY_MS);
  await settled();
  mock.timers.tick(10 * RETRY_MS);
  await settled();
  assert.deepEqual([server.asked, calls], [3, 1]);
  leave();
});

test("however many requests fail, it is asked once at a time", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const server = health();
  for (let failure = 0; failure < 5; failure += 1) noteUnreachable();
  mock.timers.tick(RETRY_MS);
  await settled();
  assert.equal(server.asked, 1);
});

test("an answer to anything ends the asking", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const server = health();
  let calls = 0;
  const leave = onReachable(() => (calls += 1));
  noteUnreachable();
  noteAnswered();
  mock.timers.tick(10 * RETRY_MS);
  await settled();
  assert.deepEqual([server.asked, calls], [0, 1]);
  leave();
});

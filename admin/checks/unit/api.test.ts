import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { addressOf, api, ApiError, keyHeaders, messageOf, send, Unreachable, withoutField } from "@/lib/api";
import { noteAnswered } from "@/lib/reachable";
import { sendJson, serve } from "./server";

afterEach(() => {
  noteAnswered(); // ends the asking for an API that was away
  Reflect.deleteProperty(globalThis, "window");
});

/** The browser's tab, which keeps the key. */
function keepKey(key: string) {
  const kept = new Map([["webloom-key", key]]);
  Object.assign(globalThis, { window: { sessionStorage: { getItem: (name: string) => kept.get(name) ?? null } } });
}

async function thrown(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail("nothing was thrown"),
    (error: unknown) => error,
  );
}

test("an address has its path and query filled in", () => {
  assert.equal(addressOf("/api/feeds"), "/api/feeds");
  assert.equal(
    addressOf("/api/feeds/{feedId}/runs/{number}", { feedId: "a", number: 3 }, { limit: 10, open: false }),
    "/api/feeds/a/runs/3?limit=10&open=false",
  );
});

test("what is not given is not in the query, but 0 and false are", () => {
  const query = { a: undefined, b: null, c: "", d: 0, e: false, f: [] };
  assert.equal(addressOf("/api/jobs", {}, query), "/api/jobs?d=0&e=false");
});

test("each of several values is in the query", () => {
  assert.equal(addressOf("/api/watches", {}, { jobId: ["a", "b", ""] }), "/api/watches?jobId=a&jobId=b");
});

test("an id of any text stays one part of the path", () => {
  const hostile = "../a?b#c/%2F ü{feedId}";
  const { pathname, search, hash } = new URL(addressOf("/api/feeds/{feedId}", { feedId: hostile }), "http://a.test");
  assert.equal(decodeURIComponent(pathname.split("/")[3] ?? ""), hostile);
  assert.deepEqual([pathname.split("/").length, search, hash], [4, "", ""]);
});

test("a URL in the query comes back as it was", () => {
  const url = "https://a.test/?x=1&y=ü+%20#z";
  assert.equal(new URL(addressOf("/metadata", {}, { url }), "http://a.test").searchParams.get("url"), url);
});

test("the key goes along where there is one", async (t) => {
  await serve(t, (request, response) => sendJson(response, request.headers.authorization ?? null));
  assert.equal(await (await send("/any")).json(), null);
  keepKey("secret");
  assert.deepEqual(keyHeaders(), { Authorization: "Bearer secret" });
  assert.equal(await (await send("/any", { headers: { Accept: "text/csv" } })).json(), "Bearer secret");
});

test("a refusal is shown in the API's own words", async (t) => {
  await serve(t, (_, response) => sendJson(response, { detail: "Is running already.", runs: [] }, 409));
  const error = await thrown(send("/any"));
  assert.ok(error instanceof ApiError);
  assert.deepEqual([error.status, error.message, error.problem.runs], [409, "Is running already.", []]);
});

test("a refusal without words, such as a proxy's, is shown by its status", async (t) => {
  const bodies = ["<h1>Bad gateway</h1>", "", "null", '"no"', "[1]", '{"detail": [{"msg": "x"}]}', '{"detail": 5}'];
  await serve(t, (request, response) => {
    response.writeHead(502);
    response.end(bodies[Number(request.url?.slice(1))]);
  });
  for (const [index, body] of bodies.entries()) {
    const error = await thrown(send(`/${index}`));
    assert.ok(error instanceof ApiError, body);
    assert.equal(error.message, "The API returned 502.", body);
  }
});

test("an API that is away is shown as such", async (t) => {
  await serve(t, (request) => request.socket.destroy());
  const error = await thrown(send("/any"));
  assert.ok(error instanceof Unreachable);
  assert.match(error.message, /is not responding/);
});

test("an answer that breaks off counts as an API that is away", async (t) => {
  await serve(t, (_, response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
    response.write("{");
    setImmediate(() => response.destroy());
  });
  assert.ok((await thrown(api.get("/api/feeds"))) instanceof Unreachable);
});

test("an answer that comes too late counts as an API that is away", async (t) => {
  await serve(t, () => undefined);
  assert.ok((await thrown(send("/any", { signal: AbortSignal.timeout(1) }))) instanceof Unreachable);
});

test("what nobody waits for is not an API that is away", async (t) => {
  await serve(t, () => undefined);
  const error = await thrown(send("/any", { signal: AbortSignal.abort() }));
  assert.ok(error instanceof Error && error.name === "AbortError");
});

test("a body is sent as JSON, or as it is by its type", async (t) => {
  await serve(t, (request, response, body) => {
    sendJson(response, [request.method, request.url, request.headers["content-type"], body]);
  });
  const path = { feedId: "a b" };
  assert.deepEqual(await api.patch("/api/feeds/{feedId}", { path, body: { name: "ü" } }), [
    "PATCH",
    "/api/feeds/a%20b",
    "application/json",
    '{"name":"ü"}',
  ]);
  assert.deepEqual(await api.post("/api/feeds/opml", { body: "<opml/>", contentType: "text/x-opml" }), [
    "POST",
    "/api/feeds/opml",
    "text/x-opml",
    "<opml/>",
  ]);
  assert.deepEqual(await api.delete("/api/feeds/{feedId}", { path }), ["DELETE", "/api/feeds/a%20b", null, ""]);
});

test("an answer is text where it is not JSON", async (t) => {
  await serve(t, (_, response) => response.end("{}"));
  assert.equal(await api.get("/api/feeds"), "{}");
});

test("an empty answer is an empty text", async (t) => {
  await serve(t, (_, response) => {
    response.writeHead(204);
    response.end();
  });
  assert.equal(await api.delete("/api/feeds/{feedId}", { path: { feedId: "a" } }), "");
});

test("the API's name for a field is left out of its message", () => {
  const errors: { message: string }[] = JSON.parse(
    readFileSync(new URL("watch-errors.json", import.meta.url), "utf8"),
  );
  for (const { message } of errors) {
    assert.equal(withoutField(message), message.slice(message.indexOf(": ") + 2));
  }
});

test("other messages stay as they are", () => {
  for (const message of ["The queue is full: try again", "names: a", "see urls: a", "urls:a", "", "a.name: b"]) {
    assert.equal(withoutField(message), message);
  }
});

test("whatever is thrown has a message", () => {
  assert.equal(messageOf(new ApiError(400, "Bad.")), "Bad.");
  assert.equal(messageOf("text"), "text");
  assert.equal(messageOf(undefined), "undefined");
  assert.equal(messageOf(null), "null");
});

import assert from "node:assert/strict";
import { test } from "node:test";

// Read when the modules are loaded, so they are loaded after this.
process.env.NEXT_PUBLIC_API_BASE_URL = "https://webloom.example.org:8443/";
const { api, send } = await import("@/lib/api");
const { API_BASE_URL, apiAddress, IS_API_ELSEWHERE } = await import("@/lib/config");
const { noteAnswered, noteUnreachable } = await import("@/lib/reachable");

const BASE = "https://webloom.example.org:8443";

/** Notes where requests go, and answers them. */
function noteRequests(): string[] {
  const asked: string[] = [];
  globalThis.fetch = async (address) => {
    asked.push(String(address));
    return Response.json({});
  };
  return asked;
}

test("a UI that is built for another server knows its address", () => {
  assert.deepEqual([API_BASE_URL, IS_API_ELSEWHERE], [BASE, true]);
  assert.equal(apiAddress("/api/feeds?limit=3"), `${BASE}/api/feeds?limit=3`);
});

test("every request goes there", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const asked = noteRequests();
  await send("/health");
  await api.get("/api/feeds");
  noteUnreachable(); // the way back is looked for there too
  mock.timers.tick(1500);
  noteAnswered();
  assert.deepEqual(asked, [`${BASE}/health`, `${BASE}/api/feeds`, `${BASE}/health/live`]);
});

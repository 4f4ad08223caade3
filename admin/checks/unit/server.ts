// A real API of one answer, on loopback.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const fetchOf = globalThis.fetch;

/** Starts it for this test: addresses without a host are its own, as they are those of the page's server. */
export async function serve(test: TestContext, answer: Answer): Promise<void> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => answer(request, response, body));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  globalThis.fetch = (address, init) => fetchOf(new URL(String(address), `http://127.0.0.1:${port}`), init);
  test.after(() => {
    globalThis.fetch = fetchOf;
    server.close();
    server.closeAllConnections();
  });
}

export function sendJson(response: ServerResponse, content: unknown, status = 200) {
  response.writeHead(status, { "Content-Type": status < 400 ? "application/json" : "application/problem+json" });
  response.end(JSON.stringify(content));
}

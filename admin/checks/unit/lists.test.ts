import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, importPages, listIn, type PagesImported } from "@/lib/lists";
import { serve } from "./server";

test("several lines are a list, and so are OPML and JSON on one line", () => {
  const cases: [string, ReturnType<typeof listIn>][] = [
    ["https://a.test/", null],
    ["https://a.test/\n", null],
    ["[::1]:8080/jobs", null],
    ["# mine\nhttps://a.test/", null],
    ["a.test\r\nb.test\r\n\r\n# c\rd.test", { kind: "lines", count: 3 }],
    ['<opml version="2.0">\n<body/>\n</opml>', { kind: "opml" }],
    ['\ufeff<?xml version="1.0"?><opml version="2.0"><body/></opml>', { kind: "opml" }],
    ['[\n"a.test"\n]', { kind: "json" }],
    ['["a.test"]', { kind: "json" }],
    [' [{"url":"a.test"}]', { kind: "json" }],
    ['{"watching":{}}', { kind: "json" }],
    ["", null],
  ];
  for (const [text, list] of cases) assert.deepEqual(listIn(text), list, text);
});

const IMPORTED: PagesImported = { added: 2, known: 0, refused: 0, refusals: [] };

test("an import tells how far it is, and what came of it", async (context) => {
  await serve(context, (request, response, body) => {
    assert.equal(request.url, "/api/watches/import?skipKnown=true&progress=true");
    assert.deepEqual([request.headers["content-type"], body], ["text/plain", "a.test\nb.test"]);
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.end(`{"done":1,"total":2}\n${JSON.stringify(IMPORTED)}\n`);
  });
  const heard: number[] = [];
  const content = await contentOf("a.test\nb.test");
  assert.deepEqual(await importPages(content, true, ({ done }) => heard.push(done)), IMPORTED);
  assert.deepEqual(heard, [1]);
});

for (const [what, end, message] of [
  ["can't go on", '{"done":100,"total":300,"detail":"Not stored: the disk is full."}\n', /disk is full.* 100 of 300/],
  ["breaks off", "", /connection ended.* 100 of 300.*again/],
] as const) {
  test(`an import that ${what} is an error that says how far it was`, async (context) => {
    await serve(context, (_, response) => {
      response.writeHead(200, { "Content-Type": "application/x-ndjson" });
      response.end(`{"done":100,"total":300}\n${end}`);
    });
    await assert.rejects(importPages(await contentOf("a.test"), false, () => {}), message);
  });
}

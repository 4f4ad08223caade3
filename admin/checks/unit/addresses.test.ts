import assert from "node:assert/strict";
import { test } from "node:test";
import { recordPath, summary, type Seen } from "@/lib/addresses";

const SEEN: Seen = {
  kind: "other",
  url: "https://example.com/",
  statusCode: 200,
  title: null,
  feed: null,
  page: null,
  problem: "what was fetched is not text",
  known: { feed: null, watches: [], record: null },
};
const PAGE: NonNullable<Seen["page"]> = {
  feeds: [],
  price: null,
  availability: "unknown",
  classification: { type: "other", confidence: 0, reasons: [] },
  needsJavascript: null,
};

test("a feed says its format and how many items it has", () => {
  const feed = { format: "rss" as const, items: 1, isWhole: true, failed: 0, sample: [] };
  assert.equal(summary({ ...SEEN, kind: "feed", feed }), "A feed (rss) with 1 item.");
  const long = { ...feed, items: 2000, isWhole: false };
  assert.match(summary({ ...SEEN, kind: "feed", feed: long }), /^A feed \(rss\) with 2.000 items and more\.$/);
});

test("a page says its kind, its price and its feeds", () => {
  const price = { current: 49.9, list: null, currency: "EUR", source: "json-ld" };
  const classification = { type: "job_posting" as const, confidence: 1, reasons: [] };
  const feeds = [{ url: "https://example.com/rss", title: null, known: null }];
  assert.equal(summary({ ...SEEN, kind: "page", page: PAGE }), "A web page.");
  assert.match(
    summary({ ...SEEN, kind: "page", page: { ...PAGE, price, availability: "in_stock", classification, feeds } }),
    /^A web page \(job posting\), price .*49.90.*, in stock\. It offers 1 feed\.$/,
  );
});

test("something else is called so", () => {
  assert.equal(summary(SEEN), "This is neither a feed nor a page that can be read.");
  assert.equal(summary({ ...SEEN, page: PAGE }), "A text, not a web page.");
});

test("the address of a record keeps its query", () => {
  assert.equal(recordPath("https://a.test/?b=c&d"), "/inventory/record?url=https%3A%2F%2Fa.test%2F%3Fb%3Dc%26d");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  alertWords,
  changeWords,
  kindOf,
  metricWords,
  pagePath,
  percent,
  price,
  priceMove,
  runNow,
  runWords,
  scheduleWords,
  short,
  watchPath,
} from "@/lib/watch";
import { watch, watchRun } from "./samples";
import { sendJson, serve } from "./server";

test("a watch's address holds any id", () => {
  assert.equal(watchPath("abc"), "/watch/abc");
  assert.equal(watchPath("a/b?c ü"), "/watch/a%2Fb%3Fc%20%C3%BC");
});

test("an id that is the address of something else goes into the query", () => {
  for (const id of ["new", "edit", "page", "_", ".", "..", "notes.txt"]) {
    const { pathname, searchParams } = new URL(watchPath(id), "http://webloom.test");
    assert.deepEqual([pathname, searchParams.get("jobId")], ["/watch/_", id]);
  }
});

test("a page's address holds its URL and the versions that are compared", () => {
  assert.equal(pagePath("a", "https://a.test/?x=1&y"), "/watch/page?jobId=a&url=https%3A%2F%2Fa.test%2F%3Fx%3D1%26y");
  assert.equal(pagePath("a", "u", { from: 1, to: 2 }), "/watch/page?jobId=a&url=u&from=1&to=2");
  assert.equal(pagePath("a", "u", { from: 0, to: undefined }), "/watch/page?jobId=a&url=u&from=0");
});

test("a long title is cut, not within a character", () => {
  assert.equal(short("lamp", 4), "lamp");
  assert.equal(short("lamps", 4), "lamp…");
  assert.equal(short("lam💡s", 4), "lam…");
  assert.equal(short("x".repeat(161)).length, 161);
});

test("a price is shown with its currency, also where it came as text", () => {
  assert.equal(price("19.90", "EUR"), "€19.90");
  assert.equal(price(0, "EUR"), "€0.00");
  assert.equal(price(null, "EUR"), "–");
  assert.equal(price(undefined, null), "–");
});

test("prices in an alert are written as elsewhere, quotes as they are", () => {
  assert.equal(alertWords("the price fell by 21 % to 79.5 EUR, below 80 EUR"), "the price fell by 21 % to €79.50, below €80.00");
  assert.equal(alertWords("the price is 1000 JPY"), "the price is ¥1,000");
  assert.equal(alertWords("the price is 1,299,000.50 EUR"), "the price is €1,299,000.50");
  assert.equal(alertWords("the price rose to 5"), "the price rose to 5");
  assert.equal(alertWords('text was added that contains "10 EUR"'), 'text was added that contains "10 EUR"');
});

test("a move in percent has its sign", () => {
  assert.equal(percent(12.345), "+12.35 %");
  assert.equal(percent("-3.5"), "−3.5 %");
  assert.equal(percent(-1_000), "−1,000 %");
  assert.equal(percent(0), "+0 %");
});

test("an interval is shown in the largest unit that divides it", () => {
  const rows: [number, string][] = [
    [0.05, "every 3 seconds"],
    [1 / 60, "every 1 second"],
    [0.5, "every 30 seconds"],
    [1, "every minute"],
    [1.5, "every 1.5 minutes"],
    [2, "every 2 minutes"],
    [59, "every 59 minutes"],
    [60, "every hour"],
    [90, "every 90 minutes"],
    [120, "every 2 hours"],
    [1_440, "every day"],
    [1_500, "every 25 hours"],
    [10_080, "every 7 days"],
    [525_600, "every 365 days"],
  ];
  for (const [everyMinutes, words] of rows) assert.equal(scheduleWords({ everyMinutes }), words);
});

test("plain cron lines are shown in words, with their zone", () => {
  const rows: [string, string][] = [
    ["@hourly", "every hour"],
    [" @Daily ", "every day at midnight"],
    ["* * * * *", "every minute"],
    ["*/1 * * * *", "every minute"],
    ["*/5 * * * *", "every 5 minutes"],
    ["*/30 * * * *", "every 30 minutes"],
    ["7 * * * *", "every hour at minute 7"],
    ["5 9 * * *", "every day at 09:05"],
    ["0  17 * * MON-FRI", "Monday to Friday at 17:00"],
    ["0 17 * * 1-5", "Monday to Friday at 17:00"],
  ];
  for (const [cron, words] of rows) {
    assert.equal(scheduleWords({ cron, timeZone: "Asia/Tokyo" }), `${words} (Asia/Tokyo)`);
  }
});

test("a step that does not divide the hour is not every so many minutes", () => {
  for (const step of ["7", "45", "59", "60", "90", "0"]) {
    const cron = `*/${step} * * * *`;
    assert.equal(scheduleWords({ cron, timeZone: "UTC" }), `cron ${cron} (UTC)`);
  }
});

test("other cron lines are shown as they are", () => {
  const lines = ["0 9 1 * *", "0 9 * 1 *", "0 9 * * 1", "0 9-17 * * *", "1,2 * * * *", "*/5 9 * * *", "0 9", ""];
  for (const cron of [...lines, "constructor"]) assert.equal(scheduleWords({ cron, timeZone: "UTC" }), `cron ${cron} (UTC)`);
});

test("a run is shown with what it found", () => {
  assert.equal(runWords(watchRun()), "1 page, 0 changes");
  assert.equal(
    runWords(
      watchRun({
        pagesTotal: 6,
        pagesProcessed: 6,
        changesDetected: 4,
        priceChangesDetected: 1,
        pagesFailed: 1,
      }),
    ),
    "6 pages, 4 changes, 1 price change, 1 failure",
  );
});

test("what all runs of a watch have counted", () => {
  assert.equal(metricWords(watch()), "0 checks, 0 changes");
  const counted = { pagesProcessed: 1_200, changesDetected: 1, priceChangesDetected: 2 };
  assert.equal(metricWords(watch(counted)), "1,200 checks, 1 change, 2 price changes");
});

test("a run that goes on is shown with what is left", () => {
  assert.equal(runWords(watchRun({ pagesTotal: 1_200, pagesProcessed: 1 })), "1 of 1,200 pages, 0 changes");
  assert.equal(runWords(watchRun({ pagesTotal: null, pagesProcessed: 3 })), "3 pages, 0 changes");
});

test("a check that was asked for says how many pages it has", async (t) => {
  const totals = [1, 2_000, null];
  await serve(t, (request, response) => {
    assert.deepEqual([request.method, request.url], ["POST", "/api/watches/a%2Fb/run"]);
    sendJson(response, watchRun({ pagesTotal: totals.shift() ?? null }), 202);
  });
  const watch = { jobId: "a/b", name: "Lamps" };
  assert.equal(await runNow(watch), "Lamps: checking 1 page now.");
  assert.equal(await runNow(watch), "Lamps: checking 2,000 pages now.");
  assert.equal(await runNow(watch), "Lamps: checking its pages now.");
});

test("a price that moved has both amounts and its currency", () => {
  assert.deepEqual(priceMove({ price: { previous: "10.00", current: 9, currency: "EUR" } }), {
    before: 10,
    after: 9,
    currency: "EUR",
  });
  assert.deepEqual(
    priceMove({ price: { previous: null, current: "9", currency: { previous: "USD", current: "EUR" } } }),
    { before: null, after: 9, currency: "EUR" },
  );
  assert.deepEqual(priceMove({ price: { previous: 0, current: null } }), { before: 0, after: null, currency: null });
});

test("a malformed price is left out", () => {
  const forms = [undefined, null, "9", [1, 2], {}, { previous: "", current: " " }, { previous: "a", current: {} }];
  for (const form of [...forms, { current: true }, { current: "Infinity" }, { previous: "1e999" }, { current: [9] }]) {
    assert.equal(priceMove({ price: form }), null, JSON.stringify(form));
  }
  assert.equal(priceMove({ price: { current: 9, currency: 5 } })?.currency, null);
});

test("what changed is shown in short sentences", () => {
  assert.deepEqual(
    changeWords({
      text: { linesAdded: 1, linesRemoved: 2_000, linesMoved: 0 },
      textChanged: true,
      title: { previous: "Lamp", current: "Lamp_2" },
      availability: { previous: "in_stock", current: "out_of_stock" },
      images: { addedCount: 1, removedCount: 0 },
      links: { added: ["a", "b"], removed: ["c"] },
    }),
    [
      "1 line added, 2,000 removed",
      "title: Lamp → Lamp_2",
      "availability: in stock → out of stock",
      "1 image added",
      "2 links added",
      "1 link removed",
    ],
  );
});

test("the first of the counts says what is counted", () => {
  assert.deepEqual(changeWords({ text: { linesRemoved: 2, linesMoved: 1 } }), ["2 lines removed, 1 moved"]);
  assert.deepEqual(changeWords({ text: { linesMoved: 1 } }), ["1 line moved"]);
});

test("a text without counts has still changed", () => {
  assert.deepEqual(changeWords({ textChanged: true }), ["the text changed"]);
  assert.deepEqual(changeWords({ text: { linesAdded: 0 }, textChanged: true }), ["the text changed"]);
  assert.deepEqual(changeWords({ textChanged: false }), []);
});

test("a title that was not there is none", () => {
  assert.deepEqual(changeWords({ title: { previous: null, current: "Lamp" } }), ["title: none → Lamp"]);
});

test("a malformed change is left out", () => {
  const hostile = { text: "x", title: ["a"], availability: 5, images: null, links: { addedCount: "9", added: 3 } };
  assert.deepEqual(changeWords(hostile), []);
  assert.deepEqual(changeWords({ text: { linesAdded: "9", linesRemoved: -1, linesMoved: NaN } }), []);
});

test("a title of any length is shown in few characters, none of them half", () => {
  const [words = ""] = changeWords({ title: { previous: "", current: `${"x".repeat(199)}💡` } });
  assert.equal(words, `title:  → ${"x".repeat(199)}`);
});

test("the kind of a page is shown with its reasons", () => {
  assert.deepEqual(kindOf({ type: "product", confidence: 0.9, reasons: ["a price", 5, null, "a cart"] }), {
    type: "product",
    confidence: 0.9,
    reasons: ["a price", "a cart"],
  });
  assert.deepEqual(kindOf({ type: "other" }), { type: "other", confidence: null, reasons: [] });
  assert.deepEqual(kindOf({ type: "x", confidence: "1", reasons: "y" }), { type: "x", confidence: null, reasons: [] });
});

test("a malformed classification has no kind", () => {
  for (const given of [null, undefined, "product", [], {}, { type: 5 }]) assert.equal(kindOf(given), null);
});

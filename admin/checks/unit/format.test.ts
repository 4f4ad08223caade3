import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytes,
  counted,
  cut,
  duration,
  exactTimeOf,
  isHalf,
  isWebUrl,
  money,
  number,
  relative,
  short,
  shortUrl,
  startOfDay,
  timeOf,
} from "@/lib/format";
import { inLanguage, inZone } from "./places";

test("large numbers are grouped, and compact from 10,000 on", () => {
  assert.equal(number(1_234_567), "1,234,567");
  assert.equal(short(9_999), "9,999");
  assert.equal(short(10_000), "10K");
  assert.equal(short(10_325), "10.3K");
});

test("only one is singular", () => {
  assert.equal(counted(0, "page"), "0 pages");
  assert.equal(counted(1, "page"), "1 page");
  assert.equal(counted(2, "page"), "2 pages");
  assert.equal(counted(1.5, "minute"), "1.5 minutes");
  assert.equal(counted(1, "batch", "batches"), "1 batch");
  assert.equal(counted(1_000, "batch", "batches"), "1,000 batches");
});

test("sizes are those of the command line, in units of 1024", () => {
  const rows: [number, string][] = [
    [0, "0 bytes"],
    [1_023, "1023 bytes"],
    [1_024, "1 KB"],
    [95_437, "93.2 KB"],
    [512 * 1024 ** 2, "512 MB"],
    [1024 ** 4, "1 TB"],
  ];
  for (const [count, text] of rows) assert.equal(bytes(count), text);
});

test("durations round into the next unit", () => {
  const rows: [number, string][] = [
    [0, "0 ms"],
    [999.4, "999 ms"],
    [999.5, "1.0 s"],
    [9_949, "9.9 s"],
    [9_950, "10 s"],
    [59_499, "59 s"],
    [59_500, "1 min 0 s"],
    [3_599_499, "59 min 59 s"],
    [3_599_500, "1 h 0 min"],
    [47 * 3_600_000, "47 h 0 min"],
    [48 * 3_600_000, "2 days"],
  ];
  for (const [ms, text] of rows) assert.equal(duration(ms), text);
});

const HOUR = 3_600_000;

test("a day begins at midnight of the reader's zone", () => {
  const noon = Date.parse("2026-11-02T12:00:00Z");
  assert.equal(inZone("UTC", () => startOfDay("2026-11-02", 0)), noon - 12 * HOUR);
  assert.equal(inZone("Asia/Kathmandu", () => startOfDay("2026-11-02", 0)), noon - 17.75 * HOUR);
  assert.equal(inZone("Pacific/Kiritimati", () => startOfDay("2026-11-02", 0)), noon - 26 * HOUR);
});

test("a day has 23 or 25 hours when clocks change", () => {
  const length = (day: string) => (startOfDay(day, 1) - startOfDay(day, 0)) / HOUR;
  inZone("America/New_York", () => {
    assert.equal(length("2026-03-07"), 24);
    assert.equal(length("2026-03-08"), 23);
    assert.equal(length("2026-11-01"), 25);
  });
});

test("a day without a midnight begins when its clock does", () => {
  // Clocks in Beirut go from 0:00 to 1:00.
  assert.equal(inZone("Asia/Beirut", () => startOfDay("2024-03-31", 0)), Date.parse("2024-03-30T22:00:00Z"));
});

test("a midnight that the year 2000 did not have is not left out of other years", () => {
  // Clocks in Sao Paulo went from 0:00 to 1:00 on 8 October 2000, and have not changed since 2019.
  assert.equal(inZone("America/Sao_Paulo", () => startOfDay("2026-10-08", 0)), Date.parse("2026-10-08T03:00:00Z"));
});

test("days later go over the ends of months and years", () => {
  inZone("UTC", () => {
    assert.equal(startOfDay("2026-12-31", 1), Date.parse("2027-01-01T00:00:00Z"));
    assert.equal(startOfDay("2028-02-28", 1), Date.parse("2028-02-29T00:00:00Z"));
    assert.equal(startOfDay("2026-02-28", 1), Date.parse("2026-03-01T00:00:00Z"));
  });
});

test("the year 20 is not 1920", () => {
  assert.equal(inZone("UTC", () => startOfDay("0020-01-01", 0)), Date.parse("0020-01-01T00:00:00Z"));
});

test("a date that does not exist gives NaN", () => {
  const none = ["", "today", "2026-2-3", "2026-02-30", "2026-04-31", "2026-13-01", "2026-00-10", "2026-01-00"];
  for (const day of [...none, "2027-02-29", "2026-02-03T00:00", " 2026-02-03", "2026-02-03\n2"]) {
    assert.equal(startOfDay(day, 0), NaN, day);
  }
});

test("a moment is shown in the reader's zone, the exact one in UTC too", () => {
  const plain = (text: string) => text.replaceAll("\u202f", " ");
  assert.equal(plain(timeOf("2026-07-01T03:30:00Z")), "Jun 30, 2026, 11:30:00 PM");
  assert.equal(plain(timeOf(Date.parse("2026-01-01T05:00:00Z"))), "Jan 1, 2026, 12:00:00 AM");
  assert.equal(
    plain(exactTimeOf("2026-07-01T03:30:00Z")),
    "Tuesday, June 30, 2026 at 11:30:00 PM EDT (2026-07-01T03:30:00.000Z)",
  );
});

test("how long ago is shown in the largest unit that fits", () => {
  const now = Date.parse("2026-03-05T12:00:00Z");
  const rows: [number, string][] = [
    [0, "now"],
    [-499, "now"],
    [400, "now"],
    [-1_000, "1 second ago"],
    [-59_400, "59 seconds ago"],
    [-59_600, "1 minute ago"],
    [-59.4 * 60_000, "59 minutes ago"],
    [-59.6 * 60_000, "1 hour ago"],
    [90 * 60_000, "in 2 hours"],
    [-23.4 * HOUR, "23 hours ago"],
    [-35 * HOUR, "1 day ago"],
    [-29 * 24 * HOUR, "29 days ago"],
    [-30 * 24 * HOUR, "1 month ago"],
    [359 * 24 * HOUR, "in 1 year"],
    [-20 * 365 * 24 * HOUR, "20 years ago"],
  ];
  for (const [ms, text] of rows) assert.equal(relative(now + ms, now), text);
  assert.equal(relative("2026-03-05T11:57:00Z", now), "3 minutes ago");
});

test("an amount has the sign of its currency and keeps its digits", () => {
  assert.equal(money(1234.5, "EUR"), "€1,234.50");
  assert.equal(money(0.123456, "USD"), "$0.123456");
  assert.equal(money(-5, "usd"), "-$5.00");
  assert.equal(money(1500, "JPY"), "¥1,500");
  assert.equal(money(0, "EUR"), "€0.00");
});

test("an amount in an unknown currency stays readable", () => {
  assert.equal(money(5, null), "5");
  assert.equal(money(1234.5, null), "1,234.50");
  assert.equal(money(5, ""), "5");
  assert.equal(money(5, "Euros"), "5 Euros");
  assert.equal(money(5, "<b>"), "5 <b>");
  assert.equal(money(null, "EUR"), "–");
  assert.equal(money(undefined, undefined), "–");
});

test("a narrow column leaves out what is the same in every URL", () => {
  assert.equal(shortUrl("https://www.shop.test/"), "shop.test");
  assert.equal(shortUrl("http://shop.test/a/b/?q=1"), "shop.test/a/b/?q=1");
  assert.equal(shortUrl("https://wwwhat.test"), "wwwhat.test");
  assert.equal(shortUrl("ftp://shop.test/"), "ftp://shop.test");
});

test("only http and https become links", () => {
  for (const url of ["https://a.test", "http://a.test/", "HTTPS://A.TEST"]) assert.ok(isWebUrl(url), url);
  const others = ["javascript:alert(1)//https://a.test", "data:text/html,https://", " https://a.test", "//a.test", ""];
  for (const url of [...others, "java\nscript:https://x", "https:/a.test", "xhttps://a.test"]) {
    assert.ok(!isWebUrl(url), url);
  }
});

test("a cut text has no half of a character", () => {
  assert.equal(cut("lamp", 4), "lamp");
  assert.equal(cut("lamps", 4), "lamp");
  assert.equal(cut("a💡b", 2), "a");
  assert.equal(cut("a💡b", 3), "a💡");
  assert.equal(cut("💡", 0), "");
  assert.ok(isHalf("💡", 1));
  assert.ok(!isHalf("💡", 2));
  assert.ok(!isHalf("💡", 0));
});

test("readers get the figures of their own language", () => {
  const said = '[number(1234.5), counted(12345, "x"), money(9.9, "EUR"), relative(0, 120000)]';
  const german = inLanguage("de_DE", "@/lib/format", "number, counted, money, relative", said) as string[];
  assert.deepEqual(german.map((text) => text.replaceAll("\u00a0", " ")), [
    "1.234,5",
    "12.345 xs",
    "9,90 €",
    "vor 2 Minuten",
  ]);
});

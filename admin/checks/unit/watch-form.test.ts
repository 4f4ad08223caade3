import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bodyOf,
  editsOf,
  emptyForm,
  formOf,
  LABELS,
  linesOf,
  placeOf,
  selectionOf,
  Unfit,
  urlsOf,
  type Place,
  type Typed,
  type TypedTarget,
} from "@/app/watch/formState";
import { watch } from "./samples";

function form(changes: Partial<Typed> = {}): Typed {
  return { ...emptyForm("https://shop.test/lamp"), ...changes };
}

function target(changes: Partial<TypedTarget>): TypedTarget {
  return { key: 0, url: "https://hook.test/", secret: "", digest: "", shown: null, isSigned: false, ...changes };
}

function unfit(changes: Partial<Typed>): Unfit {
  try {
    bodyOf(form(changes));
  } catch (error) {
    assert.ok(error instanceof Unfit);
    return error;
  }
  assert.fail("it can be sent");
}

test("an empty form begins with the reader's zone", () => {
  assert.equal(emptyForm().timeZone, "America/New_York");
  assert.equal(emptyForm("https://a.test").urls, "https://a.test");
});

test("a form with no more than a URL leaves the rest to the server", () => {
  assert.deepEqual(bodyOf(form()), {
    urls: ["https://shop.test/lamp"],
    url: null,
    name: null,
    schedule: null,
    enabled: true,
    selection: { keep: [], drop: [], ignoreText: [], ignorePattern: [], sortLines: false, uniqueLines: false },
    thresholds: { textContains: [], priceBelow: null, priceChangePercent: null },
    targets: [],
    acceptsEvents: false,
  });
});

test("lines are entries; blank ones are none", () => {
  assert.deepEqual(linesOf("a\r\n \n\tb \n"), ["a", "\tb "]);
  assert.deepEqual(linesOf(""), []);
  assert.deepEqual(urlsOf(form({ urls: " https://a.test \r\n\n https://b.test" })), [
    "https://a.test",
    "https://b.test",
  ]);
});

test("entries are trimmed, but for patterns, where a blank may be meant", () => {
  const selection = selectionOf(form({ keep: " main ", ignoreText: " ad ", ignorePattern: "^Ad " }));
  assert.deepEqual([selection.keep, selection.ignoreText, selection.ignorePattern], [["main"], ["ad"], ["^Ad "]]);
});

test("a form without a URL can't be sent", () => {
  assert.equal(unfit({ urls: " \n" }).place, "urls");
});

test("an interval and a cron line are sent alone", () => {
  assert.deepEqual(bodyOf(form({ timing: "every", every: " 90 " })).schedule, {
    everyMinutes: 90,
    cron: null,
    timeZone: "UTC",
  });
  assert.deepEqual(bodyOf(form({ timing: "cron", cron: " 0 9 * * * ", timeZone: " " })).schedule, {
    everyMinutes: null,
    cron: "0 9 * * *",
    timeZone: "UTC",
  });
});

test("a decimal comma is a decimal point", () => {
  assert.equal(bodyOf(form({ timing: "every", every: "0,5" })).schedule?.everyMinutes, 0.5);
  assert.equal(bodyOf(form({ priceBelow: " 19,90 " })).thresholds?.priceBelow, "19.90");
  assert.equal(bodyOf(form({ priceBelow: "0,125" })).thresholds?.priceBelow, "0.125");
});

test("a comma that may group thousands is asked about, not guessed", () => {
  for (const text of ["1,000", "525,600", "-1,000"]) {
    const { place, message } = unfit({ priceBelow: text });
    assert.deepEqual([place, message], ["priceBelow", `Write "${text}" without the comma, or with a decimal point.`]);
  }
  assert.equal(unfit({ timing: "every", every: "525,600" }).place, "every");
});

test("an amount keeps its digits", () => {
  assert.equal(bodyOf(form({ priceBelow: "0.10000000000000000001" })).thresholds?.priceBelow, "0.10000000000000000001");
});

test("text that is not a number is reported where it was typed", () => {
  for (const text of ["cheap", "1,000,000", "1.2.3", "Infinity", "NaN", "−5", "5 €"]) {
    const { place, message } = unfit({ priceChangePercent: text });
    assert.deepEqual([place, message], ["priceChangePercent", `"${text}" is not a number.`]);
  }
  assert.equal(unfit({ timing: "every", every: " " }).place, "every");
  assert.equal(unfit({ targets: [target({ digest: "soon" })] }).place, "targets");
});

test("a secret is sent only to where requests can be signed", () => {
  const targets = [
    target({ url: " https://hook.test/ ", secret: "s", digest: "60" }),
    target({ url: "mailto://me@a.test", secret: "s" }),
    target({ url: "https://hook.test/", secret: "" }),
  ];
  assert.deepEqual(bodyOf(form({ targets })).targets, [
    { url: "https://hook.test/", secret: "s", digestMinutes: 60 },
    { url: "mailto://me@a.test", secret: null, digestMinutes: null },
    { url: "https://hook.test/", secret: null, digestMinutes: null },
  ]);
});

const FULL = watch({
  urls: ["https://a.test", "https://b.test"],
  schedule: { everyMinutes: null, cron: "0 9 * * *", timeZone: "Asia/Tokyo" },
  selection: {
    keep: ["main", "//h1"],
    drop: [".ad"],
    ignoreText: ["Advert"],
    ignorePattern: ["^\\d+ "],
    sortLines: true,
    uniqueLines: true,
  },
  thresholds: { textContains: ["sold"], priceBelow: 19.9, priceChangePercent: 5 },
  targets: [{ url: "https://hook.test/…", signed: true, digestMinutes: 0.5 }],
  acceptsEvents: true,
});

test("whether other programs may send events is sent when it changes", () => {
  const before = formOf(watch());
  assert.deepEqual(editsOf({ ...before, acceptsEvents: true }, before), { acceptsEvents: true });
  assert.equal(bodyOf(formOf(FULL)).acceptsEvents, true);
});

test("a watch that is opened and saved changes nothing", () => {
  for (const each of [FULL, watch(), watch({ schedule: { everyMinutes: 1.5 }, selection: {}, thresholds: {} })]) {
    assert.deepEqual(editsOf(formOf(each), formOf(each)), {});
  }
});

test("a watch that is opened shows what it has", () => {
  const opened = formOf(FULL);
  assert.equal(opened.urls, "https://a.test\nhttps://b.test");
  assert.deepEqual([opened.timing, opened.cron, opened.timeZone], ["cron", "0 9 * * *", "Asia/Tokyo"]);
  assert.deepEqual([opened.keep, opened.priceBelow, opened.textContains], ["main\n//h1", "19.9", "sold"]);
  assert.deepEqual(opened.targets[0], {
    key: 0,
    url: "https://hook.test/…",
    secret: "",
    digest: "0.5",
    shown: "https://hook.test/…",
    isSigned: true,
  });
});

test("only what differs is sent", () => {
  const before = formOf(FULL);
  assert.deepEqual(editsOf({ ...before, name: "New" }, before), { name: "New" });
  assert.deepEqual(editsOf({ ...before, name: " " }, before), { name: "" });
  assert.deepEqual(Object.keys(editsOf({ ...before, drop: "" }, before)), ["selection"]);
  assert.deepEqual(editsOf({ ...before, timing: "every", every: "5" }, before), {
    schedule: { everyMinutes: 5, cron: null, timeZone: "UTC" },
  });
  assert.deepEqual(editsOf({ ...before, targets: [] }, before), { targets: [] });
  assert.deepEqual(editsOf({ ...before, urls: `${before.urls}\n\n` }, before), {});
});

test("an error that names its field is shown there", () => {
  const rows: [string, Place][] = [
    ["urls: too many", "urls"],
    ["name: too long", "name"],
    ["selection.keep: 'a[' is no selector", "keep"],
    ["thresholds.priceBelow: wants 0 or more", "priceBelow"],
    ["targets: no such service", "targets"],
    ["schedule: 0 is too short", "every"],
  ];
  for (const [message, place] of rows) assert.equal(placeOf(message, form()), place);
});

test("an error of the schedule is shown where that was typed", () => {
  const cron = form({ timing: "cron" });
  assert.equal(placeOf("schedule: cron: 'x' has 1 fields", cron), "cron");
  assert.equal(placeOf("schedule: no such time zone", cron), "timeZone");
  assert.equal(placeOf("schedule: no such time zone", form({ timing: "every" })), "every");
});

test("an error that quotes what was typed is shown there", () => {
  const typed = form({ keep: "main\ndiv[", drop: "it's[", ignorePattern: "a\\d(\n[" });
  assert.equal(placeOf("'div[' is no selector", typed), "keep");
  assert.equal(placeOf('"it\'s[" is no selector', typed), "drop");
  assert.equal(placeOf("'it\\'s[' is no selector", typed), "drop");
  assert.equal(placeOf("'a\\\\d(' is no pattern", typed), "ignorePattern");
});

test("an error that quotes nothing is shown at the first field that has something", () => {
  assert.equal(placeOf("a selector is too long", form({ keep: "main" })), "keep");
  assert.equal(placeOf("a selector is too long", form()), "form");
  assert.equal(placeOf("The queue is full", form({ keep: "main" })), "form");
});

test("every place that an error can be at has a name", () => {
  const places = ["urls: x", "name: x", "targets: x", "thresholds.textContains: x", "selection.ignorePattern: x"];
  for (const message of places) assert.ok(LABELS[placeOf(message, form())], message);
});

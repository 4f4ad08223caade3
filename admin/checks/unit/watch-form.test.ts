import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
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
    tags: [],
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
  assert.deepEqual(editsOf({ ...before, tags: "sale, old" }, before), { tags: ["sale", "old"] });
  assert.deepEqual(Object.keys(editsOf({ ...before, drop: "" }, before)), ["selection"]);
  assert.deepEqual(editsOf({ ...before, timing: "every", every: "5" }, before), {
    schedule: { everyMinutes: 5, cron: null, timeZone: "UTC" },
  });
  assert.deepEqual(editsOf({ ...before, targets: [] }, before), { targets: [] });
  assert.deepEqual(editsOf({ ...before, urls: `${before.urls}\n\n` }, before), {});
});

// tests/unit/test_ui_errors.py compares these texts with what the API says.
const ERRORS: { given: { schedule?: { cron?: string } }; place: Place; message: string }[] = JSON.parse(
  readFileSync(new URL("watch-errors.json", import.meta.url), "utf8"),
);

test("an error is shown at the field that it names", () => {
  assert.ok(ERRORS.length > 10);
  for (const { given, place, message } of ERRORS) {
    const typed = form({ keep: "main", drop: "nav", timing: given.schedule?.cron === undefined ? "every" : "cron" });
    assert.equal(placeOf(message, typed), place, message);
  }
});

test("an error of a cron's zone is shown at the interval while that is chosen", () => {
  assert.equal(placeOf("schedule: time zone: 'Nowhere' is not known", form({ timing: "every" })), "every");
});

test("selectors that do not fit the page are shown at the first field that has some", () => {
  const nothing = "the selector '#x' finds nothing on the page";
  assert.equal(placeOf(nothing, form({ keep: "#x", drop: "nav" })), "keep");
  assert.equal(placeOf("the page has no markup that XPath could search", form({ drop: "//nav" })), "drop");
  assert.equal(placeOf(nothing, form()), "form");
});

test("every place that an error can be at has a name", () => {
  const places = ["urls: x", "name: x", "targets: x", "thresholds.textContains: x", "selection.ignorePattern: x"];
  for (const message of places) assert.ok(LABELS[placeOf(message, form())], message);
});

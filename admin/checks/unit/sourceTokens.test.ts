import assert from "node:assert/strict";
import { test } from "node:test";
import { languageOf, tokensOf, type Kind, type Language } from "@/components/sourceTokens";

/** The parts of the text with their kinds. */
function parts(text: string, language: Language): [Kind, string][] {
  const tokens = tokensOf(text, language);
  return tokens.map(({ start, kind }, index) => [kind, text.slice(start, tokens[index + 1]?.start)]);
}

test("the type that the server gave decides, in any case", () => {
  assert.equal(languageOf("<p>", "application/JSON; charset=utf-8"), "json");
  assert.equal(languageOf("{}", "text/html"), "html");
  assert.equal(languageOf("{}", "application/rss+xml"), "html");
  assert.equal(languageOf("{}", "application/ld+json"), "json");
});

test("without a type the first character decides", () => {
  for (const type of [null, undefined, "", "text/plain"]) {
    assert.equal(languageOf(" \n\t<!doctype html>", type), "html");
    assert.equal(languageOf("\ufeff{}", type), "json");
    assert.equal(languageOf("[1]", type), "json");
    assert.equal(languageOf("hello <b>", type), "plain");
    assert.equal(languageOf("", type), "plain");
  }
  assert.equal(languageOf(`${" ".repeat(2_000)}<p>`, null), "plain");
});

test("plain text is one part", () => {
  assert.deepEqual(parts("<b>{1}", "plain"), [["text", "<b>{1}"]]);
});

test("a tag has its name, its attributes and their values", () => {
  assert.deepEqual(parts('a <p class="x y" hidden>b</p>', "html"), [
    ["text", "a "],
    ["tag", "<p"],
    ["text", " "],
    ["name", "class"],
    ["string", '="x y"'],
    ["text", " "],
    ["name", "hidden"],
    ["tag", ">"],
    ["text", "b"],
    ["tag", "</p>"],
  ]);
});

test("a > within quotes does not end the tag", () => {
  assert.deepEqual(parts("<a title='x > y'>", "html").map(([, text]) => text), ["<a", " ", "title", "='x > y'", ">"]);
});

test("comments and declarations are comments", () => {
  assert.deepEqual(parts("<!doctype html><!-- <p> -->x<?php ?>", "html"), [
    ["comment", "<!doctype html><!-- <p> -->"],
    ["text", "x"],
    ["comment", "<?php ?>"],
  ]);
});

test("scripts and styles are text up to their end tag", () => {
  assert.deepEqual(parts('<script>if (a<b) "</p>"</SCRIPT>', "html"), [
    ["tag", "<script>"],
    ["text", 'if (a<b) "</p>"'],
    ["tag", "</SCRIPT>"],
  ]);
  assert.deepEqual(parts("<style>a>b{}", "html"), [["tag", "<style>"], ["text", "a>b{}"]]);
});

test("a < that begins no tag is text", () => {
  assert.deepEqual(parts("1 < 2 <3 <", "html"), [["text", "1 < 2 <3 <"]]);
});

test("JSON has names, strings and literals", () => {
  assert.deepEqual(parts('{"a" : "b:", "c\\"d": [-1.5e3, true, null]}', "json"), [
    ["text", "{"],
    ["name", '"a"'],
    ["text", " : "],
    ["string", '"b:"'],
    ["text", ", "],
    ["name", '"c\\"d"'],
    ["text", ": ["],
    ["literal", "-1.5e3"],
    ["text", ", "],
    ["literal", "true"],
    ["text", ", "],
    ["literal", "null"],
    ["text", "]}"],
  ]);
});

const HOSTILE = [
  "",
  "<",
  "</",
  "<!",
  "<!--",
  "<?",
  "<a",
  '<a b="',
  "<a b='",
  "<a b=",
  "<a =>",
  "<a / / >",
  "<script>",
  "<script",
  "</script",
  '"',
  '"\\',
  "\\",
  "-",
  "--1",
  "tru",
  '{"a":',
  "\ud800<\udc00",
  "<💡 💡=💡>",
  "<a\n\u2028b>",
];

test("no broken source loses or doubles a character", () => {
  for (const text of [...HOSTILE, ...HOSTILE.flatMap((one) => HOSTILE.map((other) => one + other))]) {
    for (const language of ["html", "json", "plain"] as const) {
      const tokens = tokensOf(text, language);
      const what = `${language}: ${JSON.stringify(text)}`;
      assert.equal(parts(text, language).map(([, part]) => part).join(""), text, what);
      if (text !== "") assert.equal(tokens[0]?.start, 0, what);
      for (const [index, token] of tokens.entries()) {
        const before = tokens[index - 1];
        assert.ok(!before || (token.start > before.start && token.kind !== before.kind), what);
      }
    }
  }
});

test("a hostile source costs no more than its length", () => {
  const pieces = ["<", "<a ", "<!--", "<!", "<script>", "<a b=", '<a "', "= ", '"', '"a" ', "\\", "-", "t", "[", " "];
  const length = 400_000;
  for (const piece of pieces) {
    for (const language of ["html", "json"] as const) {
      const text = piece.repeat(length / piece.length);
      const before = process.cpuUsage();
      tokensOf(text, language);
      const { user } = process.cpuUsage(before); // of this process, however busy the machine is
      assert.ok(user < 3_000_000, `${language} of ${JSON.stringify(piece)}: ${user} µs`); // quadratic: minutes
    }
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { remoteWords, salaryWords } from "@/lib/posting";
import { inLanguage } from "./places";

test("a salary is shown as a span, a limit or one amount", () => {
  const euros = { currency: "EUR", period: "year" };
  assert.equal(salaryWords({ min: 24_000, max: 30_000, ...euros }), "€24,000 to €30,000 a year");
  assert.equal(salaryWords({ min: 24_000, max: 24_000, ...euros }), "€24,000 a year");
  assert.equal(salaryWords({ min: 24_000, max: null, ...euros }), "from €24,000 a year");
  assert.equal(salaryWords({ max: 30_000, ...euros }), "up to €30,000 a year");
  assert.equal(salaryWords({ min: 0, max: 30_000, ...euros }), "€0 to €30,000 a year");
});

test("an hour takes another article", () => {
  assert.equal(salaryWords({ max: 40, currency: "USD", period: "hour" }), "up to $40 an hour");
  assert.equal(salaryWords({ max: 40, currency: "USD", period: "month" }), "up to $40 a month");
});

test("cents are shown where there are some", () => {
  assert.equal(salaryWords({ min: 14.5, currency: "USD" }), "from $14.50");
  assert.equal(salaryWords({ min: 1_000, currency: "JPY" }), "from ¥1,000");
  assert.equal(salaryWords({ min: 100_000, currency: null }), "from 100,000");
});

test("a salary without amounts is what the feed says", () => {
  assert.equal(salaryWords({ text: "competitive", currency: "EUR", period: "year" }), "competitive");
  assert.equal(salaryWords({ text: null }), null);
  assert.equal(salaryWords({}), null);
});

test("no language loses digits of whole amounts", () => {
  for (const language of ["de_DE", "fr_FR", "en_IN", "ja_JP", "pt_BR"]) {
    const said = inLanguage(language, "@/lib/posting", "salaryWords", 'salaryWords({ min: 100000, currency: "EUR" })');
    assert.equal(String(said).replace(/\D/g, ""), "100000", language);
  }
});

test("remote is shown only where it is known", () => {
  assert.equal(remoteWords(true), "remote");
  assert.equal(remoteWords(false), "on site");
  assert.equal(remoteWords(null), null);
});

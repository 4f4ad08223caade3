import assert from "node:assert/strict";
import { test } from "node:test";
import { minutesIn, minutesText, wrongMinutes } from "@/lib/minutes";

test("a number of minutes is read, with a decimal point or comma", () => {
  const rows: [string, number][] = [
    [" 90 ", 90],
    ["1440", 1440],
    ["525600", 525_600],
    ["0.05", 0.05],
    ["0,5", 0.5],
    ["0.125", 0.125],
    ["1.25", 1.25],
    ["1440,500", 1440.5],
  ];
  for (const [text, minutes] of rows) assert.equal(minutesIn(text), minutes, text);
});

test("what may be thousands or decimals is asked about, not guessed", () => {
  for (const text of ["1,440", "1.440", " 525,600 ", "10.080"]) {
    assert.match(wrongMinutes(text) ?? "", /can be read in two ways/, text);
  }
  assert.equal(wrongMinutes("1,440"), '"1,440" can be read in two ways: write 1440 or 1.44.');
});

test("what is no interval is refused with what is possible", () => {
  for (const text of ["", " ", "0", "0.04", "525601", "-5", "1e3", "0x10", "Infinity", "NaN", "1 440", "1,440,000", "5 min"]) {
    assert.equal(wrongMinutes(text), "Enter a number of minutes from 0.05 to 525600.", text);
  }
  assert.equal(wrongMinutes("60"), null);
});

test("a stored interval can be saved as it is shown", () => {
  for (const minutes of [0.05, 1.125, 60, 1440, 1.5]) assert.equal(minutesIn(minutesText(minutes)), minutes);
});

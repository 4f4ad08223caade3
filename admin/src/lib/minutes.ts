// Intervals as they are typed: a number of minutes.

import { messageOf } from "./api";

const LEAST = 0.05;
const MOST = 525_600;
export const MINUTES_HINT = `${LEAST} to ${MOST} (a year)`;

const TWOFOLD = /^[1-9]\d{0,2}[.,]\d{3}$/; // thousands in one country, decimals in another
const NUMBER = /^\d+([.,]\d+)?$/;

/** The interval that is meant. Throws an error that says what is wrong. */
export function minutesIn(text: string): number {
  const typed = text.trim();
  const value = NUMBER.test(typed) ? Number(typed.replace(",", ".")) : NaN;
  if (TWOFOLD.test(typed)) {
    throw new Error(`"${typed}" can be read in two ways: write ${typed.replace(/[.,]/, "")} or ${value}.`);
  }
  if (!(value >= LEAST && value <= MOST)) throw new Error(`Enter a number of minutes from ${LEAST} to ${MOST}.`);
  return value;
}

/** What is wrong with an interval; null: nothing. */
export function wrongMinutes(text: string): string | null {
  try {
    minutesIn(text);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** An interval as it can be typed. */
export function minutesText(minutes: number): string {
  const text = String(minutes);
  return TWOFOLD.test(text) ? `${text}0` : text;
}

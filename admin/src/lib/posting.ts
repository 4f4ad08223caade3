// What a posting says, in words.

import type { Schema } from "./api";
import { money } from "./format";

/** "€24,000 to €30,000 a year", "up to $40 an hour"; or as the feed has it. */
export function salaryWords(salary: Partial<Schema<"Salary">>): string | null {
  const { min, max, currency, period, text } = salary;
  const amount = (value: number) => money(value, currency).replace(/[.,]00(?=\D*$)/, "");
  const has = (value: number | null | undefined): value is number => value !== null && value !== undefined;
  let words: string;
  if (has(min) && has(max)) words = min === max ? amount(min) : `${amount(min)} to ${amount(max)}`;
  else if (has(max)) words = `up to ${amount(max)}`;
  else if (has(min)) words = `from ${amount(min)}`;
  else return text ?? null;
  return period ? `${words} ${period === "hour" ? "an" : "a"} ${period}` : words;
}

export function remoteWords(remote: boolean | null): string | null {
  return remote === null ? null : remote ? "remote" : "on site";
}

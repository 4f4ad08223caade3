import { counted, number } from "@/lib/format";
import type { Rows } from "./types";

export type Total = { count: number; isExact: boolean }; // otherwise there are at least so many

/** What is known of a list's length. A first page without a next one is the whole list, and other lists have at least
 * what the page shows. null: nothing is known. */
export function totalOf<T>({ data, nextCursor, total, totalIsExact = true }: Rows<T>, isFirst: boolean): Total | null {
  if (isFirst && nextCursor === null) return { count: data.length, isExact: true };
  if (total === null || total === undefined) return isFirst ? { count: data.length, isExact: false } : null;
  return { count: Math.max(total, data.length), isExact: totalIsExact };
}

/** "302 watches", "10,000+ watches" */
export function totalWords({ count, isExact }: Total, what: [one: string, many: string]): string {
  if (isExact) return counted(count, ...what);
  return count === 0 ? `No ${what[1]} so far` : `${number(count)}+ ${what[1]}`;
}

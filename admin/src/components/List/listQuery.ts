// A list's search, filters, order, columns and page, as they are in the address: a link or a reload shows the same.

import type { Given } from "@/lib/path";

export type ListQuery = {
  q: string;
  sort: string; // "name", "-name", or empty for the list's own order
  tag: string;
  filters: Record<string, string>;
  columns: string[] | null; // null: those that are shown by default
  cursors: string[]; // of the latest pages (trail.ts); the last is the one shown
};

const LONGEST_SEARCH = 200; // that the API takes

/** `prefix` tells lists of one screen apart; `filters` and `sorts` are the names of the list's own. */
export function listQueryIn(
  address: URLSearchParams,
  prefix: string,
  filters: readonly string[],
  sorts: readonly string[],
): ListQuery {
  const of = (name: string) => (address.get(prefix + name) ?? "").trim();
  return {
    q: of("q").slice(0, LONGEST_SEARCH),
    sort: sorts.includes(of("sort").replace(/^-/, "")) ? of("sort") : "",
    tag: of("tag"),
    filters: Object.fromEntries(filters.map((name) => [name, of(name)])),
    columns: of("columns") ? of("columns").split(",") : null,
    cursors: address.getAll(`${prefix}cursor`).filter(Boolean),
  };
}

/** A change of the address. Everything except another page or other columns starts at the first page again. */
export function givenOf(change: Given, prefix: string): Given {
  const stays = Object.keys(change).every((name) => ["columns", "cursor", "page"].includes(name));
  const given = stays ? change : { ...change, cursor: null, page: null };
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [prefix + name, value]));
}

/** The other direction of a column that is sorted by already. */
export function nextSort(sort: string, by: string): string {
  return sort === by ? `-${by}` : by;
}

export function cleared(asked: ListQuery): Given {
  const filters = Object.fromEntries(Object.keys(asked.filters).map((name) => [name, null]));
  return { ...filters, q: null, tag: null };
}

export function isFiltered({ q, tag, filters }: ListQuery): boolean {
  return Boolean(q || tag || Object.values(filters).some(Boolean));
}

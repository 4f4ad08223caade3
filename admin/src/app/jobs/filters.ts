// What is looked for, as the address has it, and what the API is asked for.

import { api, type Schema } from "@/lib/api";

export const NAMES = ["q", "source", "company", "location", "open", "from", "to"] as const;

export type Filters = Record<(typeof NAMES)[number], string>;
export type Sort = NonNullable<NonNullable<Parameters<typeof api.get<"/api/jobs">>[1]>["query"]>["sort"];

const PER_PAGE = 50;
const MOST_LOOKS = 20; // of one page: under a rare filter the API answers with short ones

export function filtersOf(address: URLSearchParams): Filters {
  return Object.fromEntries(NAMES.map((name) => [name, address.get(name) ?? ""])) as Filters;
}

/** A day of the reader's zone, at its beginning or its end. */
function momentOf(day: string, isEnd: boolean): string | undefined {
  const moment = new Date(`${day}T${isEnd ? "23:59:59.999" : "00:00:00"}`);
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}

/** What the API is asked for by them. */
export function queryOf({ open, from, to, ...texts }: Filters) {
  return {
    ...texts,
    open: open === "" ? undefined : open === "true",
    from: momentOf(from, false),
    to: momentOf(to, true),
  };
}

export async function search(
  filters: Filters,
  sort: Sort,
  cursor: string,
  signal: AbortSignal,
): Promise<Schema<"JobsPage">> {
  const data: Schema<"JobResponse">[] = [];
  let next: string | null = cursor || null;
  let total = 0;
  let totalIsExact = false;
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const page: Schema<"JobsPage"> = await api.get("/api/jobs", {
      query: { ...queryOf(filters), sort, limit: PER_PAGE - data.length, cursor: next },
      signal,
    });
    data.push(...page.data);
    next = page.nextCursor;
    ({ total, totalIsExact } = page);
    if (next === null || data.length >= PER_PAGE) break;
  }
  return { data, nextCursor: next, total, totalIsExact };
}

"use client";

import { startTransition, useOptimistic } from "react";
import { Badge, StatusBadge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { FilterInput } from "@/components/FilterInput";
import { Field, Select } from "@/components/Form";
import { To, UrlText } from "@/components/Links";
import { Empty } from "@/components/States";
import { Table, Td, Th } from "@/components/Table";
import { Time } from "@/components/Time";
import { api } from "@/lib/api";
import { shortUrl } from "@/lib/format";
import { kindOf, PAGE_TYPES, pagePath, price, short, watchPath, type Page } from "@/lib/watch";

const MOST_TRIES = 5; // a page of a rare search can be empty although there are more

/** How the last check of a page went. What is there for the first time has not changed. */
export function Outcome({ page: { lastOutcome, version } }: { page: Page }) {
  if (lastOutcome === "changed" && version === 1) return <Badge tone="busy">new</Badge>;
  return lastOutcome && <StatusBadge status={lastOutcome} />;
}

/** What is known of pages. `watchNames` is given where they are of several watches. */
export function PagesTable({ pages, watchNames }: { pages: Page[]; watchNames?: Map<string, string> }) {
  return (
    <Table label="Pages">
      <thead>
        <tr>
          <Th>Page</Th>
          <Th isNumber>Price</Th>
          <Th>Availability</Th>
          <Th>Kind</Th>
          <Th>Last check</Th>
          <Th isNumber>Version</Th>
        </tr>
      </thead>
      <tbody>
        {pages.map((page) => (
          <tr key={`${page.jobId}\n${page.url}`}>
            <Td className="max-w-96 min-w-48">
              <To href={pagePath(page.jobId, page.url)} className="wrap-anywhere">
                {short(page.title || shortUrl(page.url))}
              </To>
              {page.title && (
                <div className="text-sm text-soft wrap-anywhere">
                  <UrlText url={short(shortUrl(page.url))} />
                </div>
              )}
              {watchNames && (
                <div className="text-sm wrap-anywhere">
                  <To href={watchPath(page.jobId)} className="inline-block min-h-6">
                    {watchNames.get(page.jobId) ?? page.jobId}
                  </To>
                </div>
              )}
            </Td>
            <Td isNumber>
              {price(page.price, page.currency)}
              {page.listPrice !== null && (
                <div className="text-sm text-soft">
                  <span className="sr-only">instead of </span>
                  <s>{price(page.listPrice, page.currency)}</s>
                </div>
              )}
            </Td>
            <Td>{page.availability ? <StatusBadge status={page.availability} /> : "–"}</Td>
            <Td className="min-w-32 wrap-anywhere">
              {short(kindOf(page.classification)?.type.replaceAll("_", " ") ?? "–", 40)}
            </Td>
            <Td className="min-w-56">
              <Time at={page.lastChecked} ago /> <Outcome page={page} />
              {page.lastError && <div className="text-sm text-bad wrap-anywhere">{page.lastError}</div>}
            </Td>
            <Td isNumber>{page.version ?? "–"}</Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

type Query = NonNullable<Parameters<typeof api.get<"/api/watch/pages">>[1]>["query"];

export async function loadPages(query: Query, signal: AbortSignal) {
  let found = await api.get("/api/watch/pages", { query, signal });
  for (let tries = 1; found.data.length === 0 && found.nextCursor !== null && tries < MOST_TRIES; tries += 1) {
    found = await api.get("/api/watch/pages", { query: { ...query, cursor: found.nextCursor }, signal });
  }
  return found;
}

export function NoPages({ isSearched, hasMore }: { isSearched: boolean; hasMore: boolean }) {
  if (hasMore) return <Empty title="Nothing found so far">There is more to search on the next page.</Empty>;
  return isSearched ? (
    <Empty title="No matching pages">Clear the search to see all pages.</Empty>
  ) : (
    <Empty title="No pages yet">Pages appear after their first check, or when another program sends them.</Empty>
  );
}

export type Search = { q: string; type: string; outcome: string };

/** The search for pages; what is typed is looked for when the typing pauses. */
export function PageSearch({
  search: asked,
  onSearch: onAsk,
}: {
  search: Search;
  onSearch: (change: Partial<Search>) => void;
}) {
  const [search, setSearch] = useOptimistic(asked); // the address follows a moment later
  const onSearch = (change: Partial<Search>) =>
    startTransition(() => {
      setSearch({ ...search, ...change });
      onAsk(change);
    });
  return (
    <form
      role="search"
      aria-label="Pages"
      className="mb-4 grid grid-cols-1 items-end gap-3 sm:grid-cols-[2fr_1fr_1fr_auto]"
      onSubmit={(event) => event.preventDefault()}
    >
      <Field label="Search URL and title">
        <FilterInput maxLength={200} value={asked.q} onFilter={(q) => onSearch({ q })} />
      </Field>
      <Field label="Kind">
        <Select value={search.type} onChange={(event) => onSearch({ type: event.target.value })}>
          <option value="">Any</option>
          {PAGE_TYPES.map((type) => (
            <option key={type} value={type}>
              {type.replaceAll("_", " ")}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="Last check">
        <Select value={search.outcome} onChange={(event) => onSearch({ outcome: event.target.value })}>
          <option value="">Any</option>
          <option value="changed">Changed</option>
          <option value="unchanged">Unchanged</option>
          <option value="failed">Failed</option>
        </Select>
      </Field>
      <Button
        onClick={() => onSearch({ q: "", type: "", outcome: "" })}
        disabled={!(search.q || search.type || search.outcome)}
      >
        Clear
      </Button>
    </form>
  );
}

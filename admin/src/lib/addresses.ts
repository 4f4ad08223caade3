// What Webloom finds at an address, in words, and what it can do with it.

import { api, ApiError, type Schema } from "./api";
import { counted, money } from "./format";
import { runAddress, runsOf } from "./importLogs";

export type Seen = Schema<"RecognisedAddress">;

/** One sentence, for eyes and for screen readers. */
export function summary(seen: Seen): string {
  const { feed, page } = seen;
  if (feed) {
    const items = `${counted(feed.items, "item")}${feed.isWhole ? "" : " and more"}`;
    return `A feed (${feed.format}) with ${items}.`;
  }
  if (!page) return "This is neither a feed nor a page that can be read.";
  const said = [whatPage(seen.kind, page), priceOf(page), stockOf(page)].filter(Boolean).join(", ");
  const feeds = page.feeds.length > 0 ? ` It offers ${counted(page.feeds.length, "feed")}.` : "";
  return `${said}.${feeds}`;
}

function whatPage(kind: Seen["kind"], page: Schema<"RecognisedPage">): string {
  if (kind === "other") return "A text, not a web page";
  const { type } = page.classification;
  if (type === "other") return "A web page";
  return `A web page (${type.replaceAll("_", " ")})`;
}

function priceOf({ price }: Schema<"RecognisedPage">): string | null {
  return price && `price ${money(Number(price.current), price.currency)}`;
}

function stockOf({ availability }: Schema<"RecognisedPage">): string | null {
  return availability === "unknown" ? null : availability.replaceAll("_", " ");
}

// Each returns the page of the admin UI that shows what follows.

export async function fetchOnce(url: string): Promise<string> {
  const submitted = await api.post("/metadata", { body: { url } });
  return recordPath(submitted.url);
}

export async function importFeed(url: string, name: string): Promise<string> {
  const body = { url, name: name || undefined };
  const feed = await api.post("/api/feeds", { body }).catch(unless409({ url }));
  const [run] = await runsOf(api.post("/api/import/run", { body: { sourceUrl: feed.url } }));
  return run ? runAddress(run.runId) : "/import-history";
}

export async function watchPage(url: string, name: string): Promise<string> {
  const watch = await api.post("/api/watches", { body: { url, name: name || undefined } });
  const path = { jobId: watch.jobId };
  await api.post("/api/watches/{jobId}/run", { path }).catch(unless409(null)); // the scheduler may be first
  return `/watch/${watch.jobId}`;
}

export function recordPath(url: string): string {
  return `/inventory/record?${new URLSearchParams({ url })}`;
}

/** Not an error: it exists or is running already. */
function unless409<T>(instead: T) {
  return (error: unknown): T => {
    if (error instanceof ApiError && error.status === 409) return instead;
    throw error;
  };
}

import { pageKey, type PageNames } from "@/components/Changes";
import { api } from "@/lib/api";
import type { Change } from "@/lib/watch";

const PAGES = 100; // the latest updated: those of the latest changes are among them

export type ChangesSeen = { changes: Change[]; pages: PageNames; nextCursor: string | null };

/** Title and currency of the latest pages. */
export async function loadPageNames(query: { jobId?: string }, signal: AbortSignal): Promise<PageNames> {
  const latest = await api.get("/api/watch/pages", { query: { jobId: query.jobId, limit: PAGES }, signal });
  return new Map(latest.data.map((page) => [pageKey(page), page]));
}

/** Change logs, with title and currency of their pages, where those are among the latest. */
export async function loadChanges(
  query: { jobId?: string; limit: number; cursor?: string },
  signal: AbortSignal,
): Promise<ChangesSeen> {
  const [logs, pages] = await Promise.all([
    api.get("/api/watch/pages/changes", { query, signal }),
    loadPageNames(query, signal),
  ]);
  return { changes: logs.data, pages, nextCursor: logs.nextCursor };
}

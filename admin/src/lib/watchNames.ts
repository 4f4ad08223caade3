// Pages and changes have the id of their watch; a reader knows it by its name.

import { api } from "./api";
import { useResource } from "./resource";
import { useSteady } from "./steady";
import type { Watch } from "./watch";

/** The names of the listed watches, and of the others with these ids. An id without a name is that of a watch that was
 * removed, or of pages that another program sent. */
export function useWatchNames(listed: Watch[] | undefined, ids: string[]): Map<string, string> {
  const known = new Set(listed?.map(({ jobId }) => jobId));
  const jobId = listed ? [...new Set(ids)].filter((id) => !known.has(id)).sort() : [];
  const others = useSteady(
    useResource(jobId.length > 0 ? JSON.stringify(jobId) : null, (signal) =>
      api.get("/api/watches", { query: { jobId }, signal }),
    ),
  );
  const named = [...(others.data?.data ?? []), ...(listed ?? [])];
  return new Map(named.map((watch) => [watch.jobId, watch.name]));
}

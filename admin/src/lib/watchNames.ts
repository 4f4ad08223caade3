// Pages and changes have the id of their watch; a reader knows it by its name.

import { api } from "./api";
import { useResource } from "./resource";
import { useSteady } from "./steady";

/** The names of the watches with these ids. An id without a name is that of a watch that was removed, or of pages that
 * another program sent. */
export function useWatchNames(ids: string[]): Map<string, string> {
  const jobId = [...new Set(ids)].sort();
  const named = useSteady(
    useResource(jobId.length > 0 ? JSON.stringify(jobId) : null, (signal) =>
      api.get("/api/watches", { query: { jobId }, signal }),
    ),
  );
  return new Map(named.data?.data.map((watch) => [watch.jobId, watch.name]));
}

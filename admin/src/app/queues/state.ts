// Every queue's depth and rate, live.

import { api, type Schema } from "@/lib/api";
import { useEvents } from "@/lib/live";
import { useResource, type Resource } from "@/lib/resource";

export type QueueState = Schema<"QueueState">;

export function useQueues(): Resource<Schema<"QueuesPage">> {
  const queues = useResource("queues", (signal) => api.get("/api/queues", { signal }));
  useEvents("/api/live?topics=queues", ({ event, data }) => {
    if (event === "queues") queues.show(data as Schema<"QueuesPage">);
  });
  return queues;
}

const PURPOSES = new Map([
  ["metadata_queue", "URLs to fetch for the inventory"],
  ["import-feed", "Batches of job postings to store"],
  ["watch-pages", "Watched pages to check"],
]);

export function purposeOf(queue: string): string {
  return PURPOSES.get(queue) ?? "Changes on watched pages, to be stored"; // its name is a setting
}

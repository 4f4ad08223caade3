// Answers of the API as they usually are; a test changes what it is about.

import type { Schema } from "@/lib/api";
import type { ImportLog } from "@/lib/importLogs";
import type { Run, Watch } from "@/lib/watch";

type Changes<T extends { meta: unknown }> = Partial<Omit<T, "meta">> & { meta?: Partial<T["meta"]> };

export function importLog({ meta, ...changes }: Changes<ImportLog> = {}): ImportLog {
  return {
    runId: "run-1",
    feedId: "feed-1",
    sourceUrl: "https://jobs.test/rss",
    sourceName: "Jobs",
    fileName: "https://jobs.test/rss",
    status: "completed",
    trigger: "schedule",
    startedAt: "2026-03-05T12:00:00Z",
    updatedAt: "2026-03-05T12:00:05Z",
    finishedAt: "2026-03-05T12:00:05Z",
    totalFetched: 0,
    totalImported: 0,
    newJobs: 0,
    updatedJobs: 0,
    unchangedJobs: 0,
    duplicateJobs: 0,
    failedJobs: 0,
    closedJobs: 0,
    repaired: 0,
    failureReasons: {},
    error: null,
    retryOf: null,
    cancelRequested: false,
    ...changes,
    meta: {
      batchSize: 100,
      concurrency: 4,
      totalBatches: null,
      processedBatches: 0,
      durationMs: null,
      phase: "finished",
      bytesRead: 0,
      bytesTotal: null,
      format: "rss",
      contentHash: null,
      notModified: false,
      repairs: {},
      ...meta,
    },
  };
}

export function feed(changes: Partial<Schema<"FeedResponse">> = {}): Schema<"FeedResponse"> {
  return {
    feedId: "feed-1",
    url: "https://jobs.test/rss",
    sourceUrl: "https://jobs.test/rss",
    name: "Jobs",
    tags: [],
    format: "rss",
    intervalMinutes: 60,
    enabled: true,
    mapping: {},
    closeMissing: false,
    createdAt: "2026-03-01T00:00:00Z",
    updatedAt: "2026-03-01T00:00:00Z",
    nextRunAt: null,
    activeRunId: null,
    lastRunId: null,
    lastRunAt: null,
    lastStatus: null,
    lastError: null,
    consecutiveFailures: 0,
    ...changes,
  };
}

export function watch(changes: Partial<Watch> = {}): Watch {
  return {
    jobId: "watch-1",
    name: "Lamps",
    tags: [],
    urls: ["https://shop.test/lamp"],
    schedule: { everyMinutes: 60, cron: null, timeZone: "UTC" },
    enabled: true,
    selection: { keep: [], drop: [], ignoreText: [], ignorePattern: [], sortLines: false, uniqueLines: false },
    thresholds: { textContains: [], priceBelow: null, priceChangePercent: null },
    targets: [],
    acceptsEvents: false,
    createdAt: "2026-03-01T00:00:00Z",
    updatedAt: "2026-03-01T00:00:00Z",
    nextRunAt: null,
    activeRunId: null,
    lastRunId: null,
    lastRunAt: null,
    lastStatus: null,
    lastError: null,
    consecutiveFailures: 0,
    external: false,
    pagesProcessed: 0,
    changesDetected: 0,
    priceChangesDetected: 0,
    ...changes,
  };
}

export function watchRun(changes: Partial<Run> = {}): Run {
  return {
    runId: "run-1",
    jobId: "watch-1",
    status: "completed",
    trigger: "schedule",
    startedAt: "2026-03-05T12:00:00Z",
    finishedAt: "2026-03-05T12:00:05Z",
    lastRunAt: "2026-03-05T12:00:05Z",
    runDuration: 5000,
    pagesTotal: 1,
    pagesProcessed: 1,
    pagesFailed: 0,
    changesDetected: 0,
    priceChangesDetected: 0,
    failures: [],
    ...changes,
  };
}

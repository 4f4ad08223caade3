// The progress of an import.

import { bytes, counted, number } from "./format";
import type { ImportLog } from "./importLogs";

const PHASES: Record<ImportLog["meta"]["phase"], string> = {
  waiting: "Waiting to start",
  fetching: "Fetching the feed",
  reading: "Reading the feed",
  storing: "Storing postings",
  closing: "Closing postings that left the feed",
  finished: "Finished",
};

/** A run's progress: in batches once their number is known, before that in bytes of the feed. */
export function progressOf(run: ImportLog): { part: number | null; words: string; phase: string } {
  const { totalBatches, processedBatches, bytesRead, bytesTotal, phase } = run.meta;
  const isRunning = run.status === "running";
  const stored = `${number(processedBatches)} of ${counted(totalBatches ?? 0, "batch", "batches")} stored`;
  if (totalBatches) return { part: processedBatches / totalBatches, words: stored, phase: PHASES[phase] };
  if (totalBatches === 0) {
    const isFailed = run.status === "failed";
    return {
      part: isRunning ? null : isFailed ? 0 : 1,
      words: isFailed ? "nothing was stored" : "no batches to store",
      phase: PHASES[phase],
    };
  }
  const batches = processedBatches > 0 ? `, ${counted(processedBatches, "batch", "batches")} stored` : "";
  const isBegun = bytesRead > 0 || processedBatches > 0;
  const size = bytesTotal ? `${bytes(bytesRead)} of ${bytes(bytesTotal)}` : bytes(bytesRead);
  return {
    part: bytesTotal || !isRunning ? Math.min(1, bytesRead / (bytesTotal || Infinity)) : null,
    words: isBegun ? `${size} read${batches}` : isRunning ? "nothing read yet" : "nothing was read",
    phase: PHASES[phase],
  };
}

/** Rounded down: it is 100 % only at the end. */
export function percent(part: number): string {
  return `${Math.floor(part * 100 + 1e-9)} %`; // 0.29 * 100 is a little less than 29
}

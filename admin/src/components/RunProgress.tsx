import { bytes, counted, number } from "@/lib/format";
import type { ImportLog } from "@/lib/importLogs";

const PHASES: Record<ImportLog["meta"]["phase"], string> = {
  waiting: "Waiting to start",
  fetching: "Fetching the feed",
  reading: "Reading the feed",
  storing: "Storing what was read",
  closing: "Closing postings that left the feed",
  finished: "Finished",
};

/** How far a run is: in batches once their number is known, before that in bytes of the feed. */
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

export function percent(part: number): string {
  return `${Math.floor(part * 100)} %`;
}

/** A bar that says in words what it means. */
export function RunProgress({ run, className = "" }: { run: ImportLog; className?: string }) {
  const { part, words, phase } = progressOf(run);
  return (
    <progress
      className={`block w-full ${part === null ? "animate-pulse" : ""} ${className}`}
      aria-label={`${phase}: ${words}`}
      {...(part === null ? {} : { value: part, max: 1 })}
    />
  );
}

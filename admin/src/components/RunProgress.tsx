import type { ImportLog } from "@/lib/importLogs";
import { progressOf } from "@/lib/progress";

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

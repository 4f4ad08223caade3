import { Badge, StatusBadge } from "@/components/Badge";
import type { Run, Watch } from "@/lib/watch";

/** A watch's state, and the progress of a check. */
export function WatchState({ watch, active }: { watch: Watch; active: Run | undefined }) {
  return (
    <span className="flex flex-wrap items-center gap-2">
      {watch.external ? <Badge>external</Badge> : !watch.enabled && <Badge>paused</Badge>}
      {watch.lastStatus !== null && <StatusBadge status={watch.lastStatus} />}
      {watch.activeRunId !== null && (
        <Badge tone="busy">
          checking{active?.pagesTotal ? ` ${active.pagesProcessed} of ${active.pagesTotal}` : ""}
        </Badge>
      )}
    </span>
  );
}

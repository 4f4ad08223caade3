"use client";

import { Button } from "@/components/Button";
import { To } from "@/components/Links";
import { NO_LISTS, NO_ACTIONS, progressWords, shown, stop, runningActions } from "@/components/List/runningActions";
import { useFollowed } from "@/lib/store";

/** Bulk actions that go on although their list is not on the screen. */
export function RunningActions() {
  const onScreen = useFollowed(shown, NO_LISTS);
  const all = useFollowed(runningActions, NO_ACTIONS);
  return all.map(({ list, href, name, what, progress }) => {
    if (progress === null || onScreen.has(list)) return null;
    return (
      <section key={list} aria-label={`${name}, in progress`} className="rounded-lg border border-line bg-card p-3 text-sm shadow-card">
        <p className="tabular-nums">
          {name}: {progressWords(progress, what)}
        </p>
        <progress aria-label="Done" className="my-2 block w-full" value={progress.done} max={Math.max(progress.total, 1)} />
        <div className="flex items-center justify-between gap-2">
          <To href={href}>Back to the list</To>
          <Button onClick={() => stop(list)}>Stop</Button>
        </div>
      </section>
    );
  });
}

import { useEffect, useEffectEvent } from "react";
import type { Outcome, Progress } from "@/lib/bulk";
import { useFollowed } from "@/lib/store";
import { begin, dismiss, NO_ACTIONS, show, stop, runningActions, type Act } from "./runningActions";

export type Bulk = {
  progress: Progress | null; // of the action that is running
  failed: Outcome | null; // the last action, if some of it failed or was skipped
  run: (act: Act, body: object) => void;
  stop: () => void;
  dismiss: () => void;
};

/** The actions of a list that is on the screen, also of one that was begun before it was left. */
export function useBulk(
  list: string,
  path: string,
  what: [one: string, many: string],
  onEnd: (outcome: Outcome | null) => void,
): Bulk {
  const action = useFollowed(runningActions, NO_ACTIONS).find((each) => each.list === list);
  const heard = useEffectEvent(onEnd);
  useEffect(() => show(list, (outcome) => heard(outcome)), [list]);
  return {
    progress: action?.progress ?? null,
    failed: action?.failed ?? null,
    run: (act, body) => {
      const { pathname, search } = window.location;
      begin({ list, href: pathname + search, path, what }, act, body);
    },
    stop: () => stop(list),
    dismiss: () => dismiss(list),
  };
}

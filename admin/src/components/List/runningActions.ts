// Bulk actions of this tab. They go on, and what failed stays to be seen, while other screens are shown.

import { say, sayError } from "@/components/Toasts";
import { AT_ONCE, bulk, succeeded, type Outcome, type Progress } from "@/lib/bulk";
import { counted, number } from "@/lib/format";
import { Followed } from "@/lib/store";
import { keepTabOpen } from "@/lib/tab";

type What = [one: string, many: string];

/** A list, and what an action of it is about. */
export type Place = {
  list: string; // identifies it
  href: string; // of its screen, as it was
  path: string; // of the API
  what: What;
};

export type RunningAction = Place & {
  name: string; // of the action
  progress: Progress | null; // null: it has ended
  failed: Outcome | null; // what it ended with, if some of it failed or was skipped
};

export type Act = { name: string; done: string }; // "Pause", "paused"
type OnEnd = (outcome: Outcome | null) => void; // null: it was refused

export const NO_ACTIONS: readonly RunningAction[] = [];
export const NO_LISTS: ReadonlySet<string> = new Set();

/** The latest of each list. */
export const runningActions = new Followed(NO_ACTIONS);
/** The lists on the screen. */
export const shown = new Followed(NO_LISTS);

const listeners = new Map<string, OnEnd>();
const aborts = new Map<string, AbortController>(); // of what is running
const ends = new Map<string, Promise<void>>(); // of the last action that was begun

/** The list is on the screen until what is returned is called, and hears of the end of its actions. */
export function show(list: string, onEnd: OnEnd): () => void {
  listeners.set(list, onEnd);
  shown.set(new Set([...shown.get(), list]));
  return () => {
    if (listeners.get(list) !== onEnd) return; // it is shown again already
    listeners.delete(list);
    shown.set(new Set([...shown.get()].filter((each) => each !== list)));
  };
}

/** One action of a list at a time: another one begins when that has ended. */
export function begin(place: Place, act: Act, body: object) {
  const { list } = place;
  const before = ends.get(list);
  const start = () => run(place, act, body);
  const end = (before ? before.then(start) : start()).finally(() => {
    if (ends.get(list) === end) ends.delete(list);
  });
  ends.set(list, end);
}

/** What is done already stays. */
export function stop(list: string) {
  aborts.get(list)?.abort();
}

/** Nobody needs to see its failures any more. */
export function dismiss(list: string) {
  runningActions.set(runningActions.get().filter((action) => action.list !== list));
}

function note(action: RunningAction) {
  runningActions.set([...runningActions.get().filter(({ list }) => list !== action.list), action]);
}

async function run(place: Place, act: Act, body: object) {
  const { list, path } = place;
  const abort = new AbortController();
  aborts.set(list, abort);
  const release = keepTabOpen();
  const onProgress = (progress: Progress) => note({ ...place, name: act.name, progress, failed: null });
  onProgress({ done: 0, total: 0 });
  let outcome: Outcome | null = null;
  try {
    outcome = await bulk(path, body, onProgress, abort.signal);
  } catch (error) {
    sayError(error);
  }
  release();
  aborts.delete(list);
  dismiss(list);
  if (outcome !== null) report(place, act, outcome);
  listeners.get(list)?.(outcome);
}

/** The list shows what failed; of one that is not on the screen that is said too, with a link to it. */
function report(place: Place, act: Act, outcome: Outcome) {
  const { list, href, what } = place;
  const missed = missedWords(outcome);
  if (missed) note({ ...place, name: act.name, progress: null, failed: outcome });
  const to = shown.get().has(list) ? undefined : href;
  if (outcome.end === "done" && succeeded(outcome) === 0 && missed && !to) return;
  const items = outcome.before ?? [];
  const undo = items.length > 0 ? () => undoLater(place, items) : undefined;
  const text = endWords(outcome, what, act.done);
  say(to && missed ? `${text} ${missed}.` : text, { undo, to, isBad: outcome.end === "lost" });
}

function undoLater(place: Place, items: unknown[]) {
  if (ends.has(place.list)) say("Another action is running. It will be undone after that.");
  begin(place, { name: "Undo", done: "as before" }, { action: "restore", items });
}

/** "2 failures, 1 skipped" */
export function missedWords({ failed, skipped }: Outcome): string {
  const counts = [failed > 0 && counted(failed, "failure"), skipped > 0 && `${number(skipped)} skipped`];
  return counts.filter(Boolean).join(", ");
}

/** What has come of it, in a sentence or two. */
function endWords(outcome: Outcome, what: What, done: string): string {
  const count = counted(succeeded(outcome), ...what);
  if (outcome.end === "done") return `${count} ${done}.`;
  const how = outcome.end === "stopped" ? "Stopped" : "The connection was lost";
  if (outcome.total === 0) return `${how}. Up to ${AT_ONCE} ${what[1]} may be ${done}.`;
  const rest = Math.min(AT_ONCE, outcome.total - outcome.done);
  const more = rest > 0 ? ` Up to ${number(rest)} more may be.` : "";
  return `${how} after ${number(outcome.done)} of ${counted(outcome.total, ...what)}: ${number(succeeded(outcome))} ${done}.${more}`;
}

/** "1,200 of 10,000 watches" */
export function progressWords({ done, total }: Progress, what?: What): string {
  if (total === 0) return "Starting";
  return `${number(done)} of ${what ? counted(total, ...what) : number(total)}`;
}

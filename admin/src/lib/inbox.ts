// The inbox: how many changes wait, and what is decided about them. Everyone who uses this installation shares it.

import { useEffect } from "react";
import { api, type Schema } from "./api";
import { useResource } from "./resource";
import { Followed, useFollowed } from "./store";

export type Entry = Schema<"EntryResponse">;
export type InboxState = Schema<"InboxState">;
export type Counts = Schema<"InboxCounts">;
/** What somebody decides; `until` only with snoozed. */
export type Decision = { state: "unread" | "done" | "snoozed"; until?: string };

const EVERY_MS = 10_000;
const latest = new Followed<Counts | null>(null);
const asked = new Followed(0); // how often the counts were asked for

/** Null until they are known. */
export function useInboxCounts(): Counts | null {
  return useFollowed(latest, null);
}

export function countAgain() {
  asked.set(asked.get() + 1);
}

/** Counts again and again, for `useInboxCounts`: once in the document. */
export function useCounting(isOff: boolean) {
  const times = useFollowed(asked, 0);
  const { data, reload } = useResource(isOff ? null : "inbox", (signal) => api.get("/api/changes/counts", { signal }), {
    everyMs: EVERY_MS,
  });
  useEffect(() => {
    if (times > 0) reload();
  }, [times, reload]);
  useEffect(() => {
    if (data) latest.set(data);
  }, [data]);
}

export async function decide(ids: string[], decision: Decision) {
  await api.post("/api/changes/state", { body: { ids, ...decision } });
}

export async function mutePage({ jobId, url }: Pick<Entry, "jobId" | "url">, isMuted: boolean) {
  await api.post("/api/changes/mute", { body: { jobId, url, isMuted } });
}

/** What gives an entry its present state again. A muted one can't be muted by itself: its page is. */
export function undoOf({ state, snoozedUntil }: Entry): Decision | null {
  if (state === "muted") return null;
  return state === "snoozed" ? { state, until: snoozedUntil ?? undefined } : { state };
}

const MORNING = 9; // o'clock

/** Until when an entry can be snoozed, by the reader's clock. */
export function snoozes(now: Date): { name: string; until: Date }[] {
  const morning = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING);
  const toMonday = (8 - now.getDay()) % 7 || 7;
  return [
    { name: "For an hour", until: new Date(now.getTime() + 3_600_000) },
    { name: "Until tomorrow, 9:00", until: morning(1) },
    { name: "Until Monday, 9:00", until: morning(toMonday) },
  ];
}

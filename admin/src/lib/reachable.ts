// Whether the API answers. While it does not, it is asked until it does.

import { apiAddress } from "./config";
import { Followed, useFollowed } from "./store";

const RETRY_MS = 1500;
const answers = new Followed(true);
let asking: ReturnType<typeof setTimeout> | undefined;

export function noteAnswered() {
  if (asking !== undefined) clearTimeout(asking);
  asking = undefined;
  answers.set(true);
}

export function noteUnreachable() {
  answers.set(false);
  asking ??= setTimeout(ask, RETRY_MS);
}

async function ask() {
  asking = undefined;
  try {
    await fetch(apiAddress("/health/live"), { cache: "no-store" });
  } catch {
    noteUnreachable();
    return;
  }
  noteAnswered();
}

export function useReachable(): boolean {
  return useFollowed(answers, true);
}

/** Calls back each time the API answers again after it was away. */
export function onReachable(callback: () => void): () => void {
  return answers.subscribe(() => {
    if (answers.get()) callback();
  });
}

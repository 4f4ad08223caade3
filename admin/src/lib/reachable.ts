// Whether the API responds. While it doesn't, it is asked until it does.

import { apiAddress } from "./config";
import { Followed, useFollowed } from "./store";

const RETRY_MS = 1500;
const away = new Followed<number | null>(null); // since when it does not respond
let asking: ReturnType<typeof setTimeout> | undefined;

export function noteAnswered() {
  if (asking !== undefined) clearTimeout(asking);
  asking = undefined;
  away.set(null);
}

export function noteUnreachable() {
  away.set(away.get() ?? Date.now());
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

/** Since when the API has not responded; null while it does. */
export function useAwaySince(): number | null {
  return useFollowed(away, null);
}

/** Calls back each time the API answers again after it was away. */
export function onReachable(callback: () => void): () => void {
  return away.subscribe(() => {
    if (away.get() === null) callback();
  });
}

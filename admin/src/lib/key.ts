// The API key, kept for as long as the browser's tab is open.

import { Followed, useFollowed } from "./store";

const NAME = "webloom-key";
const wanted = new Followed(false);

export function currentKey(): string | null {
  return typeof window === "undefined" ? null : window.sessionStorage.getItem(NAME);
}

export function noteKeyWanted() {
  wanted.set(true);
}

export function keepKey(key: string) {
  window.sessionStorage.setItem(NAME, key);
  window.location.reload();
}

export function useKeyWanted(): boolean {
  return useFollowed(wanted, false);
}

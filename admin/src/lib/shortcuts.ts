// Keys that lead somewhere. Single letters can be turned off: people who speak to their computer would press them.

import { useEffect, useEffectEvent } from "react";
import { Followed, useFollowed } from "./store";

const NAME = "webloom-shortcuts-off";
const WAIT_MS = 1500; // for the second key
const isOn = new Followed(true);

if (typeof window !== "undefined") {
  try {
    isOn.set(window.localStorage.getItem(NAME) === null);
  } catch {
    // A browser that keeps nothing for this site.
  }
}

export const PLACES = new Map([
  ["o", { href: "/", name: "Overview" }],
  ["c", { href: "/inbox", name: "Inbox" }],
  ["h", { href: "/import-history", name: "Import history" }],
  ["f", { href: "/feeds", name: "Feeds" }],
  ["j", { href: "/jobs", name: "Postings" }],
  ["i", { href: "/inventory", name: "Inventory" }],
  ["w", { href: "/watch", name: "Watch" }],
  ["q", { href: "/queues", name: "Queues" }],
  ["s", { href: "/system", name: "System" }],
]);

export type Action = { kind: "go"; href: string } | { kind: "search" } | { kind: "help" } | { kind: "page"; key: string };

/** Reads keys one by one: `g` waits for a second one. */
export class Keys {
  private startedAt = -Infinity;

  read(key: string, at: number): Action | null {
    const isSecond = at - this.startedAt < WAIT_MS;
    this.startedAt = -Infinity;
    const place = isSecond ? PLACES.get(key) : undefined;
    if (place) return { kind: "go", href: place.href };
    if (key === "g") this.startedAt = at;
    if (key === "/") return { kind: "search" };
    if (key === "?") return { kind: "help" };
    return isSecond || key === "g" ? null : { kind: "page", key };
  }
}

/** A key that the page shown gives a meaning. */
export type PageKey = { key: string; name: string; run: () => void };

const NO_KEYS: readonly PageKey[] = [];
const ofPage = new Followed(NO_KEYS);

/** They hold as long as the component is shown. */
export function usePageKeys(keys: PageKey[]) {
  const run = useEffectEvent((key: string) => keys.find((each) => each.key === key)?.run());
  const names = JSON.stringify(keys.map(({ key, name }) => ({ key, name })));
  useEffect(() => {
    const named = JSON.parse(names) as Omit<PageKey, "run">[];
    ofPage.set(named.map(({ key, name }) => ({ key, name, run: () => run(key) })));
    return () => ofPage.set(NO_KEYS);
  }, [names]);
}

export function usePageKeysShown(): readonly PageKey[] {
  return useFollowed(ofPage, NO_KEYS);
}

/** Whether the page has such a key. */
export function runPageKey(key: string): boolean {
  const found = ofPage.get().find((each) => each.key === key);
  found?.run();
  return found !== undefined;
}

export function turnShortcuts(on: boolean) {
  try {
    if (on) window.localStorage.removeItem(NAME);
    else window.localStorage.setItem(NAME, "1");
  } catch {
    // It holds until the page is left.
  }
  isOn.set(on);
}

export function useShortcutsOn(): boolean {
  return useFollowed(isOn, true);
}

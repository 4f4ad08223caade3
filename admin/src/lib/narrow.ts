// Whether the screen is a phone's or a tablet's, where that changes more than a style can.

import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 1023px)"; // below Tailwind's lg

function subscribe(listener: () => void) {
  const query = window.matchMedia(NARROW);
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
}

export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => window.matchMedia(NARROW).matches, () => false);
}

// An address with #part shows that part of a page once the page is loaded.

import { useEffect, useRef } from "react";

/** `isSettled`: the part, and everything above it, is there. */
export function useLanding(id: string, isSettled: boolean) {
  const isDone = useRef(false);
  useEffect(() => {
    if (isDone.current || !isSettled) return;
    isDone.current = true;
    if (window.location.hash !== `#${id}`) return;
    headingOf(id)?.focus({ preventScroll: true });
    document.getElementById(id)?.scrollIntoView();
  }, [id, isSettled]);
}

/** Scrolls to a part of the page, unless its heading is already on the screen. */
export function reveal(id: string) {
  const part = document.getElementById(id);
  const heading = headingOf(id);
  if (!part || !heading) return;
  const { top, bottom } = heading.getBoundingClientRect();
  const edge = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  if (top >= edge && bottom <= window.innerHeight) return;
  part.scrollIntoView();
  heading.focus({ preventScroll: true });
}

function headingOf(id: string): HTMLElement | null {
  return document.getElementById(id)?.querySelector("h2") ?? null;
}

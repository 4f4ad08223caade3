// Edits that are not saved: before they are lost, there is a question.

import { useEffect } from "react";
import { Followed } from "./store";

type Go = () => void;

const unsaved = new Set<object>(); // one for each form that holds edits
let isLeaving = false; // the question is not asked twice

/** What waits for the answer to the question. */
export const waiting = new Followed<Go | null>(null);

/** `saved` is what the form began with, or was saved with last. Returns `onClose` with the question before it, for a
 * form in a dialog: that one asks about the form's own edits only. */
export function useUnsaved<T>(now: T, saved: T, onClose: Go = () => {}): Go {
  const isUnsaved = now !== saved && JSON.stringify(now) !== JSON.stringify(saved);
  useEffect(() => {
    if (!isUnsaved) return;
    const form = {};
    unsaved.add(form);
    isLeaving = false;
    return () => {
      unsaved.delete(form);
    };
  }, [isUnsaved]);
  return () => {
    if (isUnsaved) waiting.set(onClose);
    else onClose();
  };
}

export function hasUnsaved(): boolean {
  return unsaved.size > 0 && !isLeaving;
}

/** Goes to another page, once that is all right. */
export function leave(go: Go) {
  if (hasUnsaved()) waiting.set(() => discard(go));
  else go();
}

/** If the page stays nevertheless, its forms count again as soon as the user does something there. */
function discard(go: Go) {
  isLeaving = true;
  const stay = () => {
    isLeaving = false;
  };
  for (const act of ["pointerdown", "keydown"]) window.addEventListener(act, stay, { capture: true, once: true });
  go();
}

/** The link that a click follows away from this page, in this tab. */
export function linkAway(event: MouseEvent): HTMLAnchorElement | null {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return null;
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
  if (!link || link.hasAttribute("download") || (link.target && link.target !== "_self")) return null;
  // Another place or another query of the same page keeps its forms.
  return link.origin === window.location.origin && link.pathname !== window.location.pathname ? link : null;
}

// What is pressed may go away by what it did: the focus goes to what is next to it then, not to nowhere.

import { useEffect } from "react";

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']";

export function useKeptFocus() {
  useEffect(() => {
    let last: { element: Element; page: string } | null = null;
    const note = ({ target }: FocusEvent) => {
      last = target instanceof Element ? { element: target, page: location.pathname } : null;
    };
    // Who clicks beside it, or turns to another window, has left it; an element that goes away has not.
    const leave = () =>
      queueMicrotask(() => {
        if (last?.element.isConnected && document.activeElement !== last.element) last = null;
      });
    const watch = new MutationObserver((records) => {
      if (last === null || last.element.isConnected) return;
      const { element, page } = last;
      last = null;
      if (document.activeElement !== document.body || page !== location.pathname) return;
      const gone = records.find(
        ({ target, removedNodes }) => target.isConnected && [...removedNodes].some((node) => node.contains(element)),
      );
      if (gone) nextTo(gone)?.focus({ preventScroll: true });
    });
    document.addEventListener("focusin", note);
    document.addEventListener("focusout", leave);
    watch.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener("focusin", note);
      document.removeEventListener("focusout", leave);
      watch.disconnect();
    };
  }, []);
}

/** What comes after the place where something was, or else before it, in the smallest box that has any. */
function nextTo({ target, previousSibling }: MutationRecord): HTMLElement | undefined {
  for (let box = target instanceof Element ? target : null; box?.closest("main"); box = box.parentElement) {
    const found = [...box.querySelectorAll<HTMLElement>(FOCUSABLE)];
    const isAfter = (element: HTMLElement) =>
      previousSibling === null ||
      Boolean(previousSibling.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING);
    const next = found.find(isAfter) ?? found.at(-1);
    if (next) return next;
  }
}

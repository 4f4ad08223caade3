// A button may disappear by what it does, such as the Remove button of a row. Then the focus goes to the control next to
// it instead of being lost.

import { useEffect } from "react";

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']";

export function useKeptFocus() {
  useEffect(() => {
    let last: { element: Element; page: string } | null = null;
    const note = ({ target }: FocusEvent) => {
      last = target instanceof Element ? { element: target, page: location.pathname } : null;
    };
    // A click elsewhere or another window takes the focus away from an element; its removal does not count.
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

/** The control after the place where the element was, or else the last one before it, in the smallest box with any. */
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

import { useEffect, type RefObject } from "react";
import { flushSync } from "react-dom";

const STOPS = "a[href], button, input, summary";

/** The arrow keys go from row to row, and stay on the same control. The row with the focus is kept in the document,
 * wherever the page is scrolled to. */
export function useKeyed(box: RefObject<HTMLElement | null>, keep: (row: number | null) => void) {
  useEffect(() => {
    const rows = box.current;
    if (rows === null) return;
    const rowOf = (target: EventTarget | null) =>
      target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
    const note = ({ target }: FocusEvent) => keep(Number(rowOf(target)?.dataset.index));
    const leave = ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget !== null && !rows.contains(relatedTarget as Node)) keep(null);
    };
    const move = (event: KeyboardEvent) => {
      const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const { target } = event;
      if (way === undefined || !(target instanceof Element) || target.closest("[popover], pre, textarea, select")) return;
      const from = rowOf(target);
      if (!from) return;
      const next = Number(from.dataset.index) + way;
      const find = () => rows.querySelector(`[data-index="${next}"]`);
      if (!find()) flushSync(() => keep(next)); // keys may come faster than the page is drawn
      const to = find();
      if (!to) {
        keep(next - way); // it was the last one
        return;
      }
      const place = stopsOf(from).indexOf(target as HTMLElement);
      const stops = stopsOf(to);
      event.preventDefault();
      stops[Math.min(Math.max(place, 0), stops.length - 1)]?.focus();
    };
    rows.addEventListener("focusin", note);
    rows.addEventListener("focusout", leave);
    rows.addEventListener("keydown", move);
    return () => {
      rows.removeEventListener("focusin", note);
      rows.removeEventListener("focusout", leave);
      rows.removeEventListener("keydown", move);
    };
  }, [box, keep]);
}

function stopsOf(row: Element): HTMLElement[] {
  return [...row.querySelectorAll<HTMLElement>(STOPS)].filter((each) => !each.closest("[popover]"));
}

import { defaultRangeExtractor, useWindowVirtualizer, type Range } from "@tanstack/react-virtual";
import { useCallback, useLayoutEffect, useState, type RefObject } from "react";

const AROUND = 16; // rows above and below the screen

export type Part = { row: number } | { gap: number }; // a row's index, or the height of rows that are left out

/** The rows to show of a list that scrolls with the page. `measure` goes to each row as its ref. */
export function useVirtual(
  box: RefObject<HTMLElement | null>,
  keys: readonly string[],
  guess: number,
): { parts: Part[]; measure: (row: HTMLElement | null) => void; keep: (row: number | null) => void } {
  const [kept, keep] = useState<number | null>(null);
  const top = useTop(box);
  const rows = useWindowVirtualizer<HTMLElement>({
    count: keys.length,
    estimateSize: () => guess,
    getItemKey: useCallback((row: number) => keys[row] ?? row, [keys]),
    overscan: AROUND,
    scrollMargin: top,
    rangeExtractor: useCallback((range: Range) => withKept(range, kept), [kept]),
  });
  useLayoutEffect(() => {
    // eslint-disable-next-line react-hooks/immutability -- it is not an option of the hook
    if (keepsPlace()) rows.shouldAdjustScrollPositionOnItemSizeChange = () => false;
  }, [rows]);
  useLayoutEffect(() => rows.measure(), [rows, guess]); // cards are not as high as rows
  const parts: Part[] = [];
  let end = top;
  const skip = (to: number) => {
    if (to > end) parts.push({ gap: to - end });
  };
  for (const item of rows.getVirtualItems()) {
    skip(item.start);
    parts.push({ row: item.index });
    end = item.end;
  }
  skip(top + rows.getTotalSize());
  return { parts, measure: rows.measureElement, keep };
}

/** The row with the focus stays wherever the page is scrolled to. */
function withKept(range: Range, kept: number | null): number[] {
  const rows = defaultRangeExtractor(range);
  if (kept === null || kept < 0 || kept >= range.count || rows.includes(kept)) return rows;
  return [...rows, kept].sort((one, other) => one - other);
}

/** Whether the browser itself keeps what is being read in its place when something above turns out higher. */
function keepsPlace(): boolean {
  return CSS.supports("overflow-anchor", "auto");
}

/** Where the list begins on the page. What is above it may change. */
function useTop(box: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const look = () => {
      if (box.current !== null) setTop(Math.round(box.current.getBoundingClientRect().top + window.scrollY));
    };
    const page = new ResizeObserver(look);
    page.observe(document.body);
    look();
    return () => page.disconnect();
  }, [box]);
  return top;
}

import type { Column } from "./types";

export const TICK = 36; // pixels of the column with the checkboxes
const EDGES = 16; // beside the first and the last column

/** The first one names the row: it is always shown. */
export function chosenOf<T>(columns: Column<T>[], ids: string[] | null): Column<T>[] {
  return columns.filter(({ id, isExtra }, index) => index === 0 || (ids ? ids.includes(id) : !isExtra));
}

/** The choice with one column turned on or off, as the address has it; null for the default choice. */
export function toggledColumns<T>(columns: Column<T>[], ids: string[] | null, id: string): string | null {
  const shown = chosenOf(columns, ids).map((column) => column.id);
  const next = columns
    .map((column) => column.id)
    .filter((each) => (each === id ? !shown.includes(each) : shown.includes(each)));
  const usual = chosenOf(columns, null).map((column) => column.id);
  return next.join() === usual.join() ? null : next.join();
}

/** The pixels that a table of these columns needs. */
export function widthOf<T>(columns: Column<T>[], others: number): number {
  return columns.reduce((sum, { width }) => sum + width, others + EDGES);
}

/** The columns of a CSS grid. Each row has the same ones, so they don't move while rows come and go. */
export function templateOf<T>(columns: Column<T>[], tick: number, actions: number): string {
  const sizes = columns.map(({ width, grow }) => (grow ? `minmax(${width}px, ${grow}fr)` : `${width}px`));
  return [tick, ...sizes, actions].filter((size) => size !== 0).map((size) => (typeof size === "number" ? `${size}px` : size)).join(" ");
}

// Which rows are selected: some by their keys, or all that match the filters, on whatever page.

export type Selection = { keys: ReadonlySet<string>; isAll: boolean };

export const NONE: Selection = { keys: new Set(), isAll: false };

/** One row is turned on or off; with `from`, so is every row between the two. */
export function toggled(selection: Selection, keys: readonly string[], index: number, from: number | null): Selection {
  const before = selection.isAll ? new Set(keys) : new Set(selection.keys);
  const isOn = !before.has(keys[index] ?? "");
  const [first, last] = from === null ? [index, index] : [Math.min(from, index), Math.max(from, index)];
  for (const key of keys.slice(first, last + 1)) {
    if (isOn) before.add(key);
    else before.delete(key);
  }
  return { keys: before, isAll: false };
}

/** All rows of the page; what is selected on other pages stays. */
export function pageToggled(selection: Selection, keys: readonly string[]): Selection {
  if (selection.isAll) return NONE;
  const isFull = keys.every((key) => selection.keys.has(key));
  const next = new Set(selection.keys);
  for (const key of keys) {
    if (isFull) next.delete(key);
    else next.add(key);
  }
  return { keys: next, isAll: false };
}

export function isSelected(selection: Selection, key: string): boolean {
  return selection.isAll || selection.keys.has(key);
}

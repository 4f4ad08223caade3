// The entry that the keyboard is on: that of the link or button with the focus.

function entriesOf(box: HTMLElement | null): HTMLElement[] {
  return [...(box?.querySelectorAll<HTMLElement>("[data-entry]") ?? [])];
}

export function focused(box: HTMLElement | null): HTMLElement | null {
  const { activeElement } = document;
  return entriesOf(box).find((each) => each.contains(activeElement)) ?? null;
}

function focus(entry: HTMLElement | undefined) {
  const link = entry?.querySelector("a");
  link?.focus({ preventScroll: true });
  entry?.scrollIntoView({ block: "nearest" });
}

/** To the entry below or above; to the first one if there is none yet. */
export function step(box: HTMLElement | null, way: 1 | -1) {
  const all = entriesOf(box);
  const from = all.findIndex((each) => each === focused(box));
  focus(from < 0 ? all[0] : all[from + way]);
}

/** Away from entries that are about to go, if one of them has the focus: to the next that stays. */
export function focusBeside(box: HTMLElement | null, ids: string[]) {
  const all = entriesOf(box);
  const from = all.findIndex((each) => each === focused(box));
  if (from < 0) return;
  const stays = (each: HTMLElement) => !ids.includes(each.dataset.entry ?? "");
  focus(all.slice(from).find(stays) ?? all.slice(0, from).reverse().find(stays));
}

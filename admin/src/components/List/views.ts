// Named views: links that this browser keeps. What they show is in their address.

export type View = { name: string; query: string };

const MOST_VIEWS = 50;
const LONGEST_NAME = 60;
const keyOf = (path: string) => `webloom-views ${path}`;

type Kept = Pick<Storage, "getItem" | "setItem">;

/** The stored views. Whatever else is stored under their name is ignored. */
export function viewsOf(kept: Kept, path: string): View[] {
  try {
    const found: unknown = JSON.parse(kept.getItem(keyOf(path)) ?? "[]");
    return Array.isArray(found) ? found.filter(isView).slice(0, MOST_VIEWS) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is View {
  const { name, query } = (value ?? {}) as Partial<View>;
  return typeof name === "string" && typeof query === "string" && name !== "";
}

/** Adds a view, or replaces the one with its name. The page of the list is not part of a view. */
export function withView(views: readonly View[], name: string, search: string, prefix = ""): View[] {
  const short = name.trim().slice(0, LONGEST_NAME);
  const query = new URLSearchParams(search);
  for (const place of ["cursor", "page"]) query.delete(prefix + place);
  const others = views.filter((view) => view.name !== short);
  if (short === "") return others;
  return [...others, { name: short, query: query.toString() }].slice(-MOST_VIEWS);
}

export function keepViews(kept: Kept, path: string, views: readonly View[]) {
  kept.setItem(keyOf(path), JSON.stringify(views));
}

// The way back through a list whose pages have cursors. The address has the latest cursors, for other tabs; this tab
// remembers all of them, also after a reload.

import type { Steps } from "@/components/Pager";

export const FORGOTTEN = "-"; // in the address, before the cursors that it has: there are more
const MOST_IN_ADDRESS = 10;
const MOST_STORED = 500_000; // characters, of all lists
const NAME = "webloom-trails";

type Kept = Pick<Storage, "getItem" | "setItem">;
type Trail = [key: string, cursors: string[]];

/** What leads to the page before and to the one after. `cursors` are those of the address; `key` is that of what is
 * listed, in its order. */
export function cursorSteps(
  key: string,
  cursors: readonly string[],
  next: string | null,
  turn: (cursors: string[]) => void,
): Steps {
  const before = () => wholeTrail(session(), key, cursors).slice(0, -1);
  const isLast = cursors.length === 2 && cursors[0] === FORGOTTEN; // of those that the address has
  return {
    previous: cursors.length > 0 ? () => turn(inAddress(before())) : null,
    isToFirst: isLast && before().length === 1,
    next: next === null ? null : () => turn(nextTrail(session(), key, cursors, next)),
  };
}

/** The cursors for the next page, as the address has them; all of them are stored. */
export function nextTrail(kept: Kept | null, key: string, cursors: readonly string[], next: string): string[] {
  const trail = [...wholeTrail(kept, key, cursors), next];
  if (trail.length > MOST_IN_ADDRESS) store(kept, [key, trail]);
  return inAddress(trail);
}

/** The cursors of all pages from the first one to the one that is shown, as far as they are known. */
export function wholeTrail(kept: Kept | null, key: string, cursors: readonly string[]): string[] {
  if (cursors[0] !== FORGOTTEN) return [...cursors];
  const trail = stored(kept).find(([each]) => each === key)?.[1] ?? [];
  const end = trail.lastIndexOf(cursors.at(-1) ?? "") + 1;
  return end > 0 ? trail.slice(0, end) : [...cursors];
}

export function inAddress(trail: readonly string[]): string[] {
  const latest = trail.slice(-MOST_IN_ADDRESS);
  if (latest.at(-1) === FORGOTTEN) return []; // what was before it is not known: back to the first page
  return latest.length < trail.length ? [FORGOTTEN, ...latest] : latest;
}

function store(kept: Kept | null, [key, cursors]: Trail) {
  const trails = [...stored(kept).filter(([each]) => each !== key), [key, cursors] as Trail];
  while (trails.length > 1 && JSON.stringify(trails).length > MOST_STORED) trails.shift();
  if (JSON.stringify(trails).length > MOST_STORED) {
    trails[0] = [key, [FORGOTTEN, ...cursors.slice(cursors.length / 2)]];
  }
  try {
    kept?.setItem(NAME, JSON.stringify(trails));
  } catch {
    // This browser stores nothing more for this site.
  }
}

/** What is stored. Whatever else is stored under its name is ignored. */
function stored(kept: Kept | null): Trail[] {
  try {
    const found: unknown = JSON.parse(kept?.getItem(NAME) ?? "[]");
    return Array.isArray(found) ? found.filter(isTrail) : [];
  } catch {
    return [];
  }
}

function isTrail(value: unknown): value is Trail {
  if (!Array.isArray(value)) return false;
  const [key, cursors] = value as unknown[];
  return typeof key === "string" && Array.isArray(cursors) && cursors.every((each) => typeof each === "string");
}

function session(): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

// A price over time, without React: what is in force when, which changes are marked, where a key leads.

export type PricePoint = { at: number; amount: number };
export type Move = "rise" | "fall" | null;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export type Range = "24h" | "7d" | "90d" | "all";
export const RANGES: [Range, string][] = [
  ["24h", "24 h"],
  ["7d", "7 d"],
  ["90d", "90 d"],
  ["all", "All"],
];
const SPANS: Record<Range, number | null> = { "24h": DAY, "7d": 7 * DAY, "90d": 90 * DAY, all: null };

export function rangeOf(text: string | null): Range {
  return RANGES.find(([range]) => range === text)?.[0] ?? "all";
}

/** Where a range begins; undefined: with the first price. */
export function startOf(range: Range, now: number): number | undefined {
  const span = SPANS[range];
  return span === null ? undefined : now - span;
}

/** What the time axis shows. A price that is alone, and new, gets some room before it. */
export function spanOf(points: PricePoint[], since: number | undefined, now: number): { from: number; to: number } {
  const from = since ?? points[0]?.at ?? now;
  const to = Math.max(now, points.at(-1)?.at ?? now);
  return { from: to - from < 1000 ? from - HOUR : from, to };
}

export function moveOf(points: PricePoint[], index: number): Move {
  const [before, now] = [points[index - 1], points[index]];
  if (before === undefined || now === undefined || before.amount === now.amount) return null;
  return now.amount > before.amount ? "rise" : "fall";
}

/** The change to a point from the one before, in percent; null: there is none, or it was free. */
export function changeOf(points: PricePoint[], index: number): number | null {
  const [before, now] = [points[index - 1], points[index]];
  if (before === undefined || now === undefined || before.amount === 0) return null;
  return ((now.amount - before.amount) / before.amount) * 100;
}

/** The point in force at a time; -1 if it is before the first one, when no price is known. */
export function pointAt(points: PricePoint[], at: number): number {
  let [low, high] = [-1, points.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((points[middle]?.at ?? Infinity) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

const STEPS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: -Infinity,
  End: Infinity,
};

/** The point that a key leads to from another one; null: the key has no meaning here. */
export function pointByKey(key: string, from: number, count: number): number | null {
  const step = STEPS[key];
  return step === undefined ? null : Math.min(Math.max(from + step, 0), count - 1);
}

/** The changes that are marked: the largest first, each with room around it. */
export function marked(points: PricePoint[], x: (at: number) => number, room: number): number[] {
  const size = (index: number) => Math.abs((points[index]?.amount ?? 0) - (points[index - 1]?.amount ?? 0));
  const place = (index: number) => x(points[index]?.at ?? 0);
  const changes = points.map((_, index) => index).filter((index) => moveOf(points, index) !== null);
  const chosen: number[] = [];
  for (const index of changes.sort((a, b) => size(b) - size(a))) {
    if (chosen.every((other) => Math.abs(place(other) - place(index)) >= room)) chosen.push(index);
  }
  return chosen;
}
